#include "formats/otlp_line_scan.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>

#include "base/text.h"
#include "formats/span_builder.h"

namespace hopgap::formats {
namespace {

constexpr std::array<int8_t, 256> kHexDigits = [] {
  std::array<int8_t, 256> digits{};
  digits.fill(-1);
  for (int i = 0; i < 10; ++i) digits[static_cast<size_t>('0' + i)] = static_cast<int8_t>(i);
  for (int i = 0; i < 6; ++i) {
    digits[static_cast<size_t>('a' + i)] = digits[static_cast<size_t>('A' + i)] = static_cast<int8_t>(10 + i);
  }
  return digits;
}();

bool ScanHex(std::string_view text, uint64_t& out) {
  int all = 0;  // negative once a digit is none
  uint64_t word = 0;
  for (const char c : text) {
    const int digit = kHexDigits[static_cast<unsigned char>(c)];
    all |= digit;
    word = word << 4 | static_cast<uint64_t>(digit & 15);
  }
  out = word;
  return all >= 0;
}
bool ScanSpanId(JsonCursor& json, uint64_t& out) {
  std::string_view text;
  return json.Text(text) && text.size() == 16 && ScanHex(text, out);
}
bool ScanTraceId(JsonCursor& json, uint64_t& hi, uint64_t& lo) {
  std::string_view text;
  return json.Text(text) && text.size() == 32 && ScanHex(text.substr(0, 16), hi) && ScanHex(text.substr(16), lo);
}
bool ScanParent(JsonCursor& json, uint64_t& out) {
  if (json.Next() == 'n') return json.Starts("null");
  std::string_view text;
  return json.Text(text) && (text.empty() || (text.size() == 16 && ScanHex(text, out)));
}

bool ScanInstant(JsonCursor& json, WallTime& out) {
  int64_t nanos = 0;
  if (!json.Integer(nanos) || nanos < 0) return false;
  out = WallTime{Duration{nanos}};
  return true;
}

bool ScanText(JsonCursor& json, std::string& out) {
  std::string_view text;
  if (!json.Text(text)) return false;
  out = text;
  return true;
}

// Passes over what nobody reads. A name with "_" or of the old kind may be another
// spelling of one that is read.
bool PassOver(std::string_view key, JsonCursor& json) {
  return key.find('_') == std::string_view::npos && key != "batches" && !key.starts_with("instrumentationLibrary") &&
         json.Skip();
}

bool ScanStatus(JsonCursor& json, trace::Span& span) {
  return json.Members([&](std::string_view key) {
    if (key == "message") return ScanText(json, span.status_message);
    if (key != "code") return PassOver(key, json);
    int64_t code = 0;
    if (!json.Integer(code) || code < 0 || code > 2) return false;
    span.status = static_cast<int>(code);
    return true;
  });
}

bool ScanDouble(JsonCursor& json, double& out) {
  std::string_view text;
  if (json.Next() == '"' || !json.Number(text)) return false;
  const std::optional<double> number = ParseNumber<double>(text);
  out = number.value_or(0);
  return number.has_value();
}

bool ScanAnyValue(JsonCursor& json, trace::AttributeValue& out) {
  return json.Members([&](std::string_view key) {
    if (key == "stringValue") return ScanText(json, out.emplace<std::string>());
    if (key == "intValue") return json.Integer(out.emplace<int64_t>());
    if (key == "boolValue") return json.Flag(out.emplace<bool>());
    return key == "doubleValue" && ScanDouble(json, out.emplace<double>());
  });
}

bool ScanAttribute(JsonCursor& json, std::string_view& name, trace::AttributeValue& out) {
  // As nearly all are written; else member by member.
  const char* const begin = json.at();
  std::string_view text;
  if (json.Starts(R"({"key":")") && json.RestOfText(name) && json.Starts(R"(,"value":{"stringValue":")") &&
      json.RestOfText(text) && json.Starts("}}")) {
    out.emplace<std::string>(text);
    return true;
  }
  json.BackTo(begin);
  return json.Members([&](std::string_view key) {
    if (key == "key") return json.Text(name);
    return key == "value" ? ScanAnyValue(json, out) : PassOver(key, json);
  });
}

bool SaysSomething(std::string_view resource_attribute) {
  constexpr std::string_view kNames[] = {"service.name", "host.name", "k8s.pod.name", "service.instance.id",
                                         "telemetry.sdk.language"};
  return std::find(std::begin(kNames), std::end(kNames), resource_attribute) != std::end(kNames);
}

// What says nothing of a span may be of any kind.
bool ScanResource(JsonCursor& json, trace::Span& resource) {
  return json.Members([&](std::string_view key) {
    if (key != "attributes") return PassOver(key, json);
    return json.Elements([&] {
      std::string_view name, text;
      bool is_text = false;
      const bool read = json.Members([&](std::string_view part) {
        if (part == "key") return json.Text(name);
        if (part != "value") return PassOver(part, json);
        return json.Members([&](std::string_view type) {
          is_text = type == "stringValue";
          return is_text ? json.Text(text) : PassOver(type, json);
        });
      });
      if (is_text) ApplyResource(name, text, resource);
      return read && (is_text || !SaysSomething(name));
    });
  });
}

}  // namespace

bool OtlpLineScanner::Read(std::string_view line, std::vector<trace::Span>& out) {
  if (!simdjson::validate_utf8(line.data(), line.size())) return false;
  const size_t before = out.size();
  JsonCursor json(line);
  bool found = false;
  const bool read = json.Members([&](std::string_view key) {
    if (key != "resourceSpans") return PassOver(key, json);
    found = true;
    return json.Elements([&] { return ReadResource(json, out); });
  });
  if (read && found && json.AtEnd()) return true;
  out.resize(before);
  return false;
}

// A resource or a scope may stand after the spans it belongs to.
bool OtlpLineScanner::ReadResource(JsonCursor& json, std::vector<trace::Span>& out) {
  trace::Span resource;
  const size_t first = out.size();
  const bool read = json.Members([&](std::string_view key) {
    if (key == "resource") return ScanResource(json, resource);
    if (key != "scopeSpans") return PassOver(key, json);
    return json.Elements([&] { return ReadScope(json, out); });
  });
  if (!read) return false;
  for (size_t i = first; i < out.size(); ++i) {
    out[i].service = resource.service;
    out[i].host = resource.host;
    out[i].language = resource.language;
  }
  return true;
}

bool OtlpLineScanner::ReadScope(JsonCursor& json, std::vector<trace::Span>& out) {
  std::string scope, version;
  const size_t first = out.size();
  const bool read = json.Members([&](std::string_view key) {
    if (key == "spans") {
      return json.Elements([&] {
        trace::Span& span = out.emplace_back();
        return json.Members([&](std::string_view field) { return ReadSpanField(field, json, span); }) &&
               (span.trace_hi | span.trace_lo) != 0 && span.span != 0;
      });
    }
    if (key != "scope") return PassOver(key, json);
    return json.Members([&](std::string_view part) {
      if (part == "name") return ScanText(json, scope);
      return part == "version" ? ScanText(json, version) : json.Skip();
    });
  });
  if (!read) return false;
  for (size_t i = first; i < out.size(); ++i) {
    out[i].scope = scope;
    out[i].scope_version = version;
  }
  return true;
}

bool OtlpLineScanner::ReadSpanField(std::string_view key, JsonCursor& json, trace::Span& span) {
  if (key == "traceId") return ScanTraceId(json, span.trace_hi, span.trace_lo);
  if (key == "spanId") return ScanSpanId(json, span.span);
  if (key == "parentSpanId") return ScanParent(json, span.parent);
  if (key == "name") return ScanText(json, span.name);
  if (key == "startTimeUnixNano") return ScanInstant(json, span.start);
  if (key == "endTimeUnixNano") return ScanInstant(json, span.end);
  if (key == "attributes") return ReadAttributes(json, span.attributes);
  if (key == "events") return ReadEvents(json, span.events);
  if (key == "links") return ReadLinks(json, span.links);
  if (key == "status") return ScanStatus(json, span);
  if (key != "kind") return PassOver(key, json);
  int64_t kind = 0;
  if (!json.Integer(kind) || kind < 0 || kind > 5) return false;
  span.kind = static_cast<trace::SpanKind>(kind);
  return true;
}

bool OtlpLineScanner::ReadAttributes(JsonCursor& json, trace::Attributes& out) {
  attributes_.clear();
  const bool read = json.Elements([&] {
    auto& [name, value] = attributes_.emplace_back();
    return ScanAttribute(json, name, value);
  });
  if (!read) return false;
  out.reserve(out.size() + attributes_.size());
  for (auto& [name, value] : attributes_) out.emplace_back(name, std::move(value));
  return true;
}

bool OtlpLineScanner::ReadEvents(JsonCursor& json, std::vector<trace::SpanEvent>& out) {
  events_.clear();
  const bool read = json.Elements([&] {
    trace::SpanEvent& event = events_.emplace_back();
    return json.Members([&](std::string_view key) {
      if (key == "timeUnixNano") return ScanInstant(json, event.at);
      if (key == "name") return ScanText(json, event.name);
      return key == "attributes" ? ReadAttributes(json, event.attributes) : PassOver(key, json);
    });
  });
  if (!read) return false;
  out.reserve(out.size() + events_.size());
  for (trace::SpanEvent& event : events_) out.push_back(std::move(event));
  return true;
}

bool OtlpLineScanner::ReadLinks(JsonCursor& json, std::vector<trace::SpanLink>& out) {
  return json.Elements([&] {
    trace::SpanLink& link = out.emplace_back();
    return json.Members([&](std::string_view key) {
      if (key == "traceId") return ScanTraceId(json, link.trace_hi, link.trace_lo);
      if (key == "spanId") return ScanSpanId(json, link.span);
      return key == "attributes" ? ReadAttributes(json, link.attributes) : PassOver(key, json);
    });
  });
}

}  // namespace hopgap::formats
