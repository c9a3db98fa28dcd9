#include "formats/span_builder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "formats/cloud_trace.h"

namespace hopgap::formats {
namespace {

std::optional<uint64_t> HexDigits(std::string_view text) {
  uint64_t word = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), word, 16);
  if (text.empty() || text[0] == '-' || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return word;
}

int Base64Digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

// Exactly `bytes` bytes of base64, most significant first, in words of 8.
bool DecodeBase64(std::string_view text, size_t bytes, std::array<uint64_t, 2>& words) {
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() != (bytes * 8 + 5) / 6) return false;
  words = {};
  size_t have = 0;
  unsigned buffer = 0, bits = 0;
  for (const char c : text) {
    const int digit = Base64Digit(c);
    if (digit < 0) return false;
    buffer = (buffer << 6 | static_cast<unsigned>(digit)) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    if (have < bytes) words[have / 8] = words[have / 8] << 8 | (buffer >> bits & 0xff);
    ++have;
  }
  return have >= bytes;
}

bool IsZero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

std::string Upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

// "+01:00" or "-0530" in minutes.
std::optional<int> OffsetMinutes(std::string_view text) {
  std::string digits;
  for (const char c : text.substr(1)) {
    if (c != ':') digits += c;
  }
  if (digits.size() == 2) digits += "00";
  const std::optional<int> number = digits.size() == 4 ? ParseNumber<int>(digits) : std::nullopt;
  if (!number || *number < 0) return std::nullopt;
  const int minutes = *number / 100 * 60 + *number % 100;
  return text[0] == '-' ? -minutes : minutes;
}

std::optional<WallTime> EpochSeconds(std::string_view text) {
  const size_t dot = text.find('.');
  const std::optional<int64_t> seconds = ParseNumber<int64_t>(text.substr(0, dot));
  constexpr int64_t kSecondsMax = 9'223'372'035;  // the year 2262
  if (!seconds || *seconds < 0 || *seconds > kSecondsMax) return std::nullopt;
  std::string digits(dot == std::string_view::npos ? "0" : text.substr(dot + 1));
  if (digits.empty()) return std::nullopt;
  digits.resize(9, '0');
  const std::optional<uint32_t> fraction = ParseNumber<uint32_t>(digits);
  if (!fraction) return std::nullopt;
  return WallTime{std::chrono::seconds{*seconds} + Duration{*fraction}};
}

}  // namespace

bool ParseTraceId(std::string_view text, uint64_t& hi, uint64_t& lo) {
  constexpr size_t kHalf = 16;
  if (std::array<uint64_t, 2> words{}; text.size() == 24 && text.ends_with("==") && DecodeBase64(text, 16, words)) {
    hi = words[0];
    lo = words[1];
    return true;
  }
  if (text.empty() || text.size() > 2 * kHalf) return false;
  const size_t high = text.size() > kHalf ? text.size() - kHalf : 0;
  const std::optional<uint64_t> first = high == 0 ? 0 : HexDigits(text.substr(0, high)),
                                second = HexDigits(text.substr(high));
  if (!first || !second) return false;
  hi = *first;
  lo = *second;
  return true;
}

std::optional<uint64_t> ParseSpanId(std::string_view text) {
  if (std::array<uint64_t, 2> words{}; text.size() == 12 && text.ends_with('=') && DecodeBase64(text, 8, words)) {
    return words[0];
  }
  return text.size() > 16 ? std::nullopt : HexDigits(text);
}

std::optional<WallTime> ParseInstant(std::string_view text) {
  constexpr size_t kDate = 10;
  if (text.size() <= kDate || text[4] != '-') return EpochSeconds(text);
  std::string form(text);
  if (form[kDate] == ' ') form[kDate] = 'T';
  Duration offset{0};
  if (form.ends_with(" UTC")) {
    form.resize(form.size() - 4);
  } else if (const size_t sign = form.find_first_of("+-", kDate); sign != std::string::npos) {
    const std::optional<int> minutes = OffsetMinutes(std::string_view(form).substr(sign));
    if (!minutes) return std::nullopt;
    offset = std::chrono::minutes{*minutes};
    form.resize(sign);
  }
  if (!form.ends_with('Z')) form += 'Z';
  const std::optional<WallTime> local = ParseRfc3339(form);
  return local ? std::optional(*local - offset) : std::nullopt;
}

