#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "trace/event.h"

namespace hopgap::client {

// When a message may be handed to its callback under exactly-once.
enum class ReceiptPolicy : uint8_t {
  kAwait,    // Go v2: the stream's loop waits for the receipt modack of the whole response
  kOverlap,  // ours: the callback starts at once, its receipt modack in flight; the ack's result decides
};

// The behaviours that decide latency, as data. The defaults are the Go library
// v2 (reference/client-behaviour.md §1 and §2).
struct Model {
  std::string name = "go";
  ReceiptPolicy receipt = ReceiptPolicy::kAwait;

  // Subscriber.
  Duration tick{std::chrono::milliseconds{100}};  // ack, nack and receipt-modack tickers
  Duration first_lease_tick{std::chrono::seconds{5}};
  Duration lease_grace{std::chrono::seconds{5}};  // a lease tick comes this long before the deadline
  Duration lease_min{std::chrono::seconds{10}};
  Duration lease_min_exactly_once{std::chrono::seconds{60}};
  Duration lease_max{std::chrono::seconds{600}};
  double lease_percentile = 0.99;
  Duration max_extension{std::chrono::minutes{60}};
  Duration stream_ack_deadline{std::chrono::seconds{60}};
  size_t ids_per_call = 1000;  // v2.7.0; 2500 up to 2.6.1
  Duration call_timeout{std::chrono::seconds{60}};
  Duration ping{std::chrono::seconds{30}};
  Duration monitor_tick{std::chrono::seconds{10}};
  Duration pong_timeout{std::chrono::seconds{15}};
  Duration retry_initial{std::chrono::seconds{1}};  // exactly-once retries: x2, full jitter
  Duration retry_max{std::chrono::seconds{64}};
  Duration ack_retry_total{std::chrono::seconds{600}};
  int modack_retries = 4;
  int64_t max_outstanding_messages = 1000;
  int64_t max_outstanding_bytes = 1'000'000'000;

  // Publisher.
  Duration publish_delay{std::chrono::milliseconds{10}};
  size_t publish_count = 100;
  size_t publish_bytes = 1'000'000;
  size_t publish_calls_max = 50;  // 25 x GOMAXPROCS at 2 cores
  Duration publish_timeout{std::chrono::seconds{60}};
};

// "go": as above; "overlap" differs in `receipt` alone. NotFound lists the names.
absl::StatusOr<Model> FindModel(std::string_view name);

// Test-only delays at the client's seams; each moves one stage.
struct Planted {
  Duration batching{0};      // a bundle leaves this much later
  Duration flow_control{0};  // acquiring takes this much longer
  Duration scheduler{0};     // a callback starts this much later
};

}  // namespace hopgap::client
