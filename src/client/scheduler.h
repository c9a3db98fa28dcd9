#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hopgap::client {

// Which callbacks may run: at most `slots` at once, first come, first served,
// and one at a time per ordering key, in order. Messages of a busy key queue
// up without holding a slot; whoever adds them goes on. An unkeyed message, or
// the first of its key, makes its adder wait for a slot (in Go; elsewhere it
// queues up, too).
class Scheduler {
 public:
  // `slots`: 0 means the default of flow control, a negative one 1e9.
  // `adders_wait`: for a slot; else their messages queue up for one.
  explicit Scheduler(int64_t slots, bool adders_wait = true);

  enum class Added : uint8_t {
    kRuns,    // it has a worker
    kQueued,  // behind others of its key, or for a slot; its adder goes on
    kWaits,   // no worker is free; its adder must wait
  };
  // `key` is empty for a message without order.
  Added Add(uint64_t delivery, std::string_view key);

  struct Started {
    uint64_t delivery = 0;
    bool adder_waited = false;  // the adder may go on now
  };
  // The callback of `delivery` returned. Appends what runs now.
  void Returned(std::string_view key, std::vector<Started>& started);

  // Takes out what does not run yet, in a fixed order (the subscriber stops).
  std::vector<uint64_t> TakeWaiting();

 private:
  int64_t slots_;
  bool adders_wait_;
  int64_t running_ = 0;
  std::deque<uint64_t> waiting_;  // at most one per stream; if adders go on, bounded by flow control's credits
  std::map<std::string, std::deque<uint64_t>, std::less<>> keys_;  // bounded by flow control's credits
};

}  // namespace hopgap::client
