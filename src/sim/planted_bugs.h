#pragma once

#include <array>
#include <string_view>

#include "broker/planted.h"
#include "store/planted.h"

namespace hopgap::sim {

struct PlantedBug {
  broker::Planted bug;
  std::string_view name;
  store::Planted store = store::Planted::kNone;
  bool over_store = false;  // it can only be found there
};

using broker::Planted;
inline constexpr auto kOnDisk = store::Planted::kNone;
inline constexpr PlantedBug kPlantedBugs[] = {
    {Planted::kPublishAnsweredBeforeCommit, "PublishAnsweredBeforeCommit"},
    {Planted::kDeliveredBeforeCommit, "DeliveredBeforeCommit"},
    {Planted::kAckAnsweredBeforeCommit, "AckAnsweredBeforeCommit"},
    {Planted::kChangeAnsweredBeforeCommit, "ChangeAnsweredBeforeCommit"},
    {Planted::kGenerationNotAwaited, "GenerationNotAwaited"},
    {Planted::kBoundNotRaised, "BoundNotRaised"},
    {Planted::kCeilingNotRaised, "CeilingNotRaised"},
    {Planted::kHoldSkipped, "HoldSkipped"},
    {Planted::kHoldTooShort, "HoldTooShort"},
    {Planted::kAckForgottenOnReplay, "AckForgottenOnReplay"},
    {Planted::kGenerationForgottenOnReplay, "GenerationForgottenOnReplay"},
    {Planted::kMessageIdsStartAgain, "MessageIdsStartAgain"},
    {Planted::kCleanStopForgetsLeases, "CleanStopForgetsLeases"},
    {Planted::kCleanStopNeverVoid, "CleanStopNeverVoid"},
    {Planted::kLeaseTooShort, "LeaseTooShort"},
    {Planted::kExtensionIgnored, "ExtensionIgnored"},
    {Planted::kExpiredForgotten, "ExpiredForgotten"},
    {Planted::kNackKeepsLease, "NackKeepsLease"},
    {Planted::kStaleIdAccepted, "StaleIdAccepted"},
    {Planted::kExpiredIdAnsweredOk, "ExpiredIdAnsweredOk"},
    {Planted::kGenerationReused, "GenerationReused"},
    {Planted::kRepeatedAckRefused, "RepeatedAckRefused"},
    {Planted::kAckForgotten, "AckForgotten"},
    {Planted::kCreditLeakedOnAck, "CreditLeakedOnAck"},
    {Planted::kCreditLeakedOnExpiry, "CreditLeakedOnExpiry"},
    {Planted::kMessageCreditIgnored, "MessageCreditIgnored"},
    {Planted::kByteCreditIgnored, "ByteCreditIgnored"},
    {Planted::kResponseLimitIgnored, "ResponseLimitIgnored"},
    {Planted::kGateStaysShut, "GateStaysShut"},
    {Planted::kTwoWritesInFlight, "TwoWritesInFlight"},
    {Planted::kConfirmationLost, "ConfirmationLost"},
    {Planted::kPullNeverAnswered, "PullNeverAnswered"},
    {Planted::kHoldPlaceLeaked, "HoldPlaceLeaked"},
    {Planted::kOrderLostOnReturn, "OrderLostOnReturn"},
    {Planted::kAckedOutOfOrder, "AckedOutOfOrder"},
    {Planted::kFilterInverted, "FilterInverted"},
    {Planted::kRetryAtOnce, "RetryAtOnce"},
    {Planted::kHoldCountsAsAttempt, "HoldCountsAsAttempt"},
    {Planted::kAttemptNotCounted, "AttemptNotCounted"},
    {Planted::kDeadLetterLost, "DeadLetterLost"},
    {Planted::kSeekAnsweredBeforeCommit, "SeekAnsweredBeforeCommit"},
    {Planted::kSeekForgottenOnReplay, "SeekForgottenOnReplay"},
    {Planted::kSeekLeavesLeased, "SeekLeavesLeased"},
    {Planted::kSeekForgetsKept, "SeekForgetsKept"},
    {Planted::kSoughtGenerationForgotten, "SoughtGenerationForgotten"},
    {Planted::kSnapshotForgetsOne, "SnapshotForgetsOne"},
    {Planted::kSnapshotForgetsLater, "SnapshotForgetsLater"},
    {Planted::kUpdateForgottenOnReplay, "UpdateForgottenOnReplay"},
    {Planted::kUpdateLosesRetryPolicy, "UpdateLosesRetryPolicy"},
    {Planted::kSwitchWithoutBound, "SwitchWithoutBound"},
    {Planted::kKeptNotReleased, "KeptNotReleased"},
    {Planted::kDetachedStillServed, "DetachedStillServed"},
    {Planted::kCheckpointForgetsGenerations, "CheckpointForgetsGenerations", kOnDisk, true},
    {Planted::kCheckpointForgetsBound, "CheckpointForgetsBound", kOnDisk, true},
    {Planted::kCheckpointForgetsSnapshots, "CheckpointForgetsSnapshots", kOnDisk, true},
    {Planted::kNone, "WriteNotSynced", store::Planted::kWriteNotSynced, true},
    {Planted::kNone, "NameNotSynced", store::Planted::kNameNotSynced, true},
    {Planted::kNone, "TornTailAccepted", store::Planted::kTornTailAccepted, true},
    {Planted::kNone, "CheckpointBeforeRecord", store::Planted::kCheckpointBeforeRecord, true},
    {Planted::kNone, "BodiesDropped", store::Planted::kBodiesDropped, true},
};
// None is left out.
static_assert(std::size(kPlantedBugs) ==
              static_cast<size_t>(Planted::kEnd) - 1 + static_cast<size_t>(store::Planted::kEnd) - 1);

}  // namespace hopgap::sim
