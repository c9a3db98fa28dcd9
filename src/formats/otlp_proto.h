#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/span.h"

namespace hopgap::formats {

// OTLP in protobuf, as it stands on the wire (gRPC and HTTP alike):
// ExportTraceServiceRequest and its response. No protobuf type shows here.

// What one request may hold. Many servers take 4 MiB over gRPC and no more.
struct OtlpRequestLimits {
  size_t spans_max = 512;
  size_t bytes_max = 3'670'016;  // 3.5 MiB
};

struct OtlpRequest {
  std::string bytes;
  size_t spans = 0;
};

// The resource that spans are sent with.
struct OtlpResource {
  std::string service = {};           // service.name of spans that name none
  bool service_wins = false;          // it replaces the spans' own
  trace::Attributes attributes = {};  // further ones, of every service
};

// All spans, in their order, in as few requests as the limits allow; within one
// they are grouped by service and scope. None for no spans. A span that is
// larger than a request may be goes alone. Bytes that are no UTF-8 are replaced
// (U+FFFD): receivers refuse them.
std::vector<OtlpRequest> EncodeOtlpRequests(std::span<const trace::Span> spans, const OtlpResource& resource,
                                            const OtlpRequestLimits& limits);

// What came of reading a request.
struct OtlpTaken {
  uint64_t taken = 0;
  uint64_t rejected = 0;          // spans that are none: an id of a wrong length, a time beyond 2262
  std::string rejected_why = {};  // of the first one
};

// Appends the spans of a request. InvalidArgument if it is no such request; then
// `out` is as it was. Of the resource only service.name is kept; arrays, nested
// values and bytes become the JSON text that OtlpLineReader makes of them.
absl::StatusOr<OtlpTaken> DecodeOtlpRequest(std::string_view bytes, std::vector<trace::Span>& out);

// The response's one field. All zero: everything was taken.
struct OtlpPartialSuccess {
  int64_t rejected_spans = 0;
  std::string message;
  bool empty() const { return rejected_spans == 0 && message.empty(); }
};
std::string EncodeOtlpResponse(const OtlpPartialSuccess& partial);
std::string OtlpResponseJson(const OtlpPartialSuccess& partial);
// InvalidArgument if the bytes are no response. Empty bytes are one.
absl::StatusOr<OtlpPartialSuccess> DecodeOtlpResponse(std::string_view bytes);

}  // namespace hopgap::formats
