#include "client/iterator.h"

#include "base/check.h"

namespace hopgap::client {
namespace {

// The keys of the streams' reconnect jitter, apart from those of the calls.
constexpr uint64_t kReopenJitter = 3;

pubsub::StreamingPullRequest FirstRequest(const Subscriber::Options& options) {
  pubsub::StreamingPullRequest request;
  request.subscription = options.subscription;
  request.client_id = options.client_id;
  request.stream_ack_deadline_seconds =
      static_cast<int32_t>(std::chrono::floor<std::chrono::seconds>(options.model.stream_ack_deadline).count());
  // Every stream announces the full limits, though the streams share them here.
  request.max_outstanding_messages = MessageLimit(options.model.max_outstanding_messages);
  request.max_outstanding_bytes = ByteLimit(options.model.max_outstanding_bytes);
  request.protocol_version = 1;  // asks for pongs
  return request;
}

Instant PhaseOf(const Subscriber::Options& options, uint32_t index) {
  return options.tick_phase.empty() ? Instant{} : Instant{options.tick_phase.at(index)};
}

}  // namespace

Iterator::Iterator(Core& core, uint32_t index, Instant start)
    : core_(core),
      index_(index),
      stream_({.stream = index,
               .first_request = {pubsub::Encode(FirstRequest(core.options))},
               .seed = Mix(core.options.seed, kReopenJitter, index)},
              core.model(), start),
      sender_(TickGrid(PhaseOf(core.options, index), core.model().tick), start),
      leases_(core.model(), start) {}

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
  if (leases_.SetExactlyOnce(now, exactly_once)) stream_.AnnounceDeadline();
  ++responses_;
  if (closed_) return;  // what still comes is delivered again when its lease ends
  TakeIn(now, received, read_posted, response);
  if (stopping_) {
    for (; next_ < batch_.size(); ++next_) GiveUp(now, Present());
    Pump(now, out);
    return;
  }
  if (!exactly_once) {
    QueueReceipts(now);
  } else if (!batch_.empty()) {
    SendReceipts(now, out);
  }
  if (step_ != Step::kReceipts) Dispatch(now, out);
}

void Iterator::TakeIn(Instant now, Instant received, Instant read_posted, pubsub::StreamingPullResponse& response) {
  batch_.clear();
  next_ = 0;
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
    batch_.push_back(entry.delivery.id);
  }
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

// Standard: with the next tick, and nobody waits for it.
void Iterator::QueueReceipts(Instant now) {
  for (const uint64_t id : batch_) {
    const DeliveryEntry& entry = *core_.deliveries.Find(id);
    // An extension must not undo a nack of the same id that is about to leave.
    if (!sender_.HasPendingNack(entry.ack_id)) sender_.Add(now, Purpose::kReceipt, entry.target());
  }
}

// Exactly-once: at once, in calls of their own beside the sender.
void Iterator::SendReceipts(Instant now, Actions& out) {
  const bool await = core_.model().receipt == ReceiptPolicy::kAwait;
  std::vector<Target> targets;
  targets.reserve(batch_.size());
  for (const uint64_t id : batch_) {
    DeliveryEntry& entry = *core_.deliveries.Find(id);
    if (sender_.HasPendingNack(entry.ack_id)) {
      entry.receipt_failed = await;  // the library hands out only what its receipt covers
      continue;
    }
    entry.receipt_pending = await;
    targets.push_back(entry.target());
  }
  if (await) {
    receipts_running_ = targets.size();
    if (targets.empty()) DropFailed(now);
    if (!targets.empty()) step_ = Step::kReceipts;
  }
  if (!targets.empty()) {
    core_.calls.Send(now, index_, Purpose::kReceipt, leases_.deadline_seconds(), false, std::move(targets), out);
  }
}

// Under overlap nobody waits for a receipt and nothing is dropped: a lease that
// was lost shows when the ack fails.
void Iterator::OnReceipt(Instant now, const Target& target, bool ok, Actions& out) {
  DeliveryEntry* entry = core_.deliveries.Find(target.delivery);
  if (entry == nullptr || !entry->receipt_pending) return;
  entry->receipt_pending = false;
  entry->receipt_failed = !ok;
  if (--receipts_running_ > 0) return;
  step_ = Step::kIdle;
  DropFailed(now);
  Dispatch(now, out);
}

void Iterator::DropFailed(Instant now) {
  std::vector<uint64_t> kept;
  kept.reserve(batch_.size());
  for (const uint64_t id : batch_) {
    DeliveryEntry& entry = *core_.deliveries.Find(id);
    if (!entry.receipt_failed) {
      kept.push_back(id);
      continue;
    }
    core_.recorder.Record(now, trace::What::kReceiptFailed, entry.delivery.key,
                          {.delivery = entry.delivery.delivery_key});
    Drop(entry);
  }
  batch_ = std::move(kept);
}

void Iterator::Drop(DeliveryEntry& entry) {
  leases_.Remove(entry.delivery.id);
  --core_.outstanding;
  --live_;
  core_.deliveries.Erase(entry.delivery.id);
}

void Iterator::Dispatch(Instant now, Actions& out) {
  for (; next_ < batch_.size(); ++next_) {
    DeliveryEntry& entry = Present();
    if (!Credits(now, entry) || !Worker(now, entry, out)) return;
  }
  step_ = Step::kIdle;
  stream_.Read(now, out);
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
  ++next_;
  Dispatch(now, out);
}

void Iterator::OnWorker(Instant now, Actions& out) {
  HOPGAP_CHECK(step_ == Step::kWorker, "a worker for a stream that waits for none");
  ++next_;
  Dispatch(now, out);
}

}  // namespace hopgap::client
