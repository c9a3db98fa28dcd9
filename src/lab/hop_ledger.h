#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"

namespace hopgap::lab {

// What one worker process wrote down of a message, when it happened; it shares
// nothing with events and spans. The lines of all processes that ever worked a
// hop, killed ones included, are its book.
struct HopLine {
  enum class What : uint8_t {
    kEntered,    // a handler began
    kReturned,   // it ended; the ack or nack is called next
    kAcked,      // the ack has its result
    kGivenBack,  // the nack has
  };
  WallTime at{};
  What what = What::kEntered;
  int hop = 0;
  uint64_t slot = 0;
  std::string message_id;
  uint64_t delivery = 0;  // trace::DeliveryKey of its ack id
  bool ok = true;         // kAcked, kGivenBack: the result
  friend bool operator==(const HopLine&, const HopLine&) = default;
};

// What the books of a run of processes say about exactly-once.
struct HopFindings {
  uint64_t acked_twice = 0;          // message ids of one subscription with two successful acks
  uint64_t delivered_after_ack = 0;  // handler entries of a message id after its successful ack
  uint64_t redelivered = 0;          // further entries of a message id before that
  uint64_t given_back = 0;           // nacks that have their result
  uint64_t reprocessed = 0;          // further message ids of a slot at a hop: a retried worker published again
  // Of those, copies that no redelivery one hop earlier explains.
  uint64_t unexplained = 0;
  uint64_t missing = 0;               // slots below `slots` that no handler of the last hop has finished
  std::vector<std::string> examples;  // of what breaks the rules, at most ten, for people

  bool Broken() const { return acked_twice > 0 || delivered_after_ack > 0 || unexplained > 0; }
};

// `lines` of one arm, any order.
HopFindings CheckHops(std::span<const HopLine> lines, int hops, uint64_t slots);

}  // namespace hopgap::lab
