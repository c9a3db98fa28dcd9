#include "formats/cloud_trace.h"

#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "base/text.h"
#include "trace/vocabulary.h"

namespace hopgap::formats {
namespace {

using Json = nlohmann::ordered_json;  // one kind in the whole room
namespace words = trace::words;

constexpr size_t kTraceIdDigits = 32;
constexpr int kYearMin = 1678, kYearMax = 2261;  // the whole ones that nanoseconds from 1970 can hold

std::string TextOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Decimal text, as 64-bit numbers are in Google's JSON; also a bare number.
std::optional<uint64_t> NumberOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::nullopt;
  if (found->is_number_unsigned()) return found->get<uint64_t>();
  return found->is_string() ? ParseNumber<uint64_t>(found->get<std::string>()) : std::nullopt;
}

std::optional<uint64_t> Hex(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

trace::SpanKind KindOf(const std::string& text) {
  if (text == "RPC_SERVER") return trace::SpanKind::kServer;
  if (text == "RPC_CLIENT") return trace::SpanKind::kClient;
  return trace::SpanKind::kUnspecified;
}

std::optional<trace::Span> ReadSpan(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  trace::Span span;
  const std::optional<uint64_t> id = NumberOf(json, "spanId");
  const std::optional<WallTime> start = ParseRfc3339(TextOf(json, "startTime"));
  const std::optional<WallTime> end = ParseRfc3339(TextOf(json, "endTime"));
  if (!id || *id == 0 || !start || !end) return std::nullopt;
  span.span = *id;
  span.parent = NumberOf(json, "parentSpanId").value_or(0);
  span.name = TextOf(json, "name");
  span.kind = KindOf(TextOf(json, "kind"));
  span.start = *start;
  span.end = *end;
  const auto labels = json.find("labels");
  if (labels == json.end() || !labels->is_object()) return span;
  for (const auto& [key, value] : labels->items()) {
    if (!value.is_string()) continue;
    const std::string text = value.get<std::string>();
    if (key == "service.name") span.service = text;
    if (key == "otel.scope.name") span.scope = text;
    span.attributes.emplace_back(key, text);
  }
  return span;
}

void Infer(trace::Span& span, std::string_view event, WallTime at) {
  if (span.FindEvent(event) == nullptr) {
    span.events.push_back({at, std::string(event), {{"hopgap.inferred", true}}});
  }
}

// The events that the format lost and that the times of spans still say.
void InferEvents(std::span<trace::Span> spans) {
  std::map<uint64_t, WallTime> batched;  // where batching ended, by create span
  for (const trace::Span& span : spans) {
    if (span.name == words::kPublisherBatching) batched[span.parent] = span.end;
  }
  for (trace::Span& span : spans) {
    if (span.name.ends_with(words::kCreate)) {
      const auto start = batched.find(span.span);
      if (start != batched.end()) Infer(span, words::kPublishStart, start->second);
      Infer(span, words::kPublishEnd, span.end);
    } else if (span.name.ends_with(words::kSubscribe)) {
      const std::string_view result = span.Text(words::kResult);
      if (result.substr(0, 3) == "ack") Infer(span, words::kAckEnd, span.end);
      if (result.substr(0, 4) == "nack") Infer(span, words::kNackEnd, span.end);
    }
  }
}

absl::Status ReadTrace(const Json& json, CloudTracePage& page) {
  const std::string id = json.is_object() ? TextOf(json, "traceId") : "";
  const std::optional<uint64_t> hi = Hex(std::string_view(id).substr(0, kTraceIdDigits / 2));
  const std::optional<uint64_t> lo =
      id.size() == kTraceIdDigits ? Hex(std::string_view(id).substr(kTraceIdDigits / 2)) : std::nullopt;
  if (!hi || !lo) return absl::InvalidArgumentError(StrCat("traces: traceId '", id, "' is not 32 hex digits"));
  ++page.traces;
  const auto spans = json.find("spans");
  if (spans == json.end() || !spans->is_array()) return absl::OkStatus();
  const size_t first = page.spans.size();
  for (const Json& one : *spans) {
    std::optional<trace::Span> span = ReadSpan(one);
    if (!span) {
      ++page.bad_spans;
      continue;
    }
    span->trace_hi = *hi;
    span->trace_lo = *lo;
    page.spans.push_back(*std::move(span));
  }
  InferEvents(std::span(page.spans).subspan(first));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CloudTracePage> ReadCloudTracePage(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return absl::InvalidArgumentError("the answer is no JSON object");
  CloudTracePage page;
  page.next_page_token = TextOf(json, "nextPageToken");
  const auto traces = json.find("traces");
  if (traces == json.end()) return page;  // none in this window
  if (!traces->is_array()) return absl::InvalidArgumentError("traces: no list");
  for (const Json& one : *traces) {
    if (absl::Status status = ReadTrace(one, page); !status.ok()) return status;
  }
  return page;
}

std::string GoogleErrorText(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  const auto error = json.find("error");
  return error != json.end() && error->is_object() ? TextOf(*error, "message") : std::string();
}

std::optional<WallTime> ParseRfc3339(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
  if (text.size() < kForm.size() + 1 || text.back() != 'Z') return std::nullopt;
  for (size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == 'd' ? !digit : text[i] != kForm[i]) return std::nullopt;
  }
  const auto part = [text](size_t at, size_t count) { return *ParseNumber<int>(text.substr(at, count)); };
  const std::chrono::year_month_day date{std::chrono::year{part(0, 4)},
                                         std::chrono::month{static_cast<unsigned>(part(5, 2))},
                                         std::chrono::day{static_cast<unsigned>(part(8, 2))}};
  if (!date.ok() || part(0, 4) < kYearMin || part(0, 4) > kYearMax || part(11, 2) > 23 || part(14, 2) > 59 ||
      part(17, 2) > 60)
    return std::nullopt;
  int64_t fraction_ns = 0;
  std::string_view rest = text.substr(kForm.size(), text.size() - kForm.size() - 1);
  if (!rest.empty()) {
    std::string digits(rest.substr(1));
    if (rest[0] != '.' || digits.empty() || digits.size() > 9) return std::nullopt;
    digits.resize(9, '0');
    const std::optional<uint32_t> number = ParseNumber<uint32_t>(digits);
    if (!number) return std::nullopt;
    fraction_ns = *number;
  }
  const auto days = std::chrono::sys_days(date).time_since_epoch();
  return WallTime{Duration{days} + std::chrono::hours{part(11, 2)} + std::chrono::minutes{part(14, 2)} +
                  std::chrono::seconds{part(17, 2)} + Duration{fraction_ns}};
}

std::string FormatRfc3339(WallTime time) {
  const auto days = std::chrono::floor<std::chrono::days>(time.time_since_epoch());
  const std::chrono::year_month_day date{std::chrono::sys_days{days}};
  const std::chrono::hh_mm_ss clock{time.time_since_epoch() - days};
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%09dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text;
}

std::string WriteCloudTraceProgress(const CloudTraceProgress& progress) {
  return nlohmann::ordered_json{
      {"schema", "hopgap.cloudtrace/1"},      {"project", progress.project},      {"service", progress.service},
      {"from", FormatRfc3339(progress.from)}, {"to", FormatRfc3339(progress.to)}, {"page_token", progress.page_token},
      {"saved_bytes", progress.saved_bytes},  {"traces", progress.traces},        {"spans", progress.spans},
      {"bad_spans", progress.bad_spans}}
      .dump(2);
}

absl::StatusOr<CloudTraceProgress> ReadCloudTraceProgress(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || TextOf(json, "schema") != "hopgap.cloudtrace/1") {
    return absl::InvalidArgumentError("is no state of a listing that was broken off");
  }
  CloudTraceProgress progress;
  progress.project = TextOf(json, "project");
  progress.service = TextOf(json, "service");
  progress.page_token = TextOf(json, "page_token");
  const std::optional<WallTime> from = ParseRfc3339(TextOf(json, "from")), to = ParseRfc3339(TextOf(json, "to"));
  const std::optional<uint64_t> bytes = NumberOf(json, "saved_bytes");
  if (progress.project.empty() || !from || !to || !bytes) return absl::InvalidArgumentError("is not whole");
  progress.from = *from;
  progress.to = *to;
  progress.saved_bytes = *bytes;
  progress.traces = NumberOf(json, "traces").value_or(0);
  progress.spans = NumberOf(json, "spans").value_or(0);
  progress.bad_spans = NumberOf(json, "bad_spans").value_or(0);
  return progress;
}

}  // namespace hopgap::formats
