#include "sim/fault_clients.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "base/text.h"
#include "pubsub/error_details.h"
#include "sim/dice.h"

namespace hopgap::sim {

std::string BodyOf(uint64_t actor, uint64_t number, size_t size) {
  std::string body = StrCat(actor, ".", number);
  if (body.size() < size) body.append(size - body.size(), '.');
  return body;
}

namespace {

using namespace std::chrono_literals;
using pubsub::Method;

// Publishes its requests over the time of the faults, and repeats each, with
// other bodies, until one is answered OK or refused for good.
class Publisher final : public Client {
 public:
  Publisher(const FaultPlan& plan, const PublisherPlan& its, uint64_t actor, Net& net)
      : plan_(plan), its_(its), actor_(actor), net_(net), dice_(plan.seed, actor) {}

  void Start() override {
    for (uint64_t i = 0; i < its_.requests; ++i) {
      const auto offset = static_cast<int64_t>(dice_.Below(static_cast<uint64_t>(plan_.chaos.count())));
      // Some come in bursts: on the same second.
      const Duration at =
          dice_.Chance(500) ? Duration{offset} : std::chrono::floor<std::chrono::seconds>(Duration{offset});
      net_.After(at, [this] { Publish(); });
    }
  }

 private:
  void Publish() {
    pubsub::PublishRequest request;
    request.topic = plan_.topics[its_.topic].name;
    const std::string key = its_.keys > 0 ? StrCat("key", dice_.Below(its_.keys)) : "";
    for (uint64_t n = dice_.Between(1, its_.messages_max); n > 0; --n) {
      std::vector<std::pair<std::string, std::string>> attributes;
      if (its_.traced) {
        const pubsub::TraceContext context{dice_.Next() | 1, dice_.Next(), dice_.Next() | 1};
        attributes.emplace_back(pubsub::kTraceparentAttribute, pubsub::FormatTraceparent(context));
      }
      attributes.emplace_back("n", StrCat(bodies_ % 4));
      request.messages.push_back(
          pubsub::Message::Make(BodyOf(actor_, bodies_, dice_.Between(8, its_.body_max)), attributes, key));
      ++bodies_;
    }
    net_.Call(Method::kPublish, std::move(request), dice_.Between(1s, 60s), [this](const Answer& answer) {
      if (answer.status.ok() || net_.calm()) return;
      net_.After(dice_.Between(10ms, 5s), [this] { Publish(); });
    });
  }

  const FaultPlan& plan_;
  const PublisherPlan its_;
  const uint64_t actor_;
  Net& net_;
  Dice dice_;
  uint64_t bodies_ = 0;
};

// Makes a topic and subscriptions in the middle, uses them, and deletes them.
// Their names are used once, so that what is deleted stays deleted.
class Admin final : public Client {
 public:
  Admin(const FaultPlan& plan, uint64_t actor, Net& net)
      : plan_(plan), actor_(actor), net_(net), dice_(plan.seed, actor) {}

  void Start() override { Again(); }

 private:
  void Again() {
    net_.After(dice_.Between(plan_.admin_about_every / 4, plan_.admin_about_every * 2), [this] {
      if (net_.calm()) return;
      One(number_++);
      Again();
    });
  }

  // Calls until it is so, calm or not: everything made here is deleted again. The
  // timeout is longer than any packet's way: nothing is made by a call given up.
  void Insist(Method method, const pubsub::Request& request, absl::StatusCode also, std::function<void()> then) {
    net_.Call(method, request, 60s, [this, method, request, also, then](const Answer& answer) {
      if (answer.status.ok() || answer.status.code() == also) return then();
      if (answer.status.code() == absl::StatusCode::kNotFound) return;  // its topic went first
      net_.After(dice_.Between(100ms, 5s), [=, this] { Insist(method, request, also, then); });
    });
  }

  void One(uint64_t number) {
    pubsub::CreateTopicRequest topic;
    topic.topic.name = StrCat("projects/p/topics/passing", number);
    const bool own_topic = dice_.Chance(500);
    const std::string on = own_topic ? topic.topic.name : plan_.topics[dice_.Below(plan_.topics.size())].name;
    auto make = [this, number, on, own_topic] {
      pubsub::CreateSubscriptionRequest sub;
      sub.subscription.name = StrCat("projects/p/subscriptions/passing", number);
      sub.subscription.topic = on;
      sub.subscription.enable_exactly_once_delivery = dice_.Chance(500);
      sub.subscription.ack_deadline_seconds = 10;
      Insist(Method::kCreateSubscription, sub, absl::StatusCode::kAlreadyExists,
             [this, on, own_topic, name = sub.subscription.name] { Use(on, own_topic, name); });
    };
    if (!own_topic) return make();
    Insist(Method::kCreateTopic, topic, absl::StatusCode::kAlreadyExists, make);
  }

  void Use(const std::string& topic, bool own_topic, const std::string& subscription) {
    pubsub::PublishRequest publish;
    publish.topic = topic;
    publish.messages.push_back(pubsub::Message::Make(BodyOf(actor_, bodies_++, 12), {}));
    net_.Call(Method::kPublish, publish, 20s, [](const Answer&) {});
    Pull(subscription);
    if (own_topic) {
      net_.After(dice_.Between(1ms, 20s), [this, topic] {
        Insist(Method::kDeleteTopic, pubsub::NameRequest{topic}, absl::StatusCode::kNotFound, [] {});
      });
    }
    if (dice_.Chance(300)) {
      net_.After(dice_.Between(1ms, 20s), [this, subscription] {
        Insist(Method::kDetachSubscription, pubsub::NameRequest{subscription}, absl::StatusCode::kNotFound, [] {});
      });
    }
    net_.After(dice_.Between(1ms, 30s), [this, subscription] {
      Insist(Method::kDeleteSubscription, pubsub::NameRequest{subscription}, absl::StatusCode::kNotFound, [] {});
    });
  }

  // Takes and never acks; what is deleted answers NOT_FOUND, and that ends it.
  void Pull(const std::string& subscription) {
    pubsub::PullRequest pull{.subscription = subscription, .max_messages = 10};
    net_.Call(Method::kPull, pull, 20s, [this, subscription](const Answer& answer) {
      if (answer.status.code() == absl::StatusCode::kNotFound) return;
      net_.After(dice_.Between(100ms, 5s), [this, subscription] { Pull(subscription); });
    });
  }

  const FaultPlan& plan_;
  const uint64_t actor_;
  Net& net_;
  Dice dice_;
  uint64_t number_ = 0, bodies_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Client>> MakeClients(const FaultPlan& plan, Net& net) {
  std::vector<std::unique_ptr<Client>> clients;
  uint64_t actor = 100;
  for (const PublisherPlan& its : plan.publishers) {
    clients.push_back(its.library ? MakeLibraryPublisher(plan, its, ++actor, net)
                                  : std::make_unique<Publisher>(plan, its, ++actor, net));
  }
  for (const SubscriberPlan& its : plan.subscribers) {
    clients.push_back(its.kind == SubscriberPlan::Kind::kLibrary ? MakeLibrarySubscriber(plan, its, ++actor, net)
                                                                 : MakeSimpleSubscriber(plan, its, ++actor, net));
  }
  if (plan.admin_about_every > Duration{0}) clients.push_back(std::make_unique<Admin>(plan, ++actor, net));
  if (plan.changes_about_every > Duration{0}) clients.push_back(MakeOperator(plan, ++actor, net));
  return clients;
}

}  // namespace hopgap::sim
