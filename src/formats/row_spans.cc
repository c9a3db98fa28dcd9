#include "base/text.h"
#include "formats/span_forms.h"

// Spans as rows of tables: Cloud Trace's _AllSpans and ClickHouse's otel_traces.
namespace hopgap::formats {
namespace {

// A JSON column is an object, or a text that holds one.
void ForEachInColumn(const Element& column, const std::function<void(std::string_view, const Element&)>& take) {
  Object object;
  if (column.get_object().get(object) == simdjson::SUCCESS) return ForEachMember(object, take);
  if (column.is_string()) ForEachMemberOfText(ElementText(column), take);
}

void ForEachInColumn(const Object& row, std::string_view name,
                     const std::function<void(std::string_view, const Element&)>& take) {
  if (const std::optional<Element> column = Member(row, name)) ForEachInColumn(*column, take);
}

std::string_view First(const Object& row, std::string_view name, std::string_view other) {
  const std::string_view text = TextMember(row, name);
  return text.empty() ? TextMember(row, other) : text;
}

void ReadAllSpansKind(const Object& row, trace::Span& span) {
  if (const std::optional<int64_t> number = IntegerMember(row, "kind"); number && *number >= 0 && *number <= 5) {
    span.kind = static_cast<trace::SpanKind>(*number);
  } else {
    span.kind = ParseKind(TextMember(row, "kind"));
  }
}

void ReadEventRow(const Element& one, SpanBuilder& builder) {
  Object object;
  if (one.get_object().get(object) != simdjson::SUCCESS) return;
  std::optional<WallTime> at;
  for (const std::string_view name : {"time", "timestamp", "Timestamp", "time_unix_nano"}) {
    if (!at) at = InstantMember(object, name);
  }
  if (!at) return builder.Wrong("events", "no time");
  trace::SpanEvent& event = builder.span().events.emplace_back();
  event.at = *at;
  event.name = First(object, "name", "Name");
  for (const std::string_view name : {"attributes", "Attributes"}) {
    ForEachInColumn(object, name, [&](std::string_view key, const Element& value) {
      event.attributes.emplace_back(std::string(key), ElementValue(value));
    });
  }
}

void AddLink(std::string_view trace_id, std::string_view span_id, SpanBuilder& builder) {
  trace::SpanLink link;
  const std::optional<uint64_t> id = ParseSpanId(span_id);
  if (!id || !ParseTraceId(trace_id, link.trace_hi, link.trace_lo)) {
    return builder.Wrong("links", "ids that cannot be read");
  }
  link.span = *id;
  builder.span().links.push_back(std::move(link));
}

void ReadLinkRow(const Element& one, SpanBuilder& builder) {
  Object object;
  if (one.get_object().get(object) != simdjson::SUCCESS) return;
  AddLink(First(object, "trace_id", "TraceId"), First(object, "span_id", "SpanId"), builder);
}

std::vector<std::string> Column(const Object& row, std::string_view name) {
  std::vector<std::string> values;
  ForEachIn(row, name, [&](const Element& one) { values.push_back(ElementText(one)); });
  return values;
}

// Parallel arrays.
void ReadClickHouseLists(const Object& row, SpanBuilder& builder) {
  const std::vector<std::string> at = Column(row, "Events.Timestamp"), names = Column(row, "Events.Name");
  const std::vector<std::string> attributes = Column(row, "Events.Attributes");
  for (size_t i = 0; i < at.size() && i < names.size(); ++i) {
    const std::optional<WallTime> time = ParseInstant(at[i]);
    if (!time) return builder.Wrong("Events.Timestamp", "no time");
    trace::SpanEvent& event = builder.span().events.emplace_back();
    event.at = *time;
    event.name = names[i];
    if (i >= attributes.size()) continue;
    ForEachMemberOfText(attributes[i], [&](std::string_view key, const Element& value) {
      event.attributes.emplace_back(std::string(key), ElementValue(value));
    });
  }
  const std::vector<std::string> traces = Column(row, "Links.TraceId"), spans = Column(row, "Links.SpanId");
  for (size_t i = 0; i < traces.size() && i < spans.size(); ++i) AddLink(traces[i], spans[i], builder);
  ForEachIn(row, "Events", [&](const Element& one) { ReadEventRow(one, builder); });
  ForEachIn(row, "Links", [&](const Element& one) { ReadLinkRow(one, builder); });
}

}  // namespace

void ReadAllSpansRow(const Object& row, SpanSink& sink) {
  sink.source.forms.insert(SpanForm::kAllSpans);
  SpanBuilder builder;
  trace::Span& span = builder.span();
  builder.TraceId("trace_id", TextMember(row, "trace_id"));
  builder.SpanId("span_id", TextMember(row, "span_id"));
  builder.Parent("parent_span_id", TextMember(row, "parent_span_id"));
  span.name = TextMember(row, "name");
  ReadAllSpansKind(row, span);
  const std::optional<WallTime> start = InstantMember(row, "start_time");
  builder.Start("start_time", start);
  const std::optional<int64_t> length = IntegerMember(row, "duration_nano");  // may carry what the two stamps lack
  if (start) builder.End("end_time", length ? After(*start, length, 1) : InstantMember(row, "end_time"));
  if (const auto status = ObjectMember(row, "status")) {
    span.status = static_cast<int>(std::clamp<int64_t>(IntegerMember(*status, "code").value_or(0), 0, 2));
    span.status_message = TextMember(*status, "message");
  }
  ForEachInColumn(row, "resource", [&](std::string_view key, const Element& value) {
    if (key != "attributes") return;
    ForEachInColumn(value, [&](std::string_view name, const Element& inner) {
      builder.ResourceAttribute(name, ElementText(inner));
    });
  });
  ForEachInColumn(row, "attributes",
                  [&](std::string_view key, const Element& value) { builder.Attribute(key, ElementValue(value)); });
  ForEachIn(row, "events", [&](const Element& one) { ReadEventRow(one, builder); });
  ForEachIn(row, "links", [&](const Element& one) { ReadLinkRow(one, builder); });
  sink.Take(builder, TextMember(row, "span_id"));
}

void ReadClickHouseRow(const Object& row, SpanSink& sink) {
  sink.source.forms.insert(SpanForm::kClickHouse);
  SpanBuilder builder;
  trace::Span& span = builder.span();
  builder.TraceId("TraceId", TextMember(row, "TraceId"));
  builder.SpanId("SpanId", TextMember(row, "SpanId"));
  builder.Parent("ParentSpanId", TextMember(row, "ParentSpanId"));
  span.name = TextMember(row, "SpanName");
  const std::optional<WallTime> start = InstantMember(row, "Timestamp");
  builder.Start("Timestamp", start);
  if (start) builder.End("Duration", After(*start, IntegerMember(row, "Duration"), 1));
  ForEachInColumn(row, "ResourceAttributes", [&](std::string_view key, const Element& value) {
    builder.ResourceAttribute(key, ElementText(value));
  });
  ForEachInColumn(row, "SpanAttributes",
                  [&](std::string_view key, const Element& value) { builder.Attribute(key, ElementValue(value)); });
  span.kind = ParseKind(TextMember(row, "SpanKind"));
  span.status = ParseStatus(TextMember(row, "StatusCode"));
  span.status_message = TextMember(row, "StatusMessage");
  if (span.service.empty()) span.service = TextMember(row, "ServiceName");
  span.scope = TextMember(row, "ScopeName");
  span.scope_version = TextMember(row, "ScopeVersion");
  ReadClickHouseLists(row, builder);
  sink.Take(builder, TextMember(row, "SpanId"));
}

}  // namespace hopgap::formats