trace::SpanKind ParseKind(std::string_view text) {
  constexpr std::array<std::string_view, 6> kKinds = {"UNSPECIFIED", "INTERNAL", "SERVER",
                                                      "CLIENT",      "PRODUCER", "CONSUMER"};
  const std::string upper = Upper(text);
  for (size_t i = 1; i < kKinds.size(); ++i) {
    if (upper == kKinds[i] || (upper.starts_with("SPAN_KIND_") && upper.substr(10) == kKinds[i]) ||
        (upper.starts_with("RPC_") && upper.substr(4) == kKinds[i])) {
      return static_cast<trace::SpanKind>(i);
    }
  }
  return trace::SpanKind::kUnspecified;
}

int ParseStatus(std::string_view text) {
  const std::string upper = Upper(text);
  return upper.ends_with("ERROR") ? 2 : upper == "OK" || upper.ends_with("_OK") ? 1 : 0;
}

void SpanBuilder::Wrong(std::string_view field, std::string_view why) {
  if (fault_.empty()) fault_ = StrCat(field, ": ", why);
}

void SpanBuilder::TraceId(std::string_view field, std::string_view text) {
  if (!ParseTraceId(text, span_.trace_hi, span_.trace_lo)) {
    Wrong(field, StrCat("'", text.substr(0, 40), "' is neither hexadecimal nor base64 of 16 bytes"));
  } else if ((span_.trace_hi | span_.trace_lo) == 0) {
    Wrong(field, "all zero");
  }
}

void SpanBuilder::SpanId(std::string_view field, std::string_view text) {
  const std::optional<uint64_t> id = ParseSpanId(text);
  if (!id) return Wrong(field, StrCat("'", text.substr(0, 40), "' is neither hexadecimal nor base64 of 8 bytes"));
  if (*id == 0) return Wrong(field, "all zero");
  span_.span = *id;
}

void SpanBuilder::Parent(std::string_view field, std::string_view text) {
  if (IsZero(text)) return;
  const std::optional<uint64_t> id = ParseSpanId(text);
  if (!id) return Wrong(field, StrCat("'", text.substr(0, 40), "' is neither hexadecimal nor base64 of 8 bytes"));
  span_.parent = *id;
}

void SpanBuilder::Start(std::string_view field, std::optional<WallTime> at) {
  start_ = true;
  if (!at) return Wrong(field, "no time");
  span_.start = *at;
}

void SpanBuilder::End(std::string_view field, std::optional<WallTime> at) {
  end_ = true;
  if (!at) return Wrong(field, "no time");
  span_.end = *at;
}

void ApplyResource(std::string_view key, std::string_view value, trace::Span& span) {
  if (key == "service.name") span.service = value;
  if (key == "telemetry.sdk.language") span.language = value;
  if (key == "host.name") span.host = value;
  if ((key == "k8s.pod.name" || key == "service.instance.id") && span.host.empty()) span.host = value;
}

void SpanBuilder::ResourceAttribute(std::string_view key, std::string_view value) { ApplyResource(key, value, span_); }

void SpanBuilder::KnownAttribute(std::string_view key, std::string_view value) {
  ApplyResource(key, value, span_);
  if (key == "otel.scope.name" || (key == "otel.library.name" && span_.scope.empty())) span_.scope = value;
  if (key == "otel.scope.version" || (key == "otel.library.version" && span_.scope_version.empty())) {
    span_.scope_version = value;
  }
  if (key == "span.kind") span_.kind = ParseKind(value);
  if (key == "otel.status_code") span_.status = ParseStatus(value);
  if (key == "error" && value != "false") span_.status = 2;
}

void SpanBuilder::Attribute(std::string_view key, trace::AttributeValue value) {
  if (const std::string* text = std::get_if<std::string>(&value)) KnownAttribute(key, *text);
  if (const bool* flag = std::get_if<bool>(&value); flag != nullptr && *flag && key == "error") span_.status = 2;
  span_.attributes.emplace_back(std::string(key), std::move(value));
}

std::string SpanBuilder::Finish() {
  if ((span_.trace_hi | span_.trace_lo) == 0) Wrong("trace id", "missing");
  if (span_.span == 0) Wrong("span id", "missing");
  if (!start_) Wrong("start", "missing");
  if (!end_) span_.end = WallTime{};  // unended: named later, not refused
  return std::move(fault_);
}

}  // namespace hopgap::formats
