#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"
#include "broker/journal_record.h"

namespace hopgap::broker {

// Knows which messages of one subscription are out with a subscriber, and until
// when. Sans-I/O: the caller says what time it is and owns the timer.
//
// A lease ends once, by End() or expiry. Expiry is inclusive: at the deadline
// itself the lease has ended, whether or not TakeExpired() has run.
//
// Not thread-safe; one table belongs to one strand.
class LeaseTable {
 public:
  // Starts a lease. Requires: `id` is not leased; length > 0.
  void Grant(Sequence id, Instant now, Duration length);

  // Sets the deadline (it may move earlier). NotFound if the lease has ended: a
  // late extension never revives one. Requires: deadline > now.
  absl::Status Extend(Sequence id, Instant now, Instant deadline);

  // Ends the lease. NotFound if it has ended already.
  absl::Status End(Sequence id, Instant now);

  // The deadline of a live lease.
  std::optional<Instant> DeadlineOf(Sequence id, Instant now) const;

  // Removes and returns the leases that expired by `now`, ordered by deadline
  // and then by sequence. The order is contract: replaying a seed depends on it.
  struct Expired {
    Instant deadline;
    Sequence id = 0;
    friend bool operator==(const Expired&, const Expired&) = default;
  };
  std::vector<Expired> TakeExpired(Instant now);

  // When to call TakeExpired() next; nullopt when nothing is leased.
  std::optional<Instant> NextDeadline() const;

  size_t size() const { return deadlines_.size(); }

 private:
  using Entry = std::pair<Instant, Sequence>;
  void Push(Entry entry);
  void DropStaleTop();
  bool Current(const Entry& entry) const;

  // The truth. Never iterated: hash order must not leak.
  absl::flat_hash_map<Sequence, Instant> deadlines_;
  // A heap, earliest first. An entry that the truth contradicts is stale: most
  // leases end by an ack, and finding them here would cost more than leaving
  // them. The top is never stale; rebuilt when most of it is.
  std::vector<Entry> heap_;
};

}  // namespace hopgap::broker
