// The client library's own logic in the fault world.

#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "client/publisher.h"
#include "client/subscriber.h"
#include "sim/dice.h"
#include "sim/fault_clients.h"

namespace hopgap::sim {
namespace {

using namespace std::chrono_literals;
using client::Action;

// A publisher or subscriber's deadline, kept on the net's clock.
class Alarm {
 public:
  explicit Alarm(Net& net) : net_(net) {}
  void Set(std::optional<Instant> at, std::function<void()> ring) {
    if (!at || *at >= at_) return;
    at_ = *at;
    net_.At(*at, [this, due = *at, ring = std::move(ring)] {
      if (at_ == due) at_ = kNever;
      ring();
    });
  }

 private:
  Net& net_;
  Instant at_ = kNever;
};

class LibrarySubscriber final : public Client {
 public:
  LibrarySubscriber(const FaultPlan& plan, const SubscriberPlan& its, uint64_t actor, Net& net)
      : its_(its),
        name_(plan.subscriptions[its.subscription].name),
        seed_(Mix(plan.seed, actor)),
        net_(net),
        dice_(plan.seed, actor),
        alarm_(net) {}

  void Start() override {
    client::Subscriber::Options options;
    options.subscription = name_;
    options.client_id = StrCat("client", ++lives_);
    if (its_.messages_max > 0) options.model.max_outstanding_messages = its_.messages_max;
    if (its_.bytes_max > 0) options.model.max_outstanding_bytes = its_.bytes_max;
    if (seed_ % 3 == 0) options.model.exactly_once.wait = client::ReceiptWait::kNothing;
    options.streams = static_cast<uint32_t>(1 + seed_ % 2);
    options.seed = Mix(seed_, lives_);
    old_.push_back(std::move(subscriber_));  // events may still be on their way to it
    subscriber_ = std::make_unique<client::Subscriber>(std::move(options), sink_, next_rpc_);
    streams_.clear();
    between_lives_ = false;
    client::Actions actions;
    subscriber_->Start(net_.now(), actions);
    Perform(actions);
  }

 private:
  struct Stream {
    uint64_t id = 0;
    bool read_posted = false;
    Instant posted_at;
    std::vector<pubsub::StreamingPullResponse> buffered;
    std::optional<absl::Status> end;
  };

  void Perform(client::Actions& actions) {
    const Instant now = net_.now();
    const uint64_t life = life_;
    bool failed = false;
    for (Action& action : actions) {
      if (life != life_) return;  // it failed in what came of the one before
      switch (action.kind) {
        case Action::Kind::kOpenStream: Open(action); break;
        case Action::Kind::kRead: {
          Stream& stream = streams_[action.stream];
          stream.read_posted = true;
          stream.posted_at = now;
          net_.After(Duration{0}, InThisLife([this, n = action.stream] { Meet(n); }));
          break;
        }
        case Action::Kind::kSend:
          net_.Send(streams_[action.stream].id, *pubsub::DecodeStreamingPullRequest(pubsub::Join(action.payload)));
          break;
        case Action::Kind::kHalfCloseStream: net_.HalfClose(streams_[action.stream].id); break;
        case Action::Kind::kCancelStream: CancelStream(action.stream); break;
        case Action::Kind::kCall: Call(action); break;
        case Action::Kind::kStartCallback: Work(action.delivery); break;
        case Action::Kind::kFailed: failed = true; break;
        case Action::Kind::kAckDone:
        case Action::Kind::kPublished: break;
      }
    }
    if (life != life_) return;
    if (failed) return StartAgain();
    alarm_.Set(subscriber_->NextDeadline(), [this] {
      if (between_lives_) return;
      client::Actions due;
      subscriber_->OnDeadline(net_.now(), due);
      Perform(due);
    });
  }

  // A service would restart: so does this one. What the old one still has to do is not done.
  void StartAgain() {
    ++life_;
    between_lives_ = true;
    for (auto& [n, stream] : streams_) net_.Cancel(stream.id);
    net_.After(1s, InThisLife([this] { Start(); }));
  }

  std::function<void()> InThisLife(std::function<void()> then) {
    return [this, life = life_, then = std::move(then)] {
      if (life == life_) then();
    };
  }

  void Open(const Action& action) {
    Stream& stream = streams_[action.stream];
    stream = Stream{};
    StreamEvents events;
    const uint32_t n = action.stream;
    events.response = [this, life = life_, n](pubsub::StreamingPullResponse& response) {
      if (life != life_) return;
      streams_[n].buffered.push_back(std::move(response));
      Meet(n);
    };
    events.ended = [this, life = life_, n](const absl::Status& status) {
      if (life != life_) return;
      streams_[n].end = status;
      Meet(n);
    };
    stream.id = net_.OpenStream(*pubsub::DecodeStreamingPullRequest(pubsub::Join(action.payload)), std::move(events));
  }

  // A cancelled stream still ends, for the library.
  void CancelStream(uint32_t n) {
    Stream& stream = streams_[n];
    net_.Cancel(stream.id);
    stream.buffered.clear();
    stream.end = absl::CancelledError("cancelled");
    net_.After(Duration{0}, InThisLife([this, n] { Meet(n); }));
  }

