#include "client/iterator.h"

#include <functional>
#include <set>
#include <utility>

#include "base/check.h"

namespace hopgap::client {
namespace {

// The keys of the streams' reconnect jitter and of their lease timers, apart
// from those of the calls.
constexpr uint64_t kReopenJitter = 3, kLeaseJitter = 4;

// What a stream that reads on holds where flow control has no limit.
constexpr size_t kReadOnMax = 10'000;

pubsub::StreamingPullRequest FirstRequest(const Subscriber::Options& options) {
  pubsub::StreamingPullRequest request;
  request.subscription = options.subscription;
  request.client_id = options.client_id;
  request.stream_ack_deadline_seconds =
      static_cast<int32_t>(std::chrono::floor<std::chrono::seconds>(options.model.stream_ack_deadline).count());
  // Every stream announces the full limits, though the streams share them here.
  request.max_outstanding_messages = MessageLimit(options.model.max_outstanding_messages);
  request.max_outstanding_bytes = ByteLimit(options.model.max_outstanding_bytes);
  request.protocol_version = options.model.pong_monitor ? 1 : 0;  // asks for pongs
  return request;
}

}  // namespace

Iterator::Iterator(Core& core, uint32_t index, std::shared_ptr<Sender> sender, Instant start)
    : core_(core),
      index_(index),
      stream_({.stream = index,
               .first_request = {pubsub::Encode(FirstRequest(core.options))},
               .seed = Mix(core.options.seed, kReopenJitter, index)},
              core.model(), start),
      sender_(std::move(sender)),
      leases_(core.model(), start, Mix(core.options.seed, kLeaseJitter, index)) {}

const Receipts& Iterator::receipts() const {
  return leases_.exactly_once() ? core_.model().exactly_once : core_.model().standard;
}

bool Iterator::reads_on() const {
  return receipts().wait == ReceiptWait::kInOrder || receipts().wait == ReceiptWait::kOwn;
}

void Iterator::Start(Instant now, Actions& out) {
  stream_.Open(out);
  stream_.Read(now, out);
}

void Iterator::OnResponse(Instant now, Instant received, Instant read_posted, pubsub::StreamingPullResponse response,
                          Actions& out) {
  HOPGAP_CHECK(stream_.reading(), "a response that no read asked for");
  stream_.OnResponse(received);
  // Read from every response, before its messages; absent means both are off.
  core_.properties_seen = true;
  const bool exactly_once = response.has_properties && response.properties.exactly_once_delivery_enabled;
  if (leases_.SetExactlyOnce(now, exactly_once)) stream_.AnnounceDeadline(leases_.deadline_seconds(), out);
  ++responses_;
  if (closed_) return;  // what still comes is delivered again when its lease ends
  const Ids arrived = TakeIn(now, received, read_posted, response);
  if (stopping_) {
    for (const uint64_t id : arrived) GiveUp(now, *core_.deliveries.Find(id));
    Pump(now, out);
    return;
  }
  std::deque<uint64_t>& into = reads_on() ? unreceipted_ : ready_;
  into.insert(into.end(), arrived.begin(), arrived.end());
  const size_t awaited = SendReceipts(now, arrived, out);
  if (receipts().wait == ReceiptWait::kResponse && awaited > 0) {
    receipts_running_ = awaited;
    step_ = Step::kReceipts;
    return;
  }
  AfterReceipts(now, out);
}

Iterator::Ids Iterator::TakeIn(Instant now, Instant received, Instant read_posted,
                               pubsub::StreamingPullResponse& response) {
  Ids arrived;
  arrived.reserve(response.received_messages.size());
  const bool ordered = response.has_properties && response.properties.message_ordering_enabled;
  const bool exactly_once = leases_.exactly_once();
  const uint16_t count = EventCount(response.received_messages.size());
  for (pubsub::ReceivedMessage& message : response.received_messages) {
    const DeliveryEntry& entry = AddDelivery(received, message, ordered);
    core_.recorder.Record(received, exactly_once ? trace::What::kReceivedExactlyOnce : trace::What::kReceived,
                          entry.delivery.key,
                          {.delivery = entry.delivery.delivery_key,
                           .rpc = responses_,
                           .value = ToNanos(read_posted),
                           .stream = static_cast<uint16_t>(index_),
                           .count = count});
    leases_.Add(now, entry.delivery.id, received + core_.model().max_extension);
    arrived.push_back(entry.delivery.id);
  }
  return arrived;
}

DeliveryEntry& Iterator::AddDelivery(Instant received, pubsub::ReceivedMessage& message, bool ordered) {
  DeliveryEntry& entry = core_.deliveries.Add();
  Subscriber::Delivery& delivery = entry.delivery;
  delivery.message = std::move(message.message);
  if (const auto parent = delivery.message.Attribute(pubsub::kTraceparentAttribute)) {
    delivery.key = KeyOf(pubsub::ParseTraceparent(*parent));
  }
  delivery.delivery_key = trace::DeliveryKey(message.ack_id);
  delivery.exactly_once = leases_.exactly_once();
  delivery.received = received;
  entry.ack_id = std::move(message.ack_id);
  if (ordered) entry.order_key = std::string(delivery.message.ordering_key());
  entry.stream = index_;
  ++core_.outstanding;
  ++live_;
  return entry;
}

size_t Iterator::SendReceipts(Instant now, const Ids& arrived, Actions& out) {
  if (receipts().sending == ReceiptSending::kNever) return 0;
  const bool at_once = receipts().sending == ReceiptSending::kAtOnce;
  const bool await = receipts().wait != ReceiptWait::kNothing;
  std::vector<Target> targets;
  size_t awaited = 0;
  for (const uint64_t id : arrived) {
    DeliveryEntry& entry = *core_.deliveries.Find(id);
    // An extension must not undo a nack of the same id that is about to leave.
    if (sender_->HasPendingNack(entry.ack_id)) {
      entry.receipt_failed = await;  // the library hands out only what its receipt covers
      continue;
    }
    entry.receipt_pending = await;
    awaited += await ? 1 : 0;
    if (at_once) {
      targets.push_back(entry.target());
    } else {
      sender_->Add(now, Purpose::kReceipt, entry.target());
    }
  }
  if (!targets.empty()) {  // in calls of their own beside the sender
    core_.calls.Send(now, index_, Purpose::kReceipt, leases_.deadline_seconds(), false, std::move(targets), out);
  }
  return awaited;
}

// Where nobody waits for a receipt nothing is dropped: a lease that was lost
// shows when the ack fails.
void Iterator::OnReceipt(const Outcome::Result& result) {
  DeliveryEntry* entry = core_.deliveries.Find(result.target.delivery);
  if (entry == nullptr || !entry->receipt_pending) return;
  entry->receipt_pending = false;
  entry->receipt_failed = !result.ok;
  entry->receipt_invalid = result.invalid_id;
  if (step_ == Step::kReceipts && --receipts_running_ == 0) step_ = Step::kIdle;
}

// Goes on with what no longer waits for a receipt.
void Iterator::AfterReceipts(Instant now, Actions& out) {
  if (stopping_ || step_ == Step::kReceipts) return;
  Release(now);
  if (step_ == Step::kIdle) Dispatch(now, out);
  ReadOn(now, out);
}

void Iterator::Release(Instant now) {
  if (!reads_on()) std::erase_if(ready_, [&](uint64_t id) { return DropIfFailed(now, *core_.deliveries.Find(id)); });
  if (unreceipted_.empty()) return;
  const bool in_order = core_.model().exactly_once.wait == ReceiptWait::kInOrder;
  std::deque<uint64_t> waiting;
  std::set<std::string, std::less<>> held_keys;
  for (const uint64_t id : unreceipted_) {
    DeliveryEntry& entry = *core_.deliveries.Find(id);
    if (entry.receipt_pending || (in_order && !waiting.empty()) || held_keys.contains(entry.order_key)) {
      waiting.push_back(id);
      if (!entry.order_key.empty()) held_keys.insert(entry.order_key);
    } else if (!DropIfFailed(now, entry)) {
      ready_.push_back(id);
    }
  }
  unreceipted_ = std::move(waiting);
}

// A standard subscription hands out everything.
bool Iterator::DropIfFailed(Instant now, DeliveryEntry& entry) {
  const bool drops = entry.receipt_failed && entry.delivery.exactly_once &&
                     (entry.receipt_invalid || core_.model().failed_receipt == FailedReceipt::kDropped);
  if (!drops) return false;
  core_.recorder.Record(now, trace::What::kReceiptFailed, entry.delivery.key,
                        {.delivery = entry.delivery.delivery_key});
  leases_.Remove(entry.delivery.id);
  --core_.outstanding;
  --live_;
  core_.deliveries.Erase(entry.delivery.id);
  return true;
}

void Iterator::Dispatch(Instant now, Actions& out) {
  for (; !ready_.empty(); ready_.pop_front()) {
    DeliveryEntry& entry = Present();
    if (!Credits(now, entry) || !Worker(now, entry, out)) return;
  }
  step_ = Step::kIdle;
  ReadOn(now, out);
}

void Iterator::ReadOn(Instant now, Actions& out) {
  if (stream_.reading() || step_ == Step::kReceipts) return;
  const int64_t limit = MessageLimit(core_.model().max_outstanding_messages);
  const size_t most = limit < 0 ? kReadOnMax : static_cast<size_t>(limit);
  const bool reads = reads_on() ? unreceipted_.size() + ready_.size() < most : step_ == Step::kIdle && ready_.empty();
  if (reads) stream_.Read(now, out);
}

// False: the loop waits.
bool Iterator::Credits(Instant now, DeliveryEntry& entry) {
  core_.recorder.Record(now, trace::What::kFlowControlStart, entry.delivery.key,
                        {.delivery = entry.delivery.delivery_key});
  if (!core_.flow.Acquire(index_, entry.bytes())) {
    step_ = Step::kCredits;
    return false;
  }
  if (core_.options.planted.flow_control.count() == 0) return true;
  step_ = Step::kPlanted;
  resume_at_ = now + core_.options.planted.flow_control;
  return false;
}

bool Iterator::Worker(Instant now, DeliveryEntry& entry, Actions& out) {
  const Recorder::Fields fields{.delivery = entry.delivery.delivery_key};
  core_.recorder.Record(now, trace::What::kFlowControlEnd, entry.delivery.key, fields);
  core_.recorder.Record(now, trace::What::kSchedulerStart, entry.delivery.key, fields);
  entry.phase = DeliveryEntry::Phase::kAdmitted;
  entry.holds_credits = true;
  switch (core_.scheduler.Add(entry.delivery.id, entry.order_key)) {
    case Scheduler::Added::kRuns: core_.Hand(now, entry, out); return true;
    case Scheduler::Added::kQueued: return true;
    case Scheduler::Added::kWaits: break;
  }
  step_ = Step::kWorker;
  return false;
}

void Iterator::OnAdmitted(Instant now, Actions& out) {
  HOPGAP_CHECK(step_ == Step::kCredits, "credits for a stream that waits for none");
  if (core_.options.planted.flow_control.count() > 0) {
    step_ = Step::kPlanted;
    resume_at_ = now + core_.options.planted.flow_control;
    return;
  }
  if (!Worker(now, Present(), out)) return;
  ready_.pop_front();
  Dispatch(now, out);
}

void Iterator::OnWorker(Instant now, Actions& out) {
  HOPGAP_CHECK(step_ == Step::kWorker, "a worker for a stream that waits for none");
  ready_.pop_front();
  Dispatch(now, out);
}

}  // namespace hopgap::client
