#include <google/protobuf/stubs/logging.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "opentelemetry/proto/collector/trace/v1/trace_service.pb.h"

#include "base/text.h"
#include "formats/json_text.h"
#include "formats/otlp_proto.h"
#include "formats/span_builder.h"

namespace hopgap::formats {
namespace {

namespace collector = opentelemetry::proto::collector::trace::v1;
namespace common = opentelemetry::proto::common::v1;
namespace wire = opentelemetry::proto::trace::v1;
using trace::Span;
using KeyValues = google::protobuf::RepeatedPtrField<common::KeyValue>;

// The library would write a line to standard error for each text that is no
// UTF-8, and whoever sends them decides how many.
template <typename Message>
bool Parse(std::string_view bytes, Message& message) {
  const google::protobuf::LogSilencer silent;
  return bytes.size() <= static_cast<size_t>(std::numeric_limits<int>::max()) &&
         message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

std::string Base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t have = std::min<size_t>(3, bytes.size() - at);
    unsigned word = 0;
    for (size_t i = 0; i < 3; ++i) word = word << 8 | (i < have ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (size_t i = 0; i < 4; ++i) out += i <= have ? kDigits[word >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

std::string DoubleText(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, end);
}

// As OTLP JSON has it: {"stringValue":"x"}. Depth is bounded by the parser.
void AppendJson(const common::AnyValue& value, std::string& out);

void AppendJson(const KeyValues& values, std::string& out) {
  out += "{\"values\":[";
  for (const common::KeyValue& one : values) {
    if (&one != &values[0]) out += ',';
    out += "{\"key\":";
    AppendJsonText(one.key(), out);
    out += ",\"value\":";
    AppendJson(one.value(), out);
    out += '}';
  }
  out += "]}";
}

void AppendJson(const common::ArrayValue& array, std::string& out) {
  out += "{\"values\":[";
  for (const common::AnyValue& one : array.values()) {
    if (&one != &array.values(0)) out += ',';
    AppendJson(one, out);
  }
  out += "]}";
}

void AppendJson(const common::AnyValue& value, std::string& out) {
  switch (value.value_case()) {
    case common::AnyValue::kStringValue:
      out += "{\"stringValue\":";
      AppendJsonText(value.string_value(), out);
      break;
    case common::AnyValue::kBoolValue:
      out += value.bool_value() ? "{\"boolValue\":true" : "{\"boolValue\":false";
      break;
    case common::AnyValue::kIntValue: out += StrCat("{\"intValue\":\"", value.int_value(), "\""); break;
    case common::AnyValue::kDoubleValue: out += StrCat("{\"doubleValue\":", DoubleText(value.double_value())); break;
    case common::AnyValue::kArrayValue:
      out += "{\"arrayValue\":";
      AppendJson(value.array_value(), out);
      break;
    case common::AnyValue::kKvlistValue:
      out += "{\"kvlistValue\":";
      AppendJson(value.kvlist_value().values(), out);
      break;
    case common::AnyValue::kBytesValue: out += StrCat("{\"bytesValue\":\"", Base64(value.bytes_value()), "\""); break;
    default: out += '{';
  }
  out += '}';
}

trace::AttributeValue FromWire(const common::AnyValue& value) {
  std::string text;
  switch (value.value_case()) {
    case common::AnyValue::kStringValue: return value.string_value();
    case common::AnyValue::kBoolValue: return value.bool_value();
    case common::AnyValue::kIntValue: return int64_t{value.int_value()};
    case common::AnyValue::kDoubleValue: return value.double_value();
    case common::AnyValue::kBytesValue: return Base64(value.bytes_value());
    case common::AnyValue::kArrayValue: AppendJson(value.array_value(), text); return text;
    case common::AnyValue::kKvlistValue: AppendJson(value.kvlist_value().values(), text); return text;
    default: return text;
  }
}

trace::Attributes FromWire(const KeyValues& values) {
  trace::Attributes attributes;
  attributes.reserve(static_cast<size_t>(values.size()));
  for (const common::KeyValue& one : values) attributes.emplace_back(one.key(), FromWire(one.value()));
  return attributes;
}

uint64_t Word(std::string_view bytes) {
  uint64_t word = 0;
  for (const char byte : bytes) word = word << 8 | static_cast<unsigned char>(byte);
  return word;
}

// These name the field that is wrong, or nothing.
using Fault = std::string;

Fault ReadTraceId(std::string_view field, std::string_view bytes, uint64_t& hi, uint64_t& lo) {
  if (bytes.size() != 16) return StrCat(field, ": ", bytes.size(), " bytes instead of 16");
  hi = Word(bytes.substr(0, 8));
  lo = Word(bytes.substr(8));
  return (hi | lo) == 0 ? StrCat(field, ": all zero") : Fault();
}

Fault ReadSpanId(std::string_view field, std::string_view bytes, uint64_t& id) {
  if (bytes.size() != 8) return StrCat(field, ": ", bytes.size(), " bytes instead of 8");
  id = Word(bytes);
  return Fault();
}

Fault ReadInstant(std::string_view field, uint64_t nanos, WallTime& at) {
  if (nanos > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return StrCat(field, ": ", nanos, " ns is beyond the year 2262");
  }
  at = WallTime{Duration{static_cast<int64_t>(nanos)}};
  return Fault();
}

Fault ReadIds(const wire::Span& from, Span& span) {
  if (Fault fault = ReadTraceId("trace_id", from.trace_id(), span.trace_hi, span.trace_lo); !fault.empty())
    return fault;
  if (Fault fault = ReadSpanId("span_id", from.span_id(), span.span); !fault.empty()) return fault;
  if (span.span == 0) return "span_id: all zero";
  return from.parent_span_id().empty() ? Fault() : ReadSpanId("parent_span_id", from.parent_span_id(), span.parent);
}

Fault ReadLists(const wire::Span& from, Span& span) {
  for (const wire::Span::Event& one : from.events()) {
    trace::SpanEvent& event = span.events.emplace_back();
    if (Fault fault = ReadInstant("events.time_unix_nano", one.time_unix_nano(), event.at); !fault.empty())
      return fault;
    event.name = one.name();
    event.attributes = FromWire(one.attributes());
  }
  for (const wire::Span::Link& one : from.links()) {
    trace::SpanLink& link = span.links.emplace_back();
    Fault fault = ReadTraceId("links.trace_id", one.trace_id(), link.trace_hi, link.trace_lo);
    if (fault.empty()) fault = ReadSpanId("links.span_id", one.span_id(), link.span);
    if (!fault.empty()) return fault;
    link.attributes = FromWire(one.attributes());
  }
  return Fault();
}

Fault ReadSpan(const wire::Span& from, Span& span) {
  if (Fault fault = ReadIds(from, span); !fault.empty()) return fault;
  if (from.kind() < 0 || from.kind() > 5) return StrCat("kind: ", int{from.kind()}, " is outside [0, 5]");
  if (from.status().code() < 0 || from.status().code() > 2) {
    return StrCat("status.code: ", int{from.status().code()}, " is outside [0, 2]");
  }
  Fault fault = ReadInstant("start_time_unix_nano", from.start_time_unix_nano(), span.start);
  if (fault.empty()) fault = ReadInstant("end_time_unix_nano", from.end_time_unix_nano(), span.end);
  if (!fault.empty()) return fault;
  span.name = from.name();
  span.kind = static_cast<trace::SpanKind>(from.kind());
  span.attributes = FromWire(from.attributes());
  span.status = from.status().code();
  span.status_message = from.status().message();
  return ReadLists(from, span);
}

Span ResourceOf(const wire::ResourceSpans& group) {
  Span resource;
  for (const common::KeyValue& one : group.resource().attributes()) {
    ApplyResource(one.key(), one.value().string_value(), resource);
  }
  return resource;
}

}  // namespace

absl::StatusOr<OtlpTaken> DecodeOtlpRequest(std::string_view bytes, std::vector<Span>& out) {
  collector::ExportTraceServiceRequest request;
  if (!Parse(bytes, request)) return absl::InvalidArgumentError("no ExportTraceServiceRequest in protobuf");
  OtlpTaken result;
  for (const wire::ResourceSpans& group : request.resource_spans()) {
    const Span resource = ResourceOf(group);
    for (const wire::ScopeSpans& scope : group.scope_spans()) {
      for (const wire::Span& one : scope.spans()) {
        Span span;
        if (Fault fault = ReadSpan(one, span); !fault.empty()) {
          if (++result.rejected == 1) result.rejected_why = std::move(fault);
          continue;
        }
        span.service = resource.service;
        span.host = resource.host;
        span.language = resource.language;
        span.scope = scope.scope().name();
        span.scope_version = scope.scope().version();
        out.push_back(std::move(span));
        ++result.taken;
      }
    }
  }
  return result;
}

absl::StatusOr<OtlpPartialSuccess> DecodeOtlpResponse(std::string_view bytes) {
  collector::ExportTraceServiceResponse response;
  if (!Parse(bytes, response)) return absl::InvalidArgumentError("no ExportTraceServiceResponse in protobuf");
  const auto& partial = response.partial_success();
  return OtlpPartialSuccess{std::max<int64_t>(0, partial.rejected_spans()), partial.error_message()};
}

}  // namespace hopgap::formats
