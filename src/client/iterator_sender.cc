// The sender's side of an iterator: acks, nacks, leases, deadlines and the stop.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "client/iterator.h"

namespace hopgap::client {

void Iterator::Settle(Instant now, DeliveryEntry& entry, Purpose purpose, Actions& out) {
  core_.recorder.Record(now, purpose == Purpose::kAck ? trace::What::kAckCalled : trace::What::kNackCalled,
                        entry.delivery.key, {.delivery = entry.delivery.delivery_key});
  entry.settled = true;
  leases_.AddAckTime(now - entry.delivery.received);
  leases_.Remove(entry.delivery.id);
  sender_->Add(now, purpose, entry.target());
  if (stopping_) FinishStop(now, out);
}

void Iterator::OnCallbackReturned(Instant now, DeliveryEntry& entry, Actions& out) {
  core_.recorder.Record(now, trace::What::kHandlerReturned, entry.delivery.key,
                        {.delivery = entry.delivery.delivery_key});
  entry.phase = DeliveryEntry::Phase::kReturned;
  --core_.outstanding;
  ForgetIfOver(entry);
  if (stopping_) FinishStop(now, out);
}

void Iterator::ForgetIfOver(DeliveryEntry& entry) {
  // Whoever returned from his callback and let the lease run out will not ack any more.
  const bool given_up = entry.phase == DeliveryEntry::Phase::kReturned && entry.lease_abandoned && !entry.settled;
  if (given_up) entry.done = true;
  if (!entry.done || entry.phase == DeliveryEntry::Phase::kHanded) return;
  core_.ReleaseCredits(entry);
  --live_;
  core_.deliveries.Erase(entry.delivery.id);
}

void Iterator::OnOutcome(Instant now, Outcome outcome, Actions& out) {
  for (const Outcome::Result& result : outcome.results) {
    switch (outcome.purpose) {
      case Purpose::kReceipt: OnReceipt(result); break;
      case Purpose::kExtension:  // the message stays with its handler, whatever became of its lease
        break;
      case Purpose::kAck:
      case Purpose::kNack: OnSettled(result.target, result.ok, out); break;
    }
  }
  if (outcome.purpose == Purpose::kReceipt && !outcome.results.empty()) AfterReceipts(now, out);
  if (outcome.sender_free) {
    sender_->SetBusy(now, false);
    Pump(now, out);
  }
  if (stopping_) FinishStop(now, out);
}

void Iterator::OnSettled(const Target& target, bool ok, Actions& out) {
  DeliveryEntry* entry = core_.deliveries.Find(target.delivery);
  HOPGAP_CHECK(entry != nullptr && !entry->done, "an id has one result");
  entry->done = true;
  // What was nacked by Stop() was never handed over, so nobody asked.
  const bool asked = entry->phase >= DeliveryEntry::Phase::kHanded;
  if (asked) {
    Action action;
    action.kind = Action::Kind::kAckDone;
    action.stream = index_;
    action.delivery = target.delivery;
    action.ok = ok;
    out.push_back(std::move(action));
  }
  ForgetIfOver(*entry);
}

void Iterator::Pump(Instant now, Actions& out) {
  const bool waits = core_.model().sender_waits;
  while (!sender_->busy()) {
    if (auto due = sender_->Take(now)) {
      const int32_t seconds = due->purpose == Purpose::kReceipt ? leases_.deadline_seconds() : 0;
      sender_->SetBusy(now, waits);
      core_.calls.Send(now, index_, due->purpose, seconds, waits, std::move(due->targets), out);
    } else if (const auto tick = leases_.TakeTick(now)) {
      OnLeaseTick(now, *tick, out);
    } else {
      return;
    }
  }
}

void Iterator::OnLeaseTick(Instant now, const LeaseKeeper::Tick& tick, Actions& out) {
  for (const uint64_t id : tick.abandoned) {
    DeliveryEntry& entry = *core_.deliveries.Find(id);
    core_.recorder.Record(now, trace::What::kLeaseAbandoned, entry.delivery.key,
                          {.delivery = entry.delivery.delivery_key});
    entry.lease_abandoned = true;
    ForgetIfOver(entry);
  }
  if (tick.extend.empty()) return;
  std::vector<Target> targets;
  targets.reserve(tick.extend.size());
  for (const uint64_t id : tick.extend) targets.push_back(core_.deliveries.Find(id)->target());
  const bool waits = core_.model().sender_waits;
  sender_->SetBusy(now, waits);
  core_.calls.Send(now, index_, Purpose::kExtension, leases_.deadline_seconds(), waits, std::move(targets), out);
}

void Iterator::OnStreamEnded(Instant now, const absl::Status& status, Actions& out) {
  stream_.OnEnded(now, status, out);
}

void Iterator::OnDeadline(Instant now, Actions& out) {
  if (closed_) return;
  stream_.OnDeadline(now, leases_.deadline_seconds(), out);
  if (step_ == Step::kPlanted && resume_at_ <= now) {
    if (Worker(now, Present(), out)) {
      ready_.pop_front();
      Dispatch(now, out);
    }
  }
  Pump(now, out);
  if (stopping_) FinishStop(now, out);
}

std::optional<Instant> Iterator::NextDeadline() const {
  if (closed_) return std::nullopt;
  std::optional<Instant> next = stream_.NextDeadline();
  const auto consider = [&next](std::optional<Instant> at) {
    if (at && (!next || *at < *next)) next = at;
  };
  if (step_ == Step::kPlanted) consider(resume_at_);
  if (!sender_->busy()) {
    consider(sender_->NextDeadline());
    consider(leases_.NextTick());
  }
  return next;
}

void Iterator::GiveUp(Instant now, DeliveryEntry& entry) {
  if (entry.settled) return;
  entry.settled = true;
  entry.receipt_pending = false;
  --core_.outstanding;
  leases_.Remove(entry.delivery.id);
  sender_->Add(now, Purpose::kNack, entry.target());
}

void Iterator::Stop(Instant now, Actions&) {
  stopping_ = true;
  stream_.StopReading();
  for (std::deque<uint64_t>* waiting : {&ready_, &unreceipted_}) {
    for (const uint64_t id : std::exchange(*waiting, {})) GiveUp(now, *core_.deliveries.Find(id));
  }
  step_ = Step::kIdle;
  receipts_running_ = 0;
}

// In order: callbacks and their acks as always; once no lease is left the last
// acks and nacks leave without waiting for a tick; once nothing is left, the stream.
void Iterator::FinishStop(Instant now, Actions& out) {
  if (closed_) return;
  if (leases_.empty()) {
    sender_->Flush();
    Pump(now, out);
  }
  if (live_ > 0 || sender_->busy() || !sender_->empty() || core_.calls.unfinished(index_) > 0) return;
  closed_ = true;
  stream_.Close(out);
}

}  // namespace hopgap::client
