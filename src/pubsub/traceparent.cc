#include <cstdint>
#include <string>
#include <string_view>

#include "pubsub/message.h"

// W3C trace context, "00-<trace id>-<span id>-<flags>".
namespace hopgap::pubsub {
namespace {

constexpr size_t kVersionAt = 0, kTraceHiAt = 3, kTraceLoAt = 19, kSpanAt = 36, kFlagsAt = 53, kLength = 55;

void AppendHex(std::string& out, uint64_t value) {
  for (int shift = 60; shift >= 0; shift -= 4) out.push_back("0123456789abcdef"[(value >> shift) & 15]);
}

// Lower case only: the standard says so, and the official readers insist.
bool ReadHex(std::string_view text, size_t at, size_t digits, uint64_t& value) {
  value = 0;
  for (const char c : text.substr(at, digits)) {
    if (c >= '0' && c <= '9') {
      value = value << 4 | static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value << 4 | static_cast<uint64_t>(c - 'a' + 10);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string FormatTraceparent(const TraceContext& context) {
  std::string out = "00-";
  out.reserve(kLength);
  AppendHex(out, context.trace_hi);
  AppendHex(out, context.trace_lo);
  out.push_back('-');
  AppendHex(out, context.span);
  out.append("-01");
  return out;
}

TraceContext ParseTraceparent(std::string_view text) {
  if (text.size() < kLength) return {};
  for (const size_t dash : {kTraceHiAt - 1, kSpanAt - 1, kFlagsAt - 1}) {
    if (text[dash] != '-') return {};
  }
  uint64_t version = 0, flags = 0;
  TraceContext context;
  if (!ReadHex(text, kVersionAt, 2, version) || !ReadHex(text, kTraceHiAt, 16, context.trace_hi) ||
      !ReadHex(text, kTraceLoAt, 16, context.trace_lo) || !ReadHex(text, kSpanAt, 16, context.span) ||
      !ReadHex(text, kFlagsAt, 2, flags)) {
    return {};
  }
  if (version == 0xff) return {};
  if (text.size() > kLength && (version == 0 || text[kLength] != '-')) return {};
  return context.valid() ? context : TraceContext{};
}

}  // namespace hopgap::pubsub
