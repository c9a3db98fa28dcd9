#include "sim/world.h"

#include <absl/container/flat_hash_map.h>

#include <deque>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "lab/schedule.h"
#include "pubsub/api.h"
#include "sim/queue.h"
#include "trace/collector.h"

namespace hopgap::sim {
namespace {

// A fixed virtual date, so that spans are the same bytes whenever they are made.
constexpr ClockAnchor kAnchor{.steady = InstantFromNanos(0), .wall = WallTime{std::chrono::hours{24 * 365 * 40}}};
constexpr Instant kStart = InstantFromNanos(1'000'000'000);
// Between the streams' first answers and slot 0.
constexpr Duration kSettleIn{std::chrono::seconds{1}};
// Events of a message may still come after its last ack (a receipt modack in
// flight under overlap); it is folded this much later.
constexpr Duration kFoldAfter{std::chrono::seconds{70}};
constexpr uint64_t kLookUpEvery = 20'000;  // steps between looks at the outside world

struct Item {
  enum class Kind : uint8_t {
    kWakeLab,
    kWakeBroker,
    kPersisted,
    kWriteDone,
    kCallArrives,
    kCallReturns,  // unary: at the broker, at the client
    kOpenArrives,
    kRequestArrives,
    kHalfCloseArrives,
    kCancelArrives,
    kResponseArrives,
    kEndArrives,  // stream: at the client
    kReadable,    // a read meets what is buffered
  };
  // How a call or stream ended, if not well: few do, and items are moved often.
  struct Failure {
    absl::Status status;
    std::string details;
  };
  Kind kind{};
  uint64_t id = 0;  // call, stream or persist token
  std::unique_ptr<Failure> failure = nullptr;
  pubsub::Bytes bytes = {};

  absl::Status status() const { return failure ? failure->status : absl::OkStatus(); }
  std::string_view details() const { return failure ? std::string_view(failure->details) : std::string_view(); }
};

struct Call {
  uint32_t endpoint = 0;
  uint64_t client_call = 0;
  pubsub::Method method{};
  Instant sent;
  Duration timeout{0};
};

struct Stream {
  uint32_t endpoint = 0;
  uint32_t index = 0;  // within its subscriber
  bool read_posted = false;
  Instant posted_at;
  std::deque<pubsub::Bytes> buffered;
  bool ended = false;
  absl::Status end_status;
  bool end_told = false;
};

// Fans an event out to the collector and to whoever wants the RPC ones.
class Sink final : public trace::EventSink {
 public:
  Sink(trace::Collector& collector, const std::function<void(const trace::Event&)>& rpc_events)
      : collector_(collector), rpc_events_(rpc_events) {}
  void Record(const trace::Event& event) override {
    collector_.Record(event);
    if (rpc_events_ && event.rpc != 0) rpc_events_(event);
  }
  uint16_t AddPlace(const trace::Place& place) override { return collector_.AddPlace(place); }

 private:
  trace::Collector& collector_;
  const std::function<void(const trace::Event&)>& rpc_events_;
};

class World final : public lab::LedgerClock {
 public:
  explicit World(Options options)
      : options_(std::move(options)),
        collector_(kAnchor),
        sink_(collector_, options_.rpc_events),
        broker_(BrokerOptions(), sink_) {}

  absl::StatusOr<Result> Run();
  Instant Stamp() override { return now_; }

 private:
  using Kind = Item::Kind;

  broker::Broker::Options BrokerOptions() {
    options_.broker.anchor = kAnchor;
    return options_.broker;
  }
  absl::Status CreateResources();
  static bool IsOfLab(Kind kind);  // else of the broker
  static std::unique_ptr<Item::Failure> FailureOf(absl::Status status, std::string details);
  bool Step();                   // false: nothing will ever happen again
  bool LookUp(Duration passed);  // true: somebody asks to end
  void Handle(Item& item);
  void HandleStream(Item& item);
  void HandleAtBroker(Item& item, broker::Actions& actions);
  bool Postponed(Item& item);  // the broker is frozen: it handles this later
  void Deliver(uint64_t id);
  void PerformLab(lab::Commands& commands);
  void PerformStream(uint32_t endpoint, client::Action& action);
  void PerformBroker(broker::Actions& actions);
  void Reply(broker::Action& action);
  void FoldDue(Instant until);
  void Fold(const lab::Settled& settled);

  Options options_;
  absl::Status setup_error_;
  std::string ended_early_why_;
  Instant now_ = kStart;
  trace::Collector collector_;
  Sink sink_;
  broker::Broker broker_;
  std::unique_ptr<lab::Experiment> lab_;
  Queue<Item> queue_;
  Instant lab_wake_ = kNever, broker_wake_ = kNever;
  Instant frozen_from_ = kNever, frozen_until_ = kNever;
  std::vector<Stream> streams_;                   // by id - 1
  std::vector<std::vector<uint64_t>> stream_of_;  // endpoint, index -> id
  std::deque<std::pair<Instant, lab::Settled>> to_fold_;
  std::vector<std::vector<trace::Path>> paths_;
  absl::flat_hash_map<uint64_t, Call> calls_;  // in flight, by id
  uint64_t next_call_ = 1;
  // Whether it was told anything since it was last asked for its next deadline, which only that can change.
  bool lab_told_ = true, broker_told_ = true;
  lab::Commands commands_;  // of one step; kept for their memory
  broker::Actions actions_;
  uint64_t steps_ = 0, settled_ = 0;
};

absl::Status World::CreateResources() {
  for (const lab::Resource& resource : lab::ResourcesOf(options_.lab)) {
    broker::Actions actions;
    const broker::CallId call{next_call_++};
    if (resource.subscription.empty()) {
      pubsub::CreateTopicRequest request;
      request.topic.name = resource.topic;
      broker_.OnCall(now_, call, pubsub::Method::kCreateTopic, request, actions);
    } else {
      pubsub::CreateSubscriptionRequest request;
      request.subscription.name = resource.subscription;
      request.subscription.topic = resource.topic;
      request.subscription.enable_exactly_once_delivery = resource.exactly_once;
      broker_.OnCall(now_, call, pubsub::Method::kCreateSubscription, request, actions);
    }
    PerformBroker(actions);
    broker_told_ = true;
    while (!queue_.empty() && queue_.NextAt() <= now_) Step();
    if (!setup_error_.ok()) return setup_error_;
  }
  return absl::OkStatus();
}

absl::StatusOr<Result> World::Run() {
  absl::StatusOr<std::unique_ptr<lab::Experiment>> made = lab::Experiment::Make(options_.lab, sink_, *this);
  if (!made.ok()) return made.status();
  if (absl::Status status = CreateResources(); !status.ok()) return status;
  lab_ = *std::move(made);
  stream_of_.resize(lab_->EndpointCount());
  paths_.resize(options_.lab.arms.size());

  lab::Commands commands;
  lab_->Start(now_, commands);
  PerformLab(commands);
  while (!lab_->Ready() && Step()) {
  }
  if (!lab_->Ready()) return absl::InternalError("the simulated streams never answered");
  const Instant first = lab::FirstSlotFrom(now_ + kSettleIn);
  if (options_.planted_freeze_until > Duration{0}) {
    frozen_from_ = first + options_.planted_freeze_from;
    frozen_until_ = first + options_.planted_freeze_until;
  }
  lab_->Begin(first);
  lab_told_ = true;
  PerformLab(commands);
  const Instant give_up = lab_->LastSlotDue().value_or(first) + options_.drain;
  while (!(lab_->AllSent() && lab_->AllSettled())) {
    if (queue_.empty() || queue_.NextAt() > give_up) {
      now_ = give_up;
      break;
    }
    Step();
    if (steps_ % kLookUpEvery == 0 && LookUp(now_ - first)) break;
  }
  FoldDue(kNever);
  Result result;
  result.outcome.end = now_;
  result.outcome.ended_early = !ended_early_why_.empty();
  result.outcome.ended_early_why = ended_early_why_;
  result.outcome.first = first;
  lab::TakeBooks(*lab_, result.outcome);
  result.outcome.paths = std::move(paths_);
  result.broker = broker_.counters();
  result.places = collector_.context().places;
  result.anchor = kAnchor;
  result.steps = steps_;
  return result;
}

bool World::LookUp(Duration passed) {
  if (options_.progress) options_.progress(passed, settled_);
  if (options_.stop_asked) ended_early_why_ = options_.stop_asked();
  return !ended_early_why_.empty();
}

bool World::IsOfLab(Kind kind) {
  return kind == Kind::kWakeLab || kind == Kind::kCallReturns || kind == Kind::kResponseArrives ||
         kind == Kind::kEndArrives || kind == Kind::kReadable;
}

std::unique_ptr<Item::Failure> World::FailureOf(absl::Status status, std::string details) {
  if (status.ok() && details.empty()) return nullptr;
  return std::make_unique<Item::Failure>(Item::Failure{std::move(status), std::move(details)});
}

bool World::Step() {
  if (queue_.empty()) return false;
  ++steps_;
  now_ = queue_.NextAt();
  Item item = queue_.Pop();
  Handle(item);
  (IsOfLab(item.kind) ? lab_told_ : broker_told_) = true;
  if (lab_ && lab_told_) {
    lab_told_ = false;
    if (const std::optional<Instant> next = lab_->NextDeadline(); next && *next < lab_wake_) {
      lab_wake_ = std::max(*next, now_);
      queue_.Push(lab_wake_, {.kind = Kind::kWakeLab});
    }
    for (const lab::Settled& settled : lab_->TakeSettled()) {
      ++settled_;
      to_fold_.emplace_back(now_ + kFoldAfter, settled);
    }
  }
  FoldDue(now_);
  if (!broker_told_) return true;
  broker_told_ = false;
  if (const std::optional<Instant> next = broker_.NextDeadline(); next && *next < broker_wake_) {
    broker_wake_ = std::max(*next, now_);
    queue_.Push(broker_wake_, {.kind = Kind::kWakeBroker});
  }
  return true;
}

void World::Handle(Item& item) {
  switch (item.kind) {
    case Kind::kWakeLab:
      if (now_ == lab_wake_) lab_wake_ = kNever;
      lab_->OnDeadline(now_, commands_);
      return PerformLab(commands_);
    case Kind::kCallReturns: {
      const Call call = calls_.extract(item.id).mapped();
      const bool timed_out = now_ - call.sent > call.timeout;
      const absl::Status status = timed_out ? absl::DeadlineExceededError("the call's timeout passed") : item.status();
      lab_->OnCallDone(now_, call.endpoint, call.client_call, status, item.details(), item.bytes, commands_);
      return PerformLab(commands_);
    }
    case Kind::kResponseArrives:
    case Kind::kEndArrives:
    case Kind::kReadable: return HandleStream(item);
    default:
      if (Postponed(item)) return;
      HandleAtBroker(item, actions_);
      PerformBroker(actions_);
      return actions_.clear();
  }
}

bool World::Postponed(Item& item) {
  if (now_ < frozen_from_ || now_ >= frozen_until_) return false;
  if (item.kind == Kind::kWakeBroker) broker_wake_ = frozen_until_;
  queue_.Push(frozen_until_, std::move(item));
  return true;
}

void World::HandleAtBroker(Item& item, broker::Actions& actions) {
  const broker::StreamId stream{item.id};
  switch (item.kind) {
    case Kind::kWakeBroker:
      if (now_ == broker_wake_) broker_wake_ = kNever;
      return broker_.OnDeadline(now_, actions);
    case Kind::kPersisted: return broker_.OnPersisted(now_, item.id, actions);
    case Kind::kWriteDone: return broker_.OnWriteDone(now_, stream, actions);
    case Kind::kHalfCloseArrives: return broker_.OnStreamHalfClosed(now_, stream, actions);
    case Kind::kCancelArrives: return broker_.OnStreamGone(now_, stream, actions);
    case Kind::kCallArrives: {
      const pubsub::Method method = calls_.find(item.id)->second.method;
      absl::StatusOr<pubsub::Request> request = pubsub::DecodeRequest(method, std::move(item.bytes));
      HOPGAP_CHECK(request.ok(), "the client model encodes what the broker reads");
      return broker_.OnCall(now_, broker::CallId{item.id}, method, *std::move(request), actions);
    }
    default: {
      absl::StatusOr<pubsub::StreamingPullRequest> request = pubsub::DecodeStreamingPullRequest(item.bytes.view());
      HOPGAP_CHECK(request.ok(), "the client model encodes what the broker reads");
      if (item.kind == Kind::kOpenArrives) {
        return broker_.OnStreamOpen(now_, stream, *std::move(request), actions);
      }
      return broker_.OnStreamRequest(now_, stream, *std::move(request), actions);
    }
  }
}

void World::HandleStream(Item& item) {
  Stream& stream = streams_[item.id - 1];
  if (item.kind == Kind::kResponseArrives) stream.buffered.push_back(std::move(item.bytes));
  if (item.kind == Kind::kEndArrives) {
    stream.ended = true;
    stream.end_status = item.status();
  }
  Deliver(item.id);
}

// A read that is posted meets what has arrived: the next response, then the end.
void World::Deliver(uint64_t id) {
  Stream& stream = streams_[id - 1];
  if (!stream.read_posted) return;
  if (!stream.buffered.empty()) {
    stream.read_posted = false;
    absl::StatusOr<pubsub::StreamingPullResponse> response =
        pubsub::DecodeStreamingPullResponse(std::move(stream.buffered.front()));
    stream.buffered.pop_front();
    HOPGAP_CHECK(response.ok(), "the broker encodes what the client reads");
    lab_->OnResponse(now_, stream.endpoint, stream.index, now_, stream.posted_at, *std::move(response), commands_);
  } else if (stream.ended && !stream.end_told) {
    stream.end_told = true;
    lab_->OnStreamEnded(now_, stream.endpoint, stream.index, stream.end_status, commands_);
  }
  PerformLab(commands_);
}

void World::PerformLab(lab::Commands& commands) {
  for (lab::Command& command : commands) {
    client::Action& action = command.action;
    if (action.kind == client::Action::Kind::kStartCallback) {
      lab::Commands entered;
      lab_->OnHandlerEntered(now_, command.endpoint, action.delivery, entered);
      PerformLab(entered);
      continue;
    }
    if (action.kind != client::Action::Kind::kCall) {
      PerformStream(command.endpoint, action);
      continue;
    }
    calls_.emplace(next_call_, Call{command.endpoint, action.call, action.method, now_, action.timeout});
    queue_.Push(now_ + options_.one_way,
                {.kind = Kind::kCallArrives, .id = next_call_++, .bytes = pubsub::Bytes(pubsub::Join(action.payload))});
  }
  commands.clear();
}

void World::PerformStream(uint32_t endpoint, client::Action& action) {
  std::vector<uint64_t>& ids = stream_of_[endpoint];
  if (ids.size() <= action.stream) ids.resize(action.stream + 1, 0);
  uint64_t& id = ids[action.stream];
  const auto send = [&](Kind kind) {
    queue_.Push(now_ + options_.one_way,
                {.kind = kind, .id = id, .bytes = pubsub::Bytes(pubsub::Join(action.payload))});
  };
  switch (action.kind) {
    case client::Action::Kind::kOpenStream:
      streams_.push_back(
          {.endpoint = endpoint, .index = action.stream, .posted_at = {}, .buffered = {}, .end_status = {}});
      id = streams_.size();
      return send(Kind::kOpenArrives);
    case client::Action::Kind::kRead: {
      Stream& stream = streams_[id - 1];
      stream.read_posted = true;
      stream.posted_at = now_;
      queue_.Push(now_, {.kind = Kind::kReadable, .id = id});
      return;
    }
    case client::Action::Kind::kSend: return send(Kind::kRequestArrives);
    case client::Action::Kind::kHalfCloseStream: return send(Kind::kHalfCloseArrives);
    case client::Action::Kind::kCancelStream: return send(Kind::kCancelArrives);
    default: HOPGAP_CHECK(false, "not an order to the driver");
  }
}

void World::PerformBroker(broker::Actions& actions) {
  for (broker::Action& action : actions) {
    const auto stream = static_cast<uint64_t>(action.stream);
    switch (action.kind) {
      case broker::Action::Kind::kReply: Reply(action); break;
      case broker::Action::Kind::kWrite:
        queue_.Push(
            now_ + options_.one_way + options_.planted_wire,
            {.kind = Kind::kResponseArrives, .id = stream, .bytes = pubsub::Bytes(pubsub::Join(action.payload))});
        queue_.Push(now_, {.kind = Kind::kWriteDone, .id = stream});
        break;
      case broker::Action::Kind::kCloseStream:
        queue_.Push(now_ + options_.one_way + options_.planted_wire,
                    {.kind = Kind::kEndArrives, .id = stream, .failure = FailureOf(action.status, {})});
        break;
      case broker::Action::Kind::kPersist: queue_.Push(now_, {.kind = Kind::kPersisted, .id = action.token}); break;
    }
  }
}

void World::Reply(broker::Action& action) {
  const auto call = static_cast<uint64_t>(action.call);
  if (!lab_) {  // creating the resources
    if (!action.status.ok()) setup_error_ = action.status;
    return;
  }
  queue_.Push(now_ + options_.one_way, {.kind = Kind::kCallReturns,
                                        .id = call,
                                        .failure = FailureOf(std::move(action.status), std::move(action.details)),
                                        .bytes = pubsub::Bytes(pubsub::Join(action.payload))});
}

void World::FoldDue(Instant until) {
  while (!to_fold_.empty() && to_fold_.front().first <= until) {
    Fold(to_fold_.front().second);
    to_fold_.pop_front();
  }
  if (until != kNever) return;
  // What was sent and has not settled still has spans, and a path if it was
  // handled. A run that is ended early may have a million slots beyond those.
  for (size_t arm = 0; arm < options_.lab.arms.size(); ++arm) {
    const uint64_t sent = lab_->counts(arm).sent;
    for (uint64_t slot = 0; slot < sent; ++slot) {
      if (paths_[arm].size() <= slot || paths_[arm][slot].hops.empty()) {
        const auto [hi, lo] = lab_->TraceId(arm, slot);
        Fold({arm, slot, hi, lo});
      }
    }
    std::erase_if(paths_[arm], [](const trace::Path& path) { return path.hops.empty(); });
  }
}

void World::Fold(const lab::Settled& settled) {
  std::vector<trace::Path>& paths = paths_[settled.arm];
  if (paths.size() < options_.lab.slots) paths.resize(options_.lab.slots);
  std::function<void(std::vector<trace::Span>&)> take;
  if (options_.message_spans) {
    take = [&](std::vector<trace::Span>& spans) { options_.message_spans(settled.slot, spans); };
  }
  std::vector<trace::Path> folded = collector_.Fold(settled.trace_hi, settled.trace_lo, options_.lab.hops, take);
  if (!folded.empty()) paths[settled.slot] = std::move(folded.front());
}

}  // namespace

absl::StatusOr<Result> Run(Options options) {
  World world(std::move(options));
  return world.Run();
}

}  // namespace hopgap::sim
