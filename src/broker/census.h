#pragma once

#include <cstdint>

namespace hopgap::broker {

// What is in the broker now. With nothing published that is not acked, and
// nothing asked that is not answered, all but the streams' pulls is 0.
struct Census {
  uint64_t unacked = 0, leases = 0;
  uint64_t retained_messages = 0, retained_bytes = 0;
  uint64_t outstanding_messages = 0, outstanding_bytes = 0;  // on open streams
  uint64_t waiting_pulls = 0, open_calls = 0;
  uint64_t holds = 0, held = 0;  // of added delays
  uint64_t awaited_groups = 0;   // not durable yet
};

}  // namespace hopgap::broker
