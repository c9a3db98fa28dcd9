#include "client/sender.h"

#include <algorithm>

#include "base/check.h"

namespace hopgap::client {

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
  // An idle ticker has spent its ticks up to now, though not one at this very instant.
  if (!busy_ && pending_[index].empty()) served_[index] = std::max(served_[index], now - Duration{1});
  pending_[index].push_back(std::move(target));
}

std::optional<Sender::Due> Sender::Take(Instant now) {
  HOPGAP_CHECK(!busy_, "the sender does one thing at a time");
  for (size_t i = 0; i < kOrder.size(); ++i) {
    const bool due = flushing_ || grid_.After(served_[i]) <= now;
    served_[i] = std::max(served_[i], now);
    if (!due || pending_[i].empty()) continue;
    // The later tickers' ticks of this instant fall into the call that starts now.
    for (size_t later = i + 1; later < kOrder.size(); ++later) {
      served_[later] = std::max(served_[later], grid_.AtOrBefore(now) - Duration{1});
    }
    if (kOrder[i] == Purpose::kNack) nacked_ids_.clear();
    return Due{kOrder[i], std::exchange(pending_[i], {})};
  }
  return std::nullopt;
}

std::optional<Instant> Sender::NextDeadline() const {
  if (busy_) return std::nullopt;
  std::optional<Instant> next;
  for (size_t i = 0; i < kOrder.size(); ++i) {
    if (pending_[i].empty()) continue;
    const Instant due = flushing_ ? Instant::min() : grid_.After(served_[i]);
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
