#pragma once

#include <absl/container/flat_hash_set.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "client/call_runner.h"
#include "client/model.h"
#include "client/tick_grid.h"

namespace hopgap::client {

// What waits for the timers of one stream's sender: acks, nacks and those
// receipts that have time.
//
// With a ticker (BatchTimer::kTicker) the sender does one thing at a time; a
// tick that falls into a running call is kept (one per ticker) and served when
// the call returns, with all that has gathered by then. Ticks that coincide are
// served in the order ack, nack, receipt: the Go library starts its tickers in
// this order, microseconds apart.
//
// With BatchTimer::kFirstItem a batch leaves one tick after its first item, or
// after the sender became free, or as soon as it holds `batch_ids_max`. With
// kFromFree it is one tick after the sender became free, whenever the first came.
class Sender {
 public:
  // `phase` places the ticker.
  Sender(const Model& model, Instant phase, Instant start);

  // `purpose` is kAck, kNack or kReceipt.
  void Add(Instant now, Purpose purpose, Target target);
  bool HasPendingNack(const std::string& ack_id) const { return nacked_ids_.contains(ack_id); }

  struct Due {
    Purpose purpose;
    std::vector<Target> targets;
  };
  // What is to be sent now; nullopt if nothing is. The caller sends it and, if
  // the model's sender waits, calls SetBusy(). Requires: not busy.
  std::optional<Due> Take(Instant now);

  // While busy there is no deadline; the caller tries Take() when its calls have returned.
  void SetBusy(Instant now, bool busy);
  bool busy() const { return busy_; }
  std::optional<Instant> NextDeadline() const;

  // From now on acks and nacks leave without waiting for a tick, and receipts
  // not at all (the stream stops and has no leases left).
  void Flush();
  bool empty() const;

 private:
  static constexpr std::array kOrder{Purpose::kAck, Purpose::kNack, Purpose::kReceipt};
  static size_t IndexOf(Purpose purpose);
  // When the pending ones of `index` leave. Requires: there are some, or a ticker.
  Instant DueAt(size_t index) const;
  std::vector<Target> TakeBatch(Instant now, size_t index);

  BatchTimer timer_;
  Duration tick_;
  size_t ids_max_;
  TickGrid grid_;
  bool busy_ = false;
  bool flushing_ = false;
  std::array<std::vector<Target>, kOrder.size()> pending_;
  std::array<Instant, kOrder.size()> served_;  // kTicker: ticks up to here are spent
  std::array<Instant, kOrder.size()> first_;   // others: when the batch's time began
  Instant free_since_;                         // kFromFree
  absl::flat_hash_set<std::string> nacked_ids_;
};

}  // namespace hopgap::client