  void Meet(uint32_t n) {
    Stream& stream = streams_[n];
    if (!stream.read_posted) return;
    client::Actions actions;
    if (!stream.buffered.empty()) {
      stream.read_posted = false;
      pubsub::StreamingPullResponse response = std::move(stream.buffered.front());
      stream.buffered.erase(stream.buffered.begin());
      subscriber_->OnResponse(net_.now(), n, net_.now(), stream.posted_at, std::move(response), actions);
    } else if (stream.end) {
      const absl::Status status = *std::exchange(stream.end, std::nullopt);
      stream.read_posted = false;
      subscriber_->OnStreamEnded(net_.now(), n, status, actions);
    }
    Perform(actions);
  }

  void Call(const Action& action) {
    auto request = pubsub::DecodeRequest(action.method, pubsub::Bytes(pubsub::Join(action.payload)));
    net_.Call(action.method, *std::move(request), action.timeout,
              [this, life = life_, call = action.call](const Answer& answer) {
                if (life != life_) return;
                client::Actions actions;
                subscriber_->OnCallDone(net_.now(), call, answer.status, answer.details, actions);
                Perform(actions);
              });
  }

  void Work(uint64_t delivery) {
    subscriber_->OnCallbackStarted(net_.now(), delivery);
    const Duration work = net_.calm() ? Duration{1ms} : dice_.Between(its_.work_min, its_.work_max);
    net_.After(work, InThisLife([this, delivery] {
                 client::Actions actions;
                 const bool nack = !net_.calm() && dice_.Chance(its_.nack);
                 nack ? subscriber_->Nack(net_.now(), delivery, actions)
                      : subscriber_->Ack(net_.now(), delivery, actions);
                 subscriber_->OnCallbackReturned(net_.now(), delivery, actions);
                 Perform(actions);
               }));
  }

  const SubscriberPlan its_;
  const std::string name_;
  const uint64_t seed_;
  Net& net_;
  Dice dice_;
  Alarm alarm_;
  trace::NullSink sink_;
  uint64_t next_rpc_ = 1, lives_ = 0, life_ = 0;
  bool between_lives_ = false;
  std::unique_ptr<client::Subscriber> subscriber_;
  std::vector<std::unique_ptr<client::Subscriber>> old_;
  std::map<uint32_t, Stream> streams_;
};

class LibraryPublisher final : public Client {
 public:
  LibraryPublisher(const FaultPlan& plan, const PublisherPlan& its, uint64_t actor, Net& net)
      : plan_(plan), its_(its), actor_(actor), net_(net), dice_(plan.seed, actor), alarm_(net) {
    client::Publisher::Options options;
    options.topic = plan.topics[its.topic].name;
    options.seed = Mix(plan.seed, actor);
    publisher_ = std::make_unique<client::Publisher>(std::move(options), sink_, next_rpc_);
  }

  void Start() override {
    for (uint64_t i = 0; i < its_.requests * its_.messages_max; ++i) {
      const auto offset = static_cast<int64_t>(dice_.Below(static_cast<uint64_t>(plan_.chaos.count())));
      net_.After(std::chrono::floor<std::chrono::seconds>(Duration{offset}), [this, i] { Publish(i); });
    }
  }

 private:
  void Publish(uint64_t number) {
    const std::string body = BodyOf(actor_, number, dice_.Between(8, its_.body_max));
    client::Publisher::Call call;
    call.publish = number;
    call.data = body;
    if (its_.traced) call.create = {dice_.Next() | 1, dice_.Next(), dice_.Next() | 1};
    client::Actions actions;
    publisher_->Publish(net_.now(), std::move(call), actions);
    Perform(actions);
  }

  void Perform(client::Actions& actions) {
    for (const Action& action : actions) {
      if (action.kind != Action::Kind::kCall) continue;
      auto request = pubsub::DecodeRequest(action.method, pubsub::Bytes(pubsub::Join(action.payload)));
      net_.Call(action.method, *std::move(request), action.timeout, [this, call = action.call](const Answer& answer) {
        client::Actions then;
        publisher_->OnCallDone(net_.now(), call, answer.status, answer.payload, then);
        Perform(then);
      });
    }
    alarm_.Set(publisher_->NextDeadline(), [this] {
      client::Actions due;
      publisher_->OnDeadline(net_.now(), due);
      Perform(due);
    });
  }

  const FaultPlan& plan_;
  const PublisherPlan its_;
  const uint64_t actor_;
  Net& net_;
  Dice dice_;
  Alarm alarm_;
  trace::NullSink sink_;
  uint64_t next_rpc_ = 1;
  std::unique_ptr<client::Publisher> publisher_;
};

}  // namespace

std::unique_ptr<Client> MakeLibrarySubscriber(const FaultPlan& plan, const SubscriberPlan& its, uint64_t actor,
                                              Net& net) {
  return std::make_unique<LibrarySubscriber>(plan, its, actor, net);
}
std::unique_ptr<Client> MakeLibraryPublisher(const FaultPlan& plan, const PublisherPlan& its, uint64_t actor,
                                             Net& net) {
  return std::make_unique<LibraryPublisher>(plan, its, actor, net);
}

}  // namespace hopgap::sim
