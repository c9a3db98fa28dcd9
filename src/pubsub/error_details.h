#pragma once

#include <absl/status/status.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hopgap::pubsub {

// The failures of single ack ids that travel in an error's trailer, as
// google.rpc.Status{details: [ErrorInfo{reason EXACTLY_ONCE_ACKID_FAILURE,
// domain pubsub.googleapis.com, metadata: ack id -> code}]}.
using AckIdFailures = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::string_view kPermanentInvalidAckId = "PERMANENT_FAILURE_INVALID_ACK_ID";
inline constexpr std::string_view kTransientUnavailable = "TRANSIENT_FAILURE_SERVICE_UNAVAILABLE";
inline constexpr std::string_view kTransientUnordered = "TRANSIENT_FAILURE_UNORDERED_ACK_ID";
inline constexpr std::string_view kTransientPrefix = "TRANSIENT_";

// grpc-core's clients take 8 KiB of trailers by default; see design, EOS.
inline constexpr size_t kDetailsBytesMax = 7 * 1024;
// The official Go and Java clients take 16 and 4 MiB. Java's must have all
// failures in one answer: it takes an id that is not listed beside others for a
// success, whatever the code.
inline constexpr size_t kDetailsBytesMaxOfGoAndJava = size_t{2} << 20;

// How much of a failure's details a caller with this user-agent header takes.
size_t DetailsBytesMaxOf(std::string_view user_agent);

// The encoded google.rpc.Status for the trailer.
std::string EncodeAckFailures(const absl::Status& status, const AckIdFailures& failures);

// The metadata of the first ErrorInfo in an encoded google.rpc.Status; empty if
// there is none or the bytes are malformed.
std::map<std::string, std::string> DecodeErrorMetadata(std::string_view details);

}  // namespace hopgap::pubsub
