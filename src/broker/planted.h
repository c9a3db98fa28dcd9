#pragma once

#include <cstdint>

namespace hopgap::broker {

// Test-only bugs, one at a time, each at the place where the real one would be.
// The fault world has to find every one of them (tests/faults), so a promise
// that no checker watches any more is noticed.
enum class Planted : uint8_t {
  kNone,
  // Durability.
  kPublishAnsweredBeforeCommit,
  kDeliveredBeforeCommit,
  kAckAnsweredBeforeCommit,
  kChangeAnsweredBeforeCommit,
  kGenerationNotAwaited,
  kBoundNotRaised,
  kCeilingNotRaised,
  // Restart.
  kHoldSkipped,
  kHoldTooShort,
  kAckForgottenOnReplay,
  kGenerationForgottenOnReplay,
  kMessageIdsStartAgain,
  kCleanStopForgetsLeases,
  kCleanStopNeverVoid,
  // Leases and ids.
  kLeaseTooShort,
  kExtensionIgnored,
  kExpiredForgotten,
  kNackKeepsLease,
  kStaleIdAccepted,
  kExpiredIdAnsweredOk,
  kGenerationReused,
  kRepeatedAckRefused,
  kAckForgotten,
  // Streams and pulls.
  kCreditLeakedOnAck,
  kCreditLeakedOnExpiry,
  kMessageCreditIgnored,
  kByteCreditIgnored,
  kResponseLimitIgnored,
  kGateStaysShut,
  kTwoWritesInFlight,
  kConfirmationLost,
  kPullNeverAnswered,
  kHoldPlaceLeaked,
  // Delivery rules.
  kOrderLostOnReturn,
  kAckedOutOfOrder,
  kFilterInverted,
  kRetryAtOnce,
  kHoldCountsAsAttempt,
  kAttemptNotCounted,
  kDeadLetterLost,
  // Changes in the middle.
  kSeekAnsweredBeforeCommit,
  kSeekForgottenOnReplay,
  kSeekLeavesLeased,
  kSeekForgetsKept,
  kSoughtGenerationForgotten,
  kSnapshotForgetsOne,
  kSnapshotForgetsLater,
  kUpdateForgottenOnReplay,
  kUpdateLosesRetryPolicy,
  kSwitchWithoutBound,
  kKeptNotReleased,
  kDetachedStillServed,
  // Checkpoints: found only over a journal that makes them.
  kCheckpointForgetsGenerations,
  kCheckpointForgetsBound,
  kCheckpointForgetsSnapshots,
  kEnd,  // how many there are
};

}  // namespace hopgap::broker
