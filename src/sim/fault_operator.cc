// Somebody who changes subscriptions while they are in use: seeks them to a time
// or a snapshot, updates them, looks at them, and, seldom, detaches one. When all
// is calm it tidies up, so that nothing is kept for anybody any more.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sim/dice.h"
#include "sim/fault_clients.h"

namespace hopgap::sim {
namespace {

using namespace std::chrono_literals;
using pubsub::Method;

// Longer than any packet is on its way: nothing is done by a call given up.
constexpr Duration kPatience = 60s;
constexpr Duration kTidyAfter = 100s;
constexpr WallTime kBeginning{1s}, kEnd{std::chrono::hours{24 * 365 * 90}};

class Operator final : public Client {
 public:
  Operator(const FaultPlan& plan, uint64_t actor, Net& net) : plan_(plan), net_(net), dice_(plan.seed, actor) {
    for (const pubsub::Subscription& subscription : plan.subscriptions) {
      // What is purged of the dead letters would be missed by nobody.
      if (subscription.topic != plan.dead_letter_topic.name) targets_.push_back(subscription);
    }
  }

  void Start() override {
    Again();
    const size_t leaves = dice_.Below(targets_.size());
    const Duration when = dice_.Between(1s, plan_.chaos);
    if (dice_.Chance(plan_.detaches)) {
      net_.After(when, [this, name = targets_[leaves].name] {
        Insist(Method::kDetachSubscription, pubsub::NameRequest{name}, [](absl::StatusCode) {});
      });
    }
    net_.After(plan_.chaos + kTidyAfter, [this] { TidyUp(); });
  }

 private:
  void Again() {
    net_.After(dice_.Between(plan_.changes_about_every / 4, plan_.changes_about_every * 2), [this] {
      if (net_.calm()) return;
      One();
      Again();
    });
  }

  void One() {
    const pubsub::Subscription& target = targets_[dice_.Below(targets_.size())];
    const uint64_t what = dice_.Below(100);
    if (what < 22) return SeekTime(target.name);
    if (what < 42) return Snapshot(target);
    if (what < 60) return SeekSnapshot(target);
    if (what < 66) return DeleteSnapshot();
    if (what < 90) return Update(target);
    net_.Call(Method::kGetSubscription, pubsub::NameRequest{target.name}, kPatience, [](const Answer&) {});
  }

  void SeekTime(const std::string& name) {
    pubsub::SeekRequest seek{.subscription = name, .target = {}};
    const uint64_t where = dice_.Below(10);
    const WallTime about = kWorldWall + (net_.now() - kWorldStart) - dice_.Between(1ms, 60s);
    seek.target = where < 3 ? kEnd : where < 7 ? kBeginning : about;
    net_.Call(Method::kSeek, std::move(seek), kPatience, [](const Answer&) {});
  }

  void Snapshot(const pubsub::Subscription& of) {
    const std::string name = StrCat("projects/p/snapshots/shot", made_++);
    net_.Call(Method::kCreateSnapshot, pubsub::CreateSnapshotRequest{name, of.name, {}}, kPatience,
              [this, name, topic = of.topic](const Answer& answer) {
                if (answer.status.ok()) snapshots_.emplace_back(name, topic);
              });
  }

  // Of this subscription or another of its topic.
  void SeekSnapshot(const pubsub::Subscription& target) {
    std::vector<std::string> names;
    for (const auto& [name, topic] : snapshots_) {
      if (topic == target.topic) names.push_back(name);
    }
    if (names.empty()) return Snapshot(target);
    pubsub::SeekRequest seek{.subscription = target.name, .target = names[dice_.Below(names.size())]};
    net_.Call(Method::kSeek, std::move(seek), kPatience, [](const Answer&) {});
  }

  // One that is deleted may still be asked for.
  void DeleteSnapshot() {
    if (snapshots_.empty()) return;
    const std::string& name = snapshots_[dice_.Below(snapshots_.size())].first;
    net_.Call(Method::kDeleteSnapshot, pubsub::NameRequest{name}, kPatience, [](const Answer&) {});
  }

  void Update(const pubsub::Subscription& target) {
    pubsub::UpdateSubscriptionRequest update;
    pubsub::Subscription& to = update.subscription;
    to.name = target.name;
    const uint64_t what = dice_.Below(plan_.dead_letter_topic.name.empty() ? 8 : 10);
    if (what < 3) {
      to.enable_exactly_once_delivery = dice_.Chance(600);
      update.update_mask = {"enable_exactly_once_delivery"};
    } else if (what < 5) {
      to.ack_deadline_seconds = static_cast<int32_t>(dice_.Between(10, 60));
      update.update_mask = {"ack_deadline_seconds"};
    } else if (what < 7) {
      if (dice_.Chance(700)) to.retry_policy = {.minimum_backoff = dice_.Between(100ms, 20s), .maximum_backoff = 30s};
      update.update_mask = {"retry_policy"};
    } else if (what < 8) {
      to.retain_acked_messages = dice_.Chance(600);
      update.update_mask = {"retain_acked_messages"};
    } else {
      const auto attempts = static_cast<int32_t>(dice_.Between(5, 9));
      const std::string& topic = plan_.dead_letter_topic.name;
      if (dice_.Chance(700)) to.dead_letter_policy = {.dead_letter_topic = topic, .max_delivery_attempts = attempts};
      update.update_mask = {"dead_letter_policy"};
    }
    if (dice_.Chance(200)) update.update_mask.emplace_back("labels");
    net_.Call(Method::kUpdateSubscription, std::move(update), kPatience, [this, name = to.name](const Answer&) {
      net_.Call(Method::kGetSubscription, pubsub::NameRequest{name}, kPatience, [](const Answer&) {});
    });
  }

  // Calls until it is so.
  void Insist(Method method, const pubsub::Request& request, std::function<void(absl::StatusCode)> then) {
    net_.Call(method, request, kPatience, [this, method, request, then](const Answer& answer) {
      const absl::StatusCode code = answer.status.code();
      if (code == absl::StatusCode::kOk || code == absl::StatusCode::kNotFound) return then(code);
      net_.After(dice_.Between(100ms, 5s), [=, this] { Insist(method, request, then); });
    });
  }

  void TidyUp() {
    for (uint64_t i = 0; i < made_; ++i) {
      const pubsub::NameRequest request{StrCat("projects/p/snapshots/shot", i)};
      Insist(Method::kDeleteSnapshot, request, [](absl::StatusCode) {});
    }
    for (const pubsub::Subscription& target : targets_) {
      pubsub::UpdateSubscriptionRequest update;
      update.subscription.name = target.name;
      update.update_mask = {"retain_acked_messages"};
      Insist(Method::kUpdateSubscription, update, [](absl::StatusCode) {});
      Insist(Method::kGetSubscription, pubsub::NameRequest{target.name}, [](absl::StatusCode) {});
    }
  }

  const FaultPlan& plan_;
  Net& net_;
  Dice dice_;
  std::vector<pubsub::Subscription> targets_;
  std::vector<std::pair<std::string, std::string>> snapshots_;  // answered to be made: name, topic
  uint64_t made_ = 0;
};

}  // namespace

std::unique_ptr<Client> MakeOperator(const FaultPlan& plan, uint64_t actor, Net& net) {
  return std::make_unique<Operator>(plan, actor, net);
}

}  // namespace hopgap::sim
