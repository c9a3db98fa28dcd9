#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "trace/span.h"

namespace hopgap::formats {

// What all forms of spans share: ids, instants and kinds in every spelling that
// is met, and a span that remembers the first thing that was wrong with it.

// 1 to 32 (16) hexadecimal digits of either case, or base64 of 16 (8) bytes with
// its padding. False for anything else.
bool ParseTraceId(std::string_view text, uint64_t& hi, uint64_t& lo);
std::optional<uint64_t> ParseSpanId(std::string_view text);

// RFC 3339, also with a blank for T, with "UTC" or an offset, or without a zone
// (UTC then); or decimal seconds since 1970. 0 to 9 digits of a fraction.
std::optional<WallTime> ParseInstant(std::string_view text);

// "SPAN_KIND_CLIENT", "Client", "CLIENT", "RPC_CLIENT"; kUnspecified for others.
trace::SpanKind ParseKind(std::string_view text);
// "STATUS_CODE_ERROR", "Error", "ERROR": 2; ok: 1; else 0.
int ParseStatus(std::string_view text);

class SpanBuilder {
 public:
  trace::Span& span() { return span_; }

  void TraceId(std::string_view field, std::string_view text);
  void SpanId(std::string_view field, std::string_view text);
  // Every spelling of "no parent" is a root: "", "0", zeros.
  void Parent(std::string_view field, std::string_view text);
  void Start(std::string_view field, std::optional<WallTime> at);
  void End(std::string_view field, std::optional<WallTime> at);
  // Keeps the first fault.
  void Wrong(std::string_view field, std::string_view why);

  // Adds an attribute, and sets what attributes say of a span in forms that have
  // no field for it: service, scope, host, language, kind and status.
  void Attribute(std::string_view key, trace::AttributeValue value);
  // The same for a resource's, which becomes no attribute of the span.
  void ResourceAttribute(std::string_view key, std::string_view value);

  // Empty if the span is whole; else what is wrong with it.
  std::string Finish();

 private:
  void KnownAttribute(std::string_view key, std::string_view value);

  trace::Span span_;
  std::string fault_;
  bool start_ = false, end_ = false;
};

// Sets host, service and language of spans from resource attributes.
void ApplyResource(std::string_view key, std::string_view value, trace::Span& span);

}  // namespace hopgap::formats
