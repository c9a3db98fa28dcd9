// A subscriber that does with its messages what the plan says, on a stream or by
// pulls: acks late, twice, with ids of older deliveries, nacks, extends, holds,
// dies. Under exactly-once it repeats an ack until its result is known.

#include <deque>
#include <string>
#include <utility>

#include "base/text.h"
#include "pubsub/error_details.h"
#include "sim/dice.h"
#include "sim/fault_clients.h"

namespace hopgap::sim {
namespace {

using namespace std::chrono_literals;
using pubsub::Method;

constexpr size_t kOldIdsMax = 50;

class SimpleSubscriber final : public Client {
 public:
  SimpleSubscriber(const FaultPlan& plan, const SubscriberPlan& its, uint64_t actor, Net& net)
      : its_(its),
        name_(plan.subscriptions[its.subscription].name),
        exactly_once_(plan.subscriptions[its.subscription].enable_exactly_once_delivery),
        net_(net),
        dice_(plan.seed, actor) {}

  void Start() override {
    its_.kind == SubscriberPlan::Kind::kStream ? Open() : Pull();
    if (its_.dies_about_every > Duration{0}) DieLater();
  }

 private:
  // A life ends when the subscriber dies: what it was about to do is forgotten.
  std::function<void()> InThisLife(std::function<void()> then) {
    return [this, life = life_, then = std::move(then)] {
      if (life == life_) then();
    };
  }
  void After(Duration wait, std::function<void()> then) { net_.After(wait, InThisLife(std::move(then))); }
  bool Will(uint64_t permille) { return !net_.calm() && dice_.Chance(permille); }

  void DieLater() {
    net_.After(dice_.Between(its_.dies_about_every / 8, its_.dies_about_every * 2), [this] {
      if (net_.calm()) return;
      ++life_;
      if (stream_ != 0) net_.Cancel(std::exchange(stream_, 0));
      After(dice_.Between(10ms, 20s), [this] { its_.kind == SubscriberPlan::Kind::kStream ? Open() : Pull(); });
      DieLater();
    });
  }

  // ---- receiving ----
  void Open() {
    pubsub::StreamingPullRequest first;
    first.subscription = name_;
    first.stream_ack_deadline_seconds = its_.stream_deadline_seconds;
    first.max_outstanding_messages = its_.messages_max;
    first.max_outstanding_bytes = its_.bytes_max;
    StreamEvents events;
    events.response = [this, life = life_](const pubsub::StreamingPullResponse& response) {
      if (life != life_) return;
      exactly_once_ = response.properties.exactly_once_delivery_enabled;
      Confirmed(response);
      for (const pubsub::ReceivedMessage& message : response.received_messages) Handle(message.ack_id);
    };
    events.ended = [this, life = life_](const absl::Status&) {
      if (life != life_) return;
      stream_ = 0;
      After(dice_.Between(10ms, 2s), [this] {
        if (stream_ == 0) Open();
      });
    };
    stream_ = net_.OpenStream(first, std::move(events));
  }

  void Pull() {
    pubsub::PullRequest pull{.subscription = name_,
                             .return_immediately = dice_.Chance(200),
                             .max_messages = static_cast<int32_t>(std::max<int64_t>(1, its_.messages_max))};
    net_.Call(Method::kPull, pull, dice_.Between(2s, 30s), [this, life = life_](const Answer& answer) {
      if (life != life_) return;
      if (answer.status.ok()) {
        const auto messages = pubsub::DecodePullResponse(answer.payload);
        for (const pubsub::ReceivedMessage& message : *messages) Handle(message.ack_id);
      }
      After(net_.calm() ? Duration{1s} : dice_.Between(1ms, 3s), [this] { Pull(); });
    });
  }

  // ---- handling ----
  void Handle(const std::string& id) {
    if (its_.receipts && !Will(300)) Modify(id, its_.stream_deadline_seconds);
    old_ids_.push_back(id);
    if (old_ids_.size() > kOldIdsMax) old_ids_.pop_front();
    if (Will(its_.hold)) return;
    const Duration work = net_.calm() ? Duration{1ms} : dice_.Between(its_.work_min, its_.work_max);
    After(work, [this, id] { Finish(id); });
  }

