#pragma once

#include <absl/status/status.h>

#include <chrono>
#include <map>
#include <string>

#include "client/backoff.h"
#include "client/model.h"

// Which failures the libraries try again, and how fast. The tables of
// reference/client-behaviour.md §1.1, §1.4, §1.7, §2 and §5.1 as functions.
namespace hopgap::client {

// What the answer of an Acknowledge or ModifyAckDeadline means for one of its
// ids under exactly-once. `metadata` maps ack ids to failures; an id it does
// not name follows the code of the call, or `unlisted`.
enum class Verdict : uint8_t { kSuccess, kRetry, kFailed, kInvalidId };
Verdict Judge(const absl::Status& status, const std::map<std::string, std::string>& metadata, const std::string& ack_id,
              UnlistedIds unlisted = UnlistedIds::kFollowTheCode);

// Acknowledge and ModifyAckDeadline are sent again inside the call, unseen by
// the layers above, within the call's timeout.
bool ResendsUnary(const absl::Status& status);
inline constexpr BackoffShape kUnaryResend{std::chrono::milliseconds{100}, 13, std::chrono::seconds{60}};

// Whether a stream whose read failed is opened again; if not, the subscriber
// has failed for good. A clean end (OK) is opened again.
bool ReopensStream(const absl::Status& status, const Model& model);
// No pause before the reopening if the failed read had been posted for so long.
inline constexpr Duration kReadBlockedLong = std::chrono::seconds{30};

bool RetriesPublish(const absl::Status& status);
inline constexpr BackoffShape kPublishRetry{std::chrono::milliseconds{100}, 40, std::chrono::seconds{60}};

}  // namespace hopgap::client
