#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace hopgap::client {

// How a receipt modack leaves: the extension that says "this message arrived".
enum class ReceiptSending : uint8_t {
  kAtOnce,    // in calls of its own
  kWithTick,  // with the sender's batches
  kNever,
};
// What waits for the results of the receipt modacks.
enum class ReceiptWait : uint8_t {
  kNothing,   // the callback starts at once
  kResponse,  // the stream: it reads on once all ids of the response have a result
  kInOrder,   // a message: for its own and for those before it on its stream, which reads on
  kOwn,       // a message: for its own, and for those of its ordering key before it; the stream reads on
};
struct Receipts {
  ReceiptSending sending = ReceiptSending::kAtOnce;
  ReceiptWait wait = ReceiptWait::kNothing;
};
// Which messages never reach their callback under exactly-once.
enum class FailedReceipt : uint8_t {
  kDropped,           // those whose receipt failed for any reason
  kDroppedIfInvalid,  // those whose ack id is invalid
};
// When a batch of acks, nacks or receipts leaves.
enum class BatchTimer : uint8_t {
  kTicker,     // with a ticker that runs on
  kFirstItem,  // one tick after its first item (0: at once)
  kFromFree,   // one tick after its sender became free; what comes later than that leaves at once
};
enum class LeaseTimer : uint8_t {
  kBeforeDeadline,  // all leases of a stream, `lease_grace` before the deadline they were given last
  kRandom,          // all leases of a stream, at a random part of 0.9 deadlines
  kEachMessage,     // each lease, `lease_grace` before it ends
};
// Until when a message holds its flow-control credits.
enum class CreditsUntil : uint8_t { kReturned, kSettled };
// What an error that names other ids says about an id it does not name.
enum class UnlistedIds : uint8_t { kFollowTheCode, kSucceeded };

// The behaviours that decide latency, as data. The defaults are the Go library
// v2 (reference/client-behaviour.md §1 and §2); model.cc has the others.
struct Model {
  std::string name = "go";
  uint32_t streams = 1;  // the library's default; a run says its own

  // Receipts.
  Receipts exactly_once{ReceiptSending::kAtOnce, ReceiptWait::kResponse};
  Receipts standard{ReceiptSending::kWithTick, ReceiptWait::kNothing};
  FailedReceipt failed_receipt = FailedReceipt::kDropped;

  // The sender of acks, nacks and receipts that have time.
  BatchTimer batch_timer = BatchTimer::kTicker;
  Duration tick{std::chrono::milliseconds{100}};
  size_t batch_ids_max = 0;    // a batch of so many leaves early; 0: none does
  bool sender_waits = true;    // for the results of a batch before it sends the next
  bool shares_sender = false;  // the streams of a subscriber gather in one; requires: sender_waits is false
  size_t ids_per_call = 1000;  // v2.7.0; 2500 up to 2.6.1
  size_t ids_per_ack_call = 1000;

  // Leases.
  LeaseTimer lease_timer = LeaseTimer::kBeforeDeadline;
  Duration first_lease_tick{std::chrono::seconds{5}};
  Duration lease_grace{std::chrono::seconds{5}};  // a lease tick comes this long before the deadline
  Duration lease_min{std::chrono::seconds{10}};
  Duration lease_min_exactly_once{std::chrono::seconds{60}};
  Duration lease_max{std::chrono::seconds{600}};
  double lease_percentile = 0.99;
  Duration max_extension{std::chrono::minutes{60}};

  // Streams.
  Duration stream_ack_deadline{std::chrono::seconds{60}};
  bool announces_at_once = false;  // a new deadline goes out with the change; else with the next ping
  Duration ping{std::chrono::seconds{30}};
  bool pong_monitor = true;
  Duration monitor_tick{std::chrono::seconds{10}};
  Duration pong_timeout{std::chrono::seconds{15}};
  std::vector<absl::StatusCode> reopens_after{absl::StatusCode::kOk, absl::StatusCode::kDeadlineExceeded,
                                              absl::StatusCode::kInternal, absl::StatusCode::kAborted,
                                              absl::StatusCode::kUnavailable};
  bool shutdown_now_is_final = true;                 // UNAVAILABLE with "Server shutdownNow invoked"
  Duration reopen_initial{std::chrono::seconds{1}};  // x2, full jitter
  Duration reopen_max{std::chrono::seconds{30}};

  // Ack and modack calls.
  Duration call_timeout{std::chrono::seconds{60}};
  bool resends_exactly_once = true;                 // UNAVAILABLE inside the call; false: by the retries below alone
  bool retries_at_once = true;                      // the first retry; else it pauses, too
  Duration retry_initial{std::chrono::seconds{1}};  // exactly-once retries: x2, full jitter
  Duration retry_max{std::chrono::seconds{64}};
  Duration ack_retry_total{std::chrono::seconds{600}};
  int modack_retries = 4;
  UnlistedIds unlisted = UnlistedIds::kFollowTheCode;

  // Callbacks.
  int64_t max_outstanding_messages = 1000;
  int64_t max_outstanding_bytes = 1'000'000'000;
  CreditsUntil credits_until = CreditsUntil::kReturned;
  int64_t callback_slots = 0;  // callbacks at once; 0: as many as max_outstanding_messages, negative: any number
  bool slots_per_stream = false;
  bool loop_waits_for_slot = true;  // else messages queue up for one

  // Publisher.
  Duration publish_delay{std::chrono::milliseconds{10}};
  size_t publish_count = 100;
  size_t publish_bytes = 1'000'000;
  size_t publish_calls_max = 50;  // 25 x GOMAXPROCS at 2 cores
  Duration publish_timeout{std::chrono::seconds{60}};
};

// The models' names, in the order in which people should meet them.
const std::vector<std::string>& ModelNames();
// NotFound lists the names.
absl::StatusOr<Model> FindModel(std::string_view name);

// Test-only delays at the client's seams; each moves one stage.
struct Planted {
  Duration batching{0};      // a bundle leaves this much later
  Duration flow_control{0};  // acquiring takes this much longer
  Duration scheduler{0};     // a callback starts this much later
};

}  // namespace hopgap::client