  void Finish(const std::string& id) {
    if (Will(its_.stale)) {
      const std::string& old = old_ids_[dice_.Below(old_ids_.size())];
      dice_.Chance(700) ? Ack(old, 0) : Modify(old, static_cast<int32_t>(dice_.Below(kExtensionSecondsMax)));
    }
    if (Will(its_.extend)) {
      Modify(id, static_cast<int32_t>(dice_.Between(1, dice_.Chance(200) ? kExtensionSecondsMax : 30)));
      After(dice_.Between(10ms, 40s), [this, id] { Finish(id); });
      return;
    }
    if (Will(its_.nack)) return Modify(id, 0);
    Ack(id, 0);
    if (Will(its_.repeat)) After(dice_.Between(1ms, 60s), [this, id] { Ack(id, 0); });
  }

  // ---- acks and modacks ----
  void Ack(const std::string& id, int attempt) {
    const auto again = [this, id, attempt] {
      if (attempt < 30)
        After(net_.calm() ? Duration{100ms} : dice_.Between(100ms, 5s), [this, id, attempt] { Ack(id, attempt + 1); });
    };
    if (its_.acks_on_stream && stream_ != 0) {
      pubsub::StreamingPullRequest request;
      request.ack_ids.push_back(id);
      net_.Send(stream_, std::move(request));
      // Without its confirmation in time it goes again; a standard one is sent once.
      if (!exactly_once_) return;
      waiting_.push_back(id);
      return After(net_.calm() ? Duration{500ms} : Duration{5s}, [this, id, again] {
        if (std::erase(waiting_, id) > 0) again();
      });
    }
    pubsub::AcknowledgeRequest request{.subscription = name_, .ack_ids = {id}};
    if (Will(100) && !old_ids_.empty()) request.ack_ids.push_back(old_ids_.front());
    net_.Call(Method::kAcknowledge, request, dice_.Between(1s, 60s), [this, life = life_, id, again](const Answer& a) {
      if (life != life_ || a.status.ok() || a.status.code() == absl::StatusCode::kNotFound) return;
      const auto failures = pubsub::DecodeErrorMetadata(a.details);
      const auto failed = failures.find(id);
      if (failed != failures.end() && failed->second == pubsub::kPermanentInvalidAckId) return;
      again();
    });
  }

  void Confirmed(const pubsub::StreamingPullResponse& response) {
    for (const std::string& id : response.acknowledge_confirmation.ack_ids) std::erase(waiting_, id);
    for (const std::string& id : response.acknowledge_confirmation.invalid_ack_ids) std::erase(waiting_, id);
  }

  void Modify(const std::string& id, int32_t seconds) {
    if (its_.acks_on_stream && stream_ != 0) {
      pubsub::StreamingPullRequest request;
      request.modify_deadline_ack_ids.push_back(id);
      request.modify_deadline_seconds.push_back(seconds);
      return net_.Send(stream_, std::move(request));
    }
    pubsub::ModifyAckDeadlineRequest request{.subscription = name_, .ack_ids = {id}, .ack_deadline_seconds = seconds};
    net_.Call(Method::kModifyAckDeadline, request, 60s, [](const Answer&) {});
  }

  const SubscriberPlan its_;
  const std::string name_;
  bool exactly_once_;  // as the stream said last
  Net& net_;
  Dice dice_;
  uint64_t life_ = 0;
  uint64_t stream_ = 0;
  std::deque<std::string> old_ids_;
  std::vector<std::string> waiting_;  // acks on the stream, not confirmed
};

}  // namespace

std::unique_ptr<Client> MakeSimpleSubscriber(const FaultPlan& plan, const SubscriberPlan& its, uint64_t actor,
                                             Net& net) {
  return std::make_unique<SimpleSubscriber>(plan, its, actor, net);
}

}  // namespace hopgap::sim
