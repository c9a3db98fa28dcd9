#include "broker/lease_table.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace hopgap::broker {
namespace {

constexpr size_t kHeapSlack = 64;  // below this many stale entries a rebuild is not worth it

absl::Status Ended(Sequence id) { return absl::NotFoundError(StrCat("the lease of ", id, " has ended")); }

}  // namespace

bool LeaseTable::Current(const Entry& entry) const {
  const auto found = deadlines_.find(entry.second);
  return found != deadlines_.end() && found->second == entry.first;
}

void LeaseTable::DropStaleTop() {
  while (!heap_.empty() && !Current(heap_.front())) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
  }
}

void LeaseTable::Push(Entry entry) {
  heap_.push_back(entry);
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  if (heap_.size() > 2 * deadlines_.size() + kHeapSlack) {
    std::erase_if(heap_, [this](const Entry& e) { return !Current(e); });
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  DropStaleTop();
}

void LeaseTable::Grant(Sequence id, Instant now, Duration length) {
  HOPGAP_CHECK(length > Duration{0}, "a lease must have a length");
  const bool fresh = deadlines_.emplace(id, now + length).second;
  HOPGAP_CHECK(fresh, "already leased");
  Push({now + length, id});
}

absl::Status LeaseTable::Extend(Sequence id, Instant now, Instant deadline) {
  HOPGAP_CHECK(deadline > now, "a lease cannot be extended into the past");
  const auto found = deadlines_.find(id);
  if (found == deadlines_.end() || found->second <= now) return Ended(id);
  if (found->second == deadline) return absl::OkStatus();
  found->second = deadline;
  Push({deadline, id});
  return absl::OkStatus();
}

absl::Status LeaseTable::End(Sequence id, Instant now) {
  const auto found = deadlines_.find(id);
  if (found == deadlines_.end() || found->second <= now) return Ended(id);
  deadlines_.erase(found);
  DropStaleTop();
  return absl::OkStatus();
}

std::optional<Instant> LeaseTable::DeadlineOf(Sequence id, Instant now) const {
  const auto found = deadlines_.find(id);
  if (found == deadlines_.end() || found->second <= now) return std::nullopt;
  return found->second;
}

std::vector<LeaseTable::Expired> LeaseTable::TakeExpired(Instant now) {
  std::vector<Expired> expired;
  while (!heap_.empty() && heap_.front().first <= now) {
    expired.push_back({heap_.front().first, heap_.front().second});
    deadlines_.erase(heap_.front().second);
    DropStaleTop();
  }
  return expired;
}

std::optional<Instant> LeaseTable::NextDeadline() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front().first;
}

}  // namespace hopgap::broker
