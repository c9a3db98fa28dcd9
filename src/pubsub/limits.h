#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/time.h"

// The service's limits for the calls that are served. The letter after each is
// where it is known from: D documentation, P the published contract's comments,
// R recorded answers of the production service, G its users' issue reports, M
// general knowledge that was not verified.
namespace hopgap::pubsub {

// Resource ids: [A-Za-z][A-Za-z0-9-_.~+%]{2,254}, not "goog..." (P).
inline constexpr size_t kIdBytesMin = 3;
inline constexpr size_t kIdBytesMax = 255;
inline constexpr std::string_view kReservedPrefix = "goog";  // of ids and of attribute keys (P, D)

// Publish.
inline constexpr size_t kPublishMessagesMin = 1;               // R
inline constexpr size_t kPublishMessagesMax = 1000;            // D, R
inline constexpr size_t kPublishRequestBytesMax = 10'000'000;  // R; of the encoded request, decimal
inline constexpr size_t kTransportBytesMax = 10'485'760;       // R; beyond it no field is looked at
inline constexpr size_t kAttributesMax = 100;                  // D; per message
inline constexpr size_t kAttributeKeyBytesMin = 1;             // D
inline constexpr size_t kAttributeKeyBytesMax = 256;           // D
inline constexpr size_t kAttributeValueBytesMax = 1024;        // D
inline constexpr size_t kOrderingKeyBytesMax = 1024;           // P, D
// Keys the official clients set themselves (trace context, schemas), although
// they begin with the reserved prefix (D).
inline constexpr std::string_view kClientAttributePrefix = "googclient_";

// Pull: at least 1 asked for (R); a larger wish than the maximum is answered
// with the maximum, not refused (M).
inline constexpr int32_t kPullMessagesMin = 1;
inline constexpr int32_t kPullMessagesMax = 1000;

// Acknowledge and ModifyAckDeadline.
inline constexpr size_t kAckIdsMin = 1;                       // R
inline constexpr size_t kAckRequestBytesMax = 512 * 1024;     // G; of the encoded request
inline constexpr int32_t kModifyAckDeadlineSecondsMin = 0;    // R; 0 is a nack
inline constexpr int32_t kModifyAckDeadlineSecondsMax = 600;  // R

// StreamingPull's own deadline (P), and a subscription's, where 0 stands for
// the default (R).
inline constexpr int32_t kAckDeadlineSecondsMin = 10;
inline constexpr int32_t kAckDeadlineSecondsMax = 600;
inline constexpr int32_t kAckDeadlineSecondsDefault = 10;             // D
inline constexpr int32_t kAckDeadlineSecondsDefaultExactlyOnce = 60;  // D

// Lists: 0 asks for the default page (R); its length is ours, as the service
// states none.
inline constexpr int32_t kPageSizeMin = 0;
inline constexpr int32_t kPageSizeMax = 1000;
inline constexpr int32_t kPageSizeDefault = 100;

// Labels of a topic or subscription. Keys begin with a letter that is not upper
// case and go on with such letters, digits, "_" and "-" (R); lengths count
// characters, not bytes.
inline constexpr size_t kLabelsMax = 64;                // M
inline constexpr size_t kLabelKeyCharactersMin = 1;     // R
inline constexpr size_t kLabelKeyCharactersMax = 63;    // R
inline constexpr size_t kLabelValueCharactersMax = 63;  // R

// How long messages are kept, by topic and by subscription (R).
inline constexpr std::chrono::seconds kRetentionMin{600};
inline constexpr std::chrono::seconds kRetentionMax = std::chrono::hours{24 * 31};
inline constexpr std::chrono::seconds kRetentionDefault = std::chrono::hours{24 * 7};  // P, R; of a subscription

// A subscription without activity (P, R).
inline constexpr std::chrono::seconds kExpirationMin = std::chrono::hours{24};
inline constexpr std::chrono::seconds kExpirationDefault = std::chrono::hours{24 * 31};

inline constexpr size_t kFilterBytesMax = 256;  // D

inline constexpr int32_t kDeliveryAttemptsMin = 5;      // P; of a dead-letter policy, where 0 asks for the default
inline constexpr int32_t kDeliveryAttemptsMax = 100;    // P
inline constexpr int32_t kDeliveryAttemptsDefault = 5;  // P

inline constexpr std::chrono::seconds kBackoffMin{0};    // P; of a retry policy, both bounds
inline constexpr std::chrono::seconds kBackoffMax{600};  // P

// A snapshot lives for so long after the oldest message that it keeps was
// published, and is refused if less than the minimum would remain (P).
inline constexpr std::chrono::seconds kSnapshotLifetime = std::chrono::hours{24 * 7};
inline constexpr std::chrono::seconds kSnapshotLifetimeMin = std::chrono::hours{1};

}  // namespace hopgap::pubsub
