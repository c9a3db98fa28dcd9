#include "lab/worker.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/draw.h"
#include "base/text.h"

namespace hopgap::lab {
namespace {

// What the library sets on every publish itself.
constexpr std::string_view kLibraryPrefix = "googclient_";
constexpr std::string_view kWorkerTraceLabel = "worker trace";
// Of messages that failed and never came back (dead-lettered, sought away, taken
// by another worker) nobody tells: beyond this many their attempts count anew.
constexpr size_t kFailedMax = 1'000'000;

}  // namespace

std::optional<Draw> ParseDraw(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::optional<uint64_t> hop = ParseNumber<uint64_t>(text.substr(0, dot));
  const std::optional<uint64_t> slot = ParseNumber<uint64_t>(text.substr(dot + 1));
  if (!hop || !slot) return std::nullopt;
  return Draw{*hop, *slot};
}

Worker::Worker(Options options, trace::EventSink& sink, uint64_t& next_rpc, WorkerBook& book)
    : options_(std::move(options)), book_(book), subscriber_(options_.subscriber, sink, next_rpc) {
  if (options_.dedupe) handled_.emplace(*options_.dedupe);
  if (options_.publisher) publisher_.emplace(*options_.publisher, sink, next_rpc);
}

void Worker::Start(Instant now, Commands& out) {
  client::Actions actions;
  subscriber_.Start(now, actions);
  Take(now, kSubscribes, actions, out);
}

void Worker::OnResponse(Instant now, uint32_t, uint32_t stream, Instant received, Instant read_posted,
                        pubsub::StreamingPullResponse response, Commands& out) {
  client::Actions actions;
  subscriber_.OnResponse(now, stream, received, read_posted, std::move(response), actions);
  Take(now, kSubscribes, actions, out);
}

void Worker::OnStreamEnded(Instant now, uint32_t, uint32_t stream, const absl::Status& status, Commands& out) {
  client::Actions actions;
  subscriber_.OnStreamEnded(now, stream, status, actions);
  Take(now, kSubscribes, actions, out);
}

void Worker::OnCallDone(Instant now, uint32_t endpoint, uint64_t call, const absl::Status& status,
                        std::string_view details, const pubsub::Bytes& response, Commands& out) {
  client::Actions actions;
  const uint32_t side = endpoint - options_.first_endpoint;
  if (side == kPublishes) {
    publisher_->OnCallDone(now, call, status, response, actions);
  } else {
    subscriber_.OnCallDone(now, call, status, details, actions);
  }
  Take(now, side, actions, out);
}

void Worker::OnHandlerEntered(Instant now, uint32_t, uint64_t delivery, Commands& out) {
  const client::Subscriber::Delivery& received = subscriber_.Get(delivery);
  subscriber_.OnCallbackStarted(now, delivery);
  if (!book_.OnEntered(delivery, received)) return Finish(now, {delivery, false}, true, out);
  if (handled_) return StartStep(now, delivery, Step::kAsked, options_.dedupe->access, out);
  StartWork(now, delivery, out);
}

// Messages of others have no slot; their id does as well.
Worker::DrawKey Worker::DrawKeyOf(uint64_t delivery) const {
  const pubsub::Message& message = subscriber_.Get(delivery).message;
  const std::optional<std::string_view> text = message.Attribute(pubsub::kDrawAttribute);
  const std::optional<Draw> draw = text ? ParseDraw(*text) : std::nullopt;
  return draw ? DrawKey{draw->hop, draw->slot} : DrawKey{0, HashName(message.message_id())};
}

void Worker::StartWork(Instant now, uint64_t delivery, Commands& out) {
  Duration length = options_.work.length;
  if (options_.work.drawn()) {
    const DrawKey key = DrawKeyOf(delivery);
    length = options_.work.Of(key.hop, key.message);
  }
  StartStep(now, delivery, Step::kWorked, length + options_.work_planted, out);
}

bool Worker::Fails(uint64_t delivery) {
  if (options_.failures.share <= 0) return false;
  const DrawKey key = DrawKeyOf(delivery);
  if (failed_.size() >= kFailedMax) failed_.clear();
  const auto found = failed_.try_emplace(key.message, 0).first;
  if (options_.failures.Of(key.hop, key.message, found->second)) return ++found->second, true;
  failed_.erase(found);
  return false;
}

void Worker::StartStep(Instant now, uint64_t delivery, Step step, Duration length, Commands& out) {
  if (step != Step::kWorked) subscriber_.OnStore(now, delivery, trace::What::kStoreStart);
  if (length == Duration{0}) return OnStepDone(now, delivery, step, out);
  working_.push({now + length, next_order_++, delivery, step});
  Aim();
}

void Worker::OnStepDone(Instant now, uint64_t delivery, Step step, Commands& out) {
  if (step == Step::kWorked) return OnWorkDone(now, delivery, out);
  subscriber_.OnStore(now, delivery, trace::What::kStoreEnd);
  if (step == Step::kTold) {
    handled_->Add(now, StoreId(delivery));
    return Finish(now, {delivery}, true, out);
  }
  if (!handled_->Contains(now, StoreId(delivery))) return StartWork(now, delivery, out);
  book_.OnRepeatDropped(delivery);
  Finish(now, {delivery}, true, out);
}

// The application's own id, as one would take an order's number: it also knows
// a copy that a retried worker published as a new message.
std::string Worker::StoreId(uint64_t delivery) const {
  const pubsub::Message& message = subscriber_.Get(delivery).message;
  return std::string(message.Attribute(pubsub::kDrawAttribute).value_or(message.message_id()));
}

void Worker::OnDeadline(Instant now, Commands& out) {
  if (next_ > now) return;
  if (!working_.empty() && working_.top().at == next_) {
    const WorkEnd end = working_.top();
    working_.pop();
    Aim();
    return OnStepDone(now, end.delivery, end.step, out);
  }
  const uint32_t side = deadlines_[kSubscribes] == next_ ? kSubscribes : kPublishes;
  const Instant passed = next_;
  client::Actions actions;
  if (side == kPublishes) {
    publisher_->OnDeadline(now, actions);
  } else {
    subscriber_.OnDeadline(now, actions);
  }
  const bool idle = actions.empty();
  Take(now, side, actions, out);
  HOPGAP_CHECK(!idle || deadlines_[side] != passed, "a deadline that passed must move or act");
}

std::optional<Instant> Worker::NextDeadline() const {
  if (next_ == kNever) return std::nullopt;
  return next_;
}

void Worker::Stop(Instant now, Commands& out) {
  client::Actions actions;
  subscriber_.Stop(now, actions);
  Take(now, kSubscribes, actions, out);
}

bool Worker::Stopped() const { return subscriber_.Stopped() && (!publisher_ || publisher_->in_flight() == 0); }

// Our own reactions may make the client act again: those actions are taken
// inside the calls below, in their order.
void Worker::Take(Instant now, uint32_t side, client::Actions& actions, Commands& out) {
  for (client::Action& action : actions) {
    switch (action.kind) {
      case client::Action::Kind::kAckDone: book_.OnAckDone(action.delivery, action.ok); break;
      case client::Action::Kind::kPublished: OnPublished(now, action, out); break;
      case client::Action::Kind::kFailed: book_.OnFailed(action.error); break;
      default: out.push_back({options_.first_endpoint + side, std::move(action)});
    }
  }
  Refresh(side);
}

void Worker::Refresh(uint32_t side) {
  const std::optional<Instant> next = side == kPublishes ? publisher_->NextDeadline() : subscriber_.NextDeadline();
  deadlines_[side] = next.value_or(kNever);
  Aim();
}

void Worker::Aim() {
  next_ = std::min(deadlines_[kSubscribes], deadlines_[kPublishes]);
  if (!working_.empty()) next_ = std::min(next_, working_.top().at);
}

void Worker::OnWorkDone(Instant now, uint64_t delivery, Commands& out) {
  if (Fails(delivery)) {
    book_.OnHandlerFailed(delivery);
    return Finish(now, {delivery}, false, out);
  }
  book_.OnWorkDone(delivery);
  if (!publisher_) return Succeed(now, delivery, out);
  const uint64_t publish = next_publish_++;
  const bool await = options_.publish == PublishMode::kAwait;
  if (await) publishing_.emplace(publish, delivery);
  PublishOn(now, delivery, publish, out);
  if (!await) Succeed(now, delivery, out);
}

// The note of it first: acked before it is noted, a copy would be handled again.
void Worker::Succeed(Instant now, uint64_t delivery, Commands& out) {
  if (handled_) return StartStep(now, delivery, Step::kTold, options_.dedupe->access, out);
  Finish(now, {delivery}, true, out);
}

void Worker::PublishOn(Instant now, uint64_t delivery, uint64_t publish, Commands& out) {
  const client::Subscriber::Delivery& received = subscriber_.Get(delivery);
  client::Publisher::Call call;
  call.publish = publish;
  call.data = received.message.data();
  for (const auto& [key, value] : received.message.Attributes()) {
    if (key.substr(0, kLibraryPrefix.size()) == kLibraryPrefix) continue;
    std::string text(value);
    if (const std::optional<Draw> draw = key == pubsub::kDrawAttribute ? ParseDraw(value) : std::nullopt) {
      text = StrCat(draw->hop + 1, ".", draw->slot);
      call.slot_label = draw->slot + 1;
    }
    call.attributes.emplace_back(key, std::move(text));
  }
  trace::MessageKey key = received.key;
  if (key.trace_hi == 0 && key.trace_lo == 0) {  // its publisher does not trace: the trace begins here
    key.trace_hi = Mix(options_.subscriber.seed, HashName(kWorkerTraceLabel), received.delivery_key);
    key.trace_lo = Mix(key.trace_hi, publish);
  }
  call.parent = trace::SpanId(trace::SpanRole::kProcess, received.key, received.delivery_key);
  call.create = {key.trace_hi, key.trace_lo, 0};
  call.create.span = trace::SpanId(trace::SpanRole::kCreate, {key.trace_hi, key.trace_lo, call.parent}, publish);
  client::Actions actions;
  publisher_->Publish(now, std::move(call), actions);
  Take(now, kPublishes, actions, out);
}

void Worker::OnPublished(Instant now, const client::Action& action, Commands& out) {
  book_.OnPublished(action.ok);
  const auto found = publishing_.find(action.publish);
  if (found == publishing_.end()) return;  // fire: nobody waits
  const uint64_t delivery = found->second;
  publishing_.erase(found);
  if (action.ok) return Succeed(now, delivery, out);
  Finish(now, {delivery}, false, out);
}

void Worker::Finish(Instant now, const Handling& handling, bool ack, Commands& out) {
  client::Actions actions;
  if (handling.ours) book_.OnReturned(handling.delivery, ack);
  if (ack) {
    subscriber_.Ack(now, handling.delivery, actions);
  } else {
    subscriber_.Nack(now, handling.delivery, actions);
  }
  subscriber_.OnCallbackReturned(now, handling.delivery, actions);
  Take(now, kSubscribes, actions, out);
}

}  // namespace hopgap::lab
