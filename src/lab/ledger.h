#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"

namespace hopgap::lab {

// The lab's own book, which shares nothing with the events: what it checks is
// the bookkeeping of events and spans. Stamped by the driver's own clock reads.
// kNever: has not happened.
struct LedgerRow {
  Instant due = kNever;            // hop 1 only
  Instant publish_call = kNever;   // of the message that hop `hop` receives
  Instant handler_entry = kNever;  // the first of its copies
  Instant handler_return = kNever;
};

// The driver's clock, read when the ledger wants a stamp and for nothing else.
class LedgerClock {
 public:
  virtual ~LedgerClock() = default;
  virtual Instant Stamp() = 0;
};

// Rows by arm, slot and hop (1-based); all of them allocated up front.
class Ledger {
 public:
  Ledger() = default;
  Ledger(size_t arms, uint64_t slots, int hops)
      : slots_(slots), hops_(static_cast<size_t>(hops)), rows_(arms * slots * hops_) {}

  LedgerRow& At(size_t arm, uint64_t slot, int hop) { return rows_[Index(arm, slot, hop)]; }
  const LedgerRow& At(size_t arm, uint64_t slot, int hop) const { return rows_[Index(arm, slot, hop)]; }
  uint64_t slots() const { return slots_; }
  int hops() const { return static_cast<int>(hops_); }

 private:
  size_t Index(size_t arm, uint64_t slot, int hop) const {
    return (arm * slots_ + slot) * hops_ + static_cast<size_t>(hop - 1);
  }
  uint64_t slots_ = 0;
  size_t hops_ = 0;
  std::vector<LedgerRow> rows_;
};

}  // namespace hopgap::lab
