#include "client/sender.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace hopgap::client {

Sender::Sender(const Model& model, Instant phase, Instant start)
    : timer_(model.batch_timer),
      tick_(model.tick),
      ids_max_(model.batch_ids_max),
      grid_(phase, std::max(model.tick, Duration{1})),
      free_since_(start) {
  served_.fill(start - Duration{1});
  first_.fill(start);
}

size_t Sender::IndexOf(Purpose purpose) {
  for (size_t i = 0; i < kOrder.size(); ++i) {
    if (kOrder[i] == purpose) return i;
  }
  HOPGAP_CHECK(false, "this purpose has no ticker");
}

void Sender::Add(Instant now, Purpose purpose, Target target) {
  if (flushing_ && purpose == Purpose::kReceipt) return;
  const size_t index = IndexOf(purpose);
  if (purpose == Purpose::kNack) nacked_ids_.insert(target.ack_id);
  if (pending_[index].empty()) {
    // An idle ticker has spent its ticks up to now, though not one at this very instant.
    if (!busy_) served_[index] = std::max(served_[index], now - Duration{1});
    first_[index] = now;
  }
  pending_[index].push_back(std::move(target));
}

Instant Sender::DueAt(size_t index) const {
  if (flushing_) return Instant::min();
  if (timer_ == BatchTimer::kTicker) return grid_.After(served_[index]);
  const bool full = ids_max_ > 0 && pending_[index].size() >= ids_max_;
  if (full) return first_[index];
  return timer_ == BatchTimer::kFromFree ? std::max(first_[index], free_since_ + tick_) : first_[index] + tick_;
}

std::optional<Sender::Due> Sender::Take(Instant now) {
  HOPGAP_CHECK(!busy_, "the sender does one thing at a time");
  for (size_t i = 0; i < kOrder.size(); ++i) {
    const bool due = DueAt(i) <= now;
    served_[i] = std::max(served_[i], now);
    if (!due || pending_[i].empty()) continue;
    // The later tickers' ticks of this instant fall into the call that starts now.
    for (size_t later = i + 1; later < kOrder.size(); ++later) {
      served_[later] = std::max(served_[later], grid_.AtOrBefore(now) - Duration{1});
    }
    return Due{kOrder[i], TakeBatch(now, i)};
  }
  return std::nullopt;
}

std::vector<Target> Sender::TakeBatch(Instant now, size_t index) {
  std::vector<Target> batch = std::exchange(pending_[index], {});
  if (ids_max_ > 0 && batch.size() > ids_max_) {
    const auto rest = batch.begin() + static_cast<std::ptrdiff_t>(ids_max_);
    pending_[index].assign(std::make_move_iterator(rest), std::make_move_iterator(batch.end()));
    batch.erase(rest, batch.end());
    first_[index] = now;
  }
  if (kOrder[index] == Purpose::kNack) {
    for (const Target& target : batch) nacked_ids_.erase(target.ack_id);
  }
  return batch;
}

void Sender::SetBusy(Instant now, bool busy) {
  // Whoever batches by first item begins to gather when it is free.
  if (busy_ && !busy) {
    for (Instant& first : first_) first = std::max(first, now);
    free_since_ = now;
  }
  busy_ = busy;
}

std::optional<Instant> Sender::NextDeadline() const {
  if (busy_) return std::nullopt;
  std::optional<Instant> next;
  for (size_t i = 0; i < kOrder.size(); ++i) {
    if (pending_[i].empty()) continue;
    const Instant due = DueAt(i);
    if (!next || due < *next) next = due;
  }
  return next;
}

void Sender::Flush() {
  flushing_ = true;
  pending_[IndexOf(Purpose::kReceipt)].clear();
}

bool Sender::empty() const {
  return std::all_of(pending_.begin(), pending_.end(), [](const auto& targets) { return targets.empty(); });
}

}  // namespace hopgap::client
