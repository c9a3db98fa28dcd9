#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace hopgap::trace {

// The stages of a path, defined in docs/stages.md. They add up exactly to
// scheduled -> handled; kAck lies beside the path and is never in that sum.
enum class Stage : uint8_t {
  kSendLateness,
  kClientPublish,
  kPublishRpc,
  kDeliveryGap,
  kDispatchGap,
  kWork,
  kAck,
};
inline constexpr int kStages = 7;
inline constexpr int kPathStages = 6;
std::string_view StageName(Stage stage);  // "delivery gap"
std::string_view StageKey(Stage stage);   // "delivery_gap", for JSON

// Lengths in integer nanoseconds, signed, never clamped.
struct StageTime {
  Duration length{0};
  Duration added{0};                                            // as drawn from a profile (0 without one)
  Duration waited{0};                                           // held back by rule or queue, less what is added
  Duration machine() const { return length - added - waited; }  // the rest, signed
  friend bool operator==(const StageTime&, const StageTime&) = default;
};

// Set lengths inside their stage; each group adds up to its stage. The lease
// parts exist on exactly-once streams only: a standard one waits for no lease.
// The ack wait is the handler's: it waited if it returned after its ack did.
struct DispatchParts {
  Duration lease_wait{0}, lease_batching{0}, flow_control{0}, scheduler{0}, other{0};
  friend bool operator==(const DispatchParts&, const DispatchParts&) = default;
};
struct WorkParts {
  Duration handler{0}, ack_wait{0}, store{0};  // store: asking and telling a store of handled messages
  friend bool operator==(const WorkParts&, const WorkParts&) = default;
};

// The second view: publish start -> received. Never added to the first.
struct ServerView {
  Duration accept{0}, commit{0}, queue{0}, stream_wait{0}, wire{0};
  friend bool operator==(const ServerView&, const ServerView&) = default;
};

// In HopTimes::missing: on an exactly-once stream no receipt modack was seen, so
// the dispatch gap's lease parts are not available.
inline constexpr uint8_t kNoLeaseParts = 1 << kStages;

// One hop of a path: from the publish call to the handler's last act.
struct HopTimes {
  std::array<StageTime, kStages> stages;
  DispatchParts dispatch;
  WorkParts work;
  Duration redelivery_wait{0};       // part of the delivery gap
  std::optional<ServerView> server;  // when the broker's spans are there
  bool exactly_once = false;         // as the stream said
  int attempts = 1;                  // receipts of this message at this subscription
  int messages_in_response = 1;
  int stream = 0;
  uint8_t missing = 0;  // bit s: stage s is not available, its time (if any) is in the stage after it
  bool Has(Stage stage) const { return (missing >> static_cast<int>(stage) & 1) == 0; }
  bool has_lease_parts() const { return (missing & kNoLeaseParts) == 0; }

  // Instants, for waterfalls and cross-checks; unset: not seen.
  WallTime publish_call{}, publish_start{}, publish_end{}, received{}, callback_start{}, work_end{};
  std::optional<WallTime> accepted, committed, written, read_posted;
  std::optional<WallTime> modack_start, modack_end, ack_called, ack_start, ack_end;
  friend bool operator==(const HopTimes&, const HopTimes&) = default;
};

}  // namespace hopgap::trace
