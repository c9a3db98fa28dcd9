#include "base/text.h"
#include "formats/span_forms.h"

// Cloud Trace: v1 (projects.traces) and v2 (spans).
namespace hopgap::formats {
namespace {

// Decimal here, where every other form has hexadecimal digits.
std::optional<uint64_t> DecimalId(const Object& object, std::string_view name) {
  const std::optional<Element> member = Member(object, name);
  if (!member) return 0;
  return ParseNumber<uint64_t>(ElementText(*member));
}

void ReadV1Span(const Object& span, std::string_view trace_id, SpanSink& sink) {
  SpanBuilder builder;
  trace::Span& out = builder.span();
  builder.TraceId("traceId", trace_id);
  const std::optional<uint64_t> id = DecimalId(span, "spanId"), parent = DecimalId(span, "parentSpanId");
  if (!id || *id == 0) builder.Wrong("spanId", "no decimal number above 0");
  if (!parent) builder.Wrong("parentSpanId", "no decimal number");
  out.span = id.value_or(0);
  out.parent = parent.value_or(0);
  out.name = TextMember(span, "name");
  out.kind = ParseKind(TextMember(span, "kind"));
  builder.Start("startTime", InstantMember(span, "startTime"));
  builder.End("endTime", InstantMember(span, "endTime"));
  if (const auto labels = ObjectMember(span, "labels")) {
    ForEachMember(*labels, [&](std::string_view key, const Element& value) {
      if (value.is_string()) builder.Attribute(key, ElementText(value));
    });
  }
  sink.Take(builder, TextMember(span, "spanId"));
}

// {value: "...", truncatedByteCount: 0}
std::string Truncatable(const Object& owner, std::string_view name) {
  const std::optional<Object> inner = ObjectMember(owner, name);
  return std::string(inner ? TextMember(*inner, "value") : TextMember(owner, name));
}

trace::AttributeValue V2Value(const Element& value) {
  Object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return ElementValue(value);
  if (const auto number = IntegerMember(object, "intValue")) return *number;
  if (const auto flag = Member(object, "boolValue")) return ElementValue(*flag);
  return Truncatable(object, "stringValue");
}

void ForEachV2Attribute(const Object& owner, const std::function<void(std::string_view, trace::AttributeValue)>& take) {
  const std::optional<Object> attributes = ObjectMember(owner, "attributes");
  const std::optional<Object> map = attributes ? ObjectMember(*attributes, "attributeMap") : std::nullopt;
  if (map) ForEachMember(*map, [&](std::string_view key, const Element& value) { take(key, V2Value(value)); });
}

void ReadV2Event(const Object& one, SpanBuilder& builder) {
  const std::optional<Object> annotation = ObjectMember(one, "annotation");
  if (!annotation) return;  // a message event: none of ours
  const std::optional<WallTime> at = InstantMember(one, "time");
  if (!at) return builder.Wrong("timeEvents.time", "no time");
  trace::SpanEvent& event = builder.span().events.emplace_back();
  event.at = *at;
  event.name = Truncatable(*annotation, "description");
  ForEachV2Attribute(*annotation, [&](std::string_view key, trace::AttributeValue value) {
    event.attributes.emplace_back(std::string(key), std::move(value));
  });
}

void ReadV2Link(const Object& one, SpanBuilder& builder) {
  trace::SpanLink link;
  const std::optional<uint64_t> id = ParseSpanId(TextMember(one, "spanId"));
  if (!id || !ParseTraceId(TextMember(one, "traceId"), link.trace_hi, link.trace_lo)) {
    return builder.Wrong("links", "ids that cannot be read");
  }
  link.span = *id;
  builder.span().links.push_back(std::move(link));
}

template <typename Read>
void ForEachInList(const Object& span, std::string_view outer, std::string_view inner, Read read) {
  const std::optional<Object> list = ObjectMember(span, outer);
  if (!list) return;
  ForEachIn(*list, inner, [&](const Element& one) {
    Object object;
    if (one.get_object().get(object) == simdjson::SUCCESS) read(object);
  });
}

}  // namespace

void ReadCloudTraceV1(const Object& trace, SpanSink& sink) {
  sink.source.forms.insert(SpanForm::kCloudTraceV1);
  const std::string_view id = TextMember(trace, "traceId");
  ForEachIn(trace, "spans", [&](const Element& one) {
    Object span;
    if (one.get_object().get(span) != simdjson::SUCCESS) {
      sink.bad.push_back({.line = 0, .id = "", .why = "spans: no object"});
    } else {
      ReadV1Span(span, id, sink);
    }
  });
}

void ReadCloudTraceV2Span(const Object& span, SpanSink& sink) {
  sink.source.forms.insert(SpanForm::kCloudTraceV2);
  SpanBuilder builder;
  // projects/P/traces/TRACE/spans/SPAN
  const std::vector<std::string_view> parts = Split(TextMember(span, "name"), '/');
  builder.TraceId("name", parts.size() == 6 && parts[2] == "traces" ? parts[3] : "");
  builder.SpanId("spanId",
                 TextMember(span, "spanId").empty() && parts.size() == 6 ? parts[5] : TextMember(span, "spanId"));
  builder.Parent("parentSpanId", TextMember(span, "parentSpanId"));
  builder.span().name = Truncatable(span, "displayName");
  builder.span().kind = ParseKind(TextMember(span, "spanKind"));
  builder.Start("startTime", InstantMember(span, "startTime"));
  builder.End("endTime", InstantMember(span, "endTime"));
  ForEachV2Attribute(
      span, [&](std::string_view key, trace::AttributeValue value) { builder.Attribute(key, std::move(value)); });
  ForEachInList(span, "timeEvents", "timeEvent", [&](const Object& one) { ReadV2Event(one, builder); });
  ForEachInList(span, "links", "link", [&](const Object& one) { ReadV2Link(one, builder); });
  if (const auto status = ObjectMember(span, "status")) {
    builder.span().status = IntegerMember(*status, "code").value_or(0) == 0 ? 0 : 2;  // google.rpc codes
    builder.span().status_message = TextMember(*status, "message");
  }
  sink.Take(builder, TextMember(span, "spanId"));
}

}  // namespace hopgap::formats
