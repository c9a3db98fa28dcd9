#include "trace/span_writing.h"

#include <array>

#include "base/text.h"
#include "trace/vocabulary.h"

namespace hopgap::trace {

std::string ServiceOf(const Place& place) {
  if (place.side == Place::Side::kBroker) return std::string(words::kBrokerService);
  if (place.arm.empty()) return "hopgap";
  return place.hop == 0 ? place.arm : StrCat(place.arm, " hop ", place.hop);
}

void AddInstant(Attributes& attributes, std::string_view key, WallTime at) {
  Add(attributes, key, StrCat(ToNanos(at)));
}

void AddResource(Attributes& attributes, const Place& place, std::string_view destination) {
  AddText(attributes, words::kProjectId, place.project);
  AddText(attributes, words::kSystem, words::kSystemPubsub);
  AddText(attributes, words::kDestination, destination);
}

void SetStatus(Span& span, int64_t code) {
  static constexpr std::array<std::string_view, 17> kCodes = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  if (code == 0) return;
  span.status = 2;
  const auto index = static_cast<size_t>(code);
  span.status_message = code > 0 && index < kCodes.size() ? std::string(kCodes[index]) : StrCat("code ", code);
}

SpanLink LinkTo(const MessageKey& rpc, std::string_view operation) {
  SpanLink link{.trace_hi = rpc.trace_hi, .trace_lo = rpc.trace_lo, .span = rpc.create_span, .attributes = {}};
  AddText(link.attributes, words::kOperationName, operation);
  return link;
}

std::string HexKey(uint64_t key) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (size_t i = text.size(); i-- > 0; key >>= 4) text[i] = kDigits[key & 15];
  return text;
}

}  // namespace hopgap::trace
