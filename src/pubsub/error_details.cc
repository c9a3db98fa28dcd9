#include "pubsub/error_details.h"

#include <cstdint>

#include "base/text.h"
#include "pubsub/codec.h"

namespace hopgap::pubsub {
namespace {

// google.rpc.Status, google.protobuf.Any, google.rpc.ErrorInfo.
constexpr uint32_t kCode = 1, kMessage = 2, kDetails = 3;
constexpr uint32_t kTypeUrl = 1, kAnyValue = 2;
constexpr uint32_t kReason = 1, kDomain = 2, kMetadata = 3;

constexpr std::string_view kErrorInfoUrl = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr std::string_view kErrorInfoName = "google.rpc.ErrorInfo";
constexpr std::string_view kAckIdFailure = "EXACTLY_ONCE_ACKID_FAILURE";
constexpr std::string_view kPubsubDomain = "pubsub.googleapis.com";

using codec::AsBytes;
using codec::TagOf;
using Metadata = std::map<std::string, std::string>;

std::string EncodeErrorInfo(const AckIdFailures& failures) {
  std::string out;
  codec::WriteText(out, kReason, kAckIdFailure);
  codec::WriteText(out, kDomain, kPubsubDomain);
  codec::WriteMap(out, kMetadata, Metadata(failures.begin(), failures.end()));
  return out;
}

// The value of an Any if it holds an ErrorInfo; empty otherwise. What stands
// before the last slash of a type url does not belong to the type's name.
bool FindErrorInfo(std::string_view any, std::string_view& value) {
  std::string_view url;
  WireReader reader(any);
  while (reader.Next()) {
    if (TagOf(reader.field()) == AsBytes(kTypeUrl)) url = reader.field().bytes;
    if (TagOf(reader.field()) == AsBytes(kAnyValue)) value = reader.field().bytes;
  }
  return reader.ok() && url.substr(url.rfind('/') + 1) == kErrorInfoName;
}

}  // namespace

std::string EncodeAckFailures(const absl::Status& status, const AckIdFailures& failures) {
  std::string any;
  codec::WriteText(any, kTypeUrl, kErrorInfoUrl);
  codec::WriteText(any, kAnyValue, EncodeErrorInfo(failures));
  std::string out;
  codec::WriteSigned(out, kCode, static_cast<int64_t>(status.code()));
  codec::WriteText(out, kMessage, MessageOf(status));
  codec::WriteText(out, kDetails, any);
  return out;
}

size_t DetailsBytesMaxOf(std::string_view user_agent) {
  const auto speaks = [user_agent](std::string_view name) { return user_agent.find(name) != std::string_view::npos; };
  return speaks("grpc-go/") || speaks("grpc-java-") ? kDetailsBytesMaxOfGoAndJava : kDetailsBytesMax;
}

Metadata DecodeErrorMetadata(std::string_view details) {
  constexpr std::string_view kType = "google.rpc.Status";
  Metadata metadata;
  bool found = false;
  absl::Status status = codec::ForEachField(kType, details, [&](const WireField& field) {
    std::string_view info;
    if (found || TagOf(field) != AsBytes(kDetails) || !FindErrorInfo(field.bytes, info)) return absl::OkStatus();
    found = true;
    return codec::ForEachField(kType, info, [&](const WireField& part) {
      return TagOf(part) == AsBytes(kMetadata) ? codec::ReadMapEntry(kType, part, metadata) : absl::OkStatus();
    });
  });
  return status.ok() ? metadata : Metadata{};
}

}  // namespace hopgap::pubsub
