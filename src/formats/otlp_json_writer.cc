#include <charconv>
#include <cmath>
#include <utility>

#include "formats/json_text.h"
#include "formats/otlp_json.h"

namespace hopgap::formats {
namespace {

using trace::Attributes;
using trace::AttributeValue;
using trace::Span;

void AppendHex(uint64_t word, std::string& out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[(word >> shift) & 15];
}

template <typename Number>
void AppendNumber(Number number, std::string& out) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, number);
  out.append(buffer, end);
}

void AppendInstant(std::string_view key, WallTime at, std::string& out) {
  out += key;
  AppendNumber(ToNanos(at), out);
  out += '"';
}

void AppendDouble(double value, std::string& out) {
  if (std::isfinite(value)) return AppendNumber(value, out);
  out += std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
}

void AppendValue(const AttributeValue& value, std::string& out) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    out += "{\"stringValue\":";
    AppendJsonText(*text, out);
  } else if (const auto* number = std::get_if<int64_t>(&value)) {
    out += "{\"intValue\":\"";
    AppendNumber(*number, out);
    out += '"';
  } else if (const auto* flag = std::get_if<bool>(&value)) {
    out += *flag ? "{\"boolValue\":true" : "{\"boolValue\":false";
  } else {
    out += "{\"doubleValue\":";
    AppendDouble(std::get<double>(value), out);
  }
  out += '}';
}

// With the name before and the comma in front: `,"attributes":[...]`.
void AppendAttributes(const Attributes& attributes, std::string& out) {
  if (attributes.empty()) return;
  out += ",\"attributes\":[";
  for (const auto& [key, value] : attributes) {
    if (&key != &attributes.front().first) out += ',';
    out += "{\"key\":";
    AppendJsonText(key, out);
    out += ",\"value\":";
    AppendValue(value, out);
    out += '}';
  }
  out += ']';
}

void AppendIds(uint64_t hi, uint64_t lo, uint64_t span, std::string& out) {
  out += "{\"traceId\":\"";
  AppendHex(hi, out);
  AppendHex(lo, out);
  out += "\",\"spanId\":\"";
  AppendHex(span, out);
  out += '"';
}

void AppendEvents(const Span& span, std::string& out) {
  if (span.events.empty()) return;
  out += ",\"events\":[";
  for (const trace::SpanEvent& event : span.events) {
    if (&event != &span.events.front()) out += ',';
    AppendInstant("{\"timeUnixNano\":\"", event.at, out);
    out += ",\"name\":";
    AppendJsonText(event.name, out);
    AppendAttributes(event.attributes, out);
    out += '}';
  }
  out += ']';
}

void AppendLinks(const Span& span, std::string& out) {
  if (span.links.empty()) return;
  out += ",\"links\":[";
  for (const trace::SpanLink& link : span.links) {
    if (&link != &span.links.front()) out += ',';
    AppendIds(link.trace_hi, link.trace_lo, link.span, out);
    AppendAttributes(link.attributes, out);
    out += '}';
  }
  out += ']';
}

void AppendStatus(const Span& span, std::string& out) {
  if (span.status == 0) return;
  out += ",\"status\":{\"code\":";
  AppendNumber(span.status, out);
  if (!span.status_message.empty()) {
    out += ",\"message\":";
    AppendJsonText(span.status_message, out);
  }
  out += '}';
}

void AppendSpan(const Span& span, std::string& out) {
  AppendIds(span.trace_hi, span.trace_lo, span.span, out);
  if (span.parent != 0) {
    out += ",\"parentSpanId\":\"";
    AppendHex(span.parent, out);
    out += '"';
  }
  out += ",\"name\":";
  AppendJsonText(span.name, out);
  out += ",\"kind\":";
  AppendNumber(static_cast<int>(span.kind), out);
  AppendInstant(",\"startTimeUnixNano\":\"", span.start, out);
  AppendInstant(",\"endTimeUnixNano\":\"", span.end, out);
  AppendAttributes(span.attributes, out);
  AppendEvents(span, out);
  AppendLinks(span, out);
  AppendStatus(span, out);
  out += '}';
}

// Spans by service, then scope, each in the order of first appearance. A batch
// has few of either.
struct ScopeGroup {
  std::string_view scope;
  std::vector<const Span*> spans;
};
struct ServiceGroup {
  std::string_view service;
  std::vector<ScopeGroup> scopes;
};

template <typename Group>
Group& FindOrAdd(std::vector<Group>& groups, std::string_view Group::*name, std::string_view wanted) {
  for (Group& group : groups) {
    if (group.*name == wanted) return group;
  }
  groups.emplace_back().*name = wanted;
  return groups.back();
}

std::vector<ServiceGroup> Grouped(std::span<const Span> spans) {
  std::vector<ServiceGroup> services;
  for (const Span& span : spans) {
    ServiceGroup& service = FindOrAdd(services, &ServiceGroup::service, span.service);
    FindOrAdd(service.scopes, &ScopeGroup::scope, span.scope).spans.push_back(&span);
  }
  return services;
}

void AppendScope(const ScopeGroup& group, std::string& out) {
  out += "{\"scope\":{";
  if (!group.scope.empty()) {
    out += "\"name\":";
    AppendJsonText(group.scope, out);
  }
  out += "},\"spans\":[";
  for (const Span* span : group.spans) {
    if (span != group.spans.front()) out += ',';
    AppendSpan(*span, out);
  }
  out += "]}";
}

}  // namespace

void AppendOtlpLine(std::span<const Span> spans, std::string& out) {
  if (spans.empty()) return;
  out += "{\"resourceSpans\":[";
  bool first_service = true;
  for (const ServiceGroup& service : Grouped(spans)) {
    if (!std::exchange(first_service, false)) out += ',';
    out += "{\"resource\":{";
    if (!service.service.empty()) {
      out += "\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":";
      AppendJsonText(service.service, out);
      out += "}}]";
    }
    out += "},\"scopeSpans\":[";
    for (const ScopeGroup& scope : service.scopes) {
      if (&scope != &service.scopes.front()) out += ',';
      AppendScope(scope, out);
    }
    out += "]}";
  }
  out += "]}\n";
}

}  // namespace hopgap::formats
