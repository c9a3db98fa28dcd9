#include "base/text.h"
#include "formats/span_forms.h"

// Jaeger's JSON: of its UI, its API and its anonymizer. Microseconds.
namespace hopgap::formats {
namespace {

// A tag's type says what a text means: 64-bit numbers come as text.
trace::AttributeValue TagValue(const Object& tag) {
  const std::optional<Element> value = Member(tag, "value");
  if (!value) return std::string();
  const std::string_view type = TextMember(tag, "type");
  if (type == "int64") {
    if (const std::optional<int64_t> number = ElementInteger(*value)) return *number;
  }
  if (type == "bool" && value->is_string()) return ElementText(*value) == "true";
  return ElementValue(*value);
}

void ReadTags(const Object& owner, std::string_view name,
              const std::function<void(std::string_view, trace::AttributeValue)>& take) {
  ForEachIn(owner, name, [&](const Element& one) {
    Object tag;
    if (one.get_object().get(tag) == simdjson::SUCCESS) take(TextMember(tag, "key"), TagValue(tag));
  });
}

void ReadProcess(const Object& process, SpanBuilder& builder) {
  builder.span().service = TextMember(process, "serviceName");
  ReadTags(process, "tags", [&](std::string_view key, trace::AttributeValue value) {
    if (const std::string* text = std::get_if<std::string>(&value)) builder.ResourceAttribute(key, *text);
  });
}

// The first parent of the same trace is the parent; what is said beside it, or
// of another trace, is a link.
void ReadReferences(const Object& span, SpanBuilder& builder) {
  trace::Span& out = builder.span();
  struct Reference {
    trace::SpanLink link;
    bool child_of, here;
  };
  std::vector<Reference> references;
  ForEachIn(span, "references", [&](const Element& one) {
    Object object;
    if (one.get_object().get(object) != simdjson::SUCCESS) return;
    Reference reference{};
    const std::optional<uint64_t> id = ParseSpanId(TextMember(object, "spanID"));
    if (!id || !ParseTraceId(TextMember(object, "traceID"), reference.link.trace_hi, reference.link.trace_lo)) {
      return builder.Wrong("references", "ids that cannot be read");
    }
    reference.link.span = *id;
    reference.child_of = TextMember(object, "refType") == "CHILD_OF";
    reference.here = reference.link.trace_hi == out.trace_hi && reference.link.trace_lo == out.trace_lo;
    references.push_back(std::move(reference));
  });
  const Reference* parent = nullptr;
  for (const bool child_of : {true, false}) {
    for (const Reference& one : references) {
      if (parent == nullptr && one.here && one.child_of == child_of) parent = &one;
    }
  }
  if (parent != nullptr) out.parent = parent->link.span;
  for (const Reference& one : references) {
    if (&one != parent) out.links.push_back(one.link);
  }
}

void ReadLogs(const Object& span, SpanBuilder& builder) {
  ForEachIn(span, "logs", [&](const Element& one) {
    Object log;
    if (one.get_object().get(log) != simdjson::SUCCESS) return;
    const std::optional<WallTime> at = MicrosMember(log, "timestamp");
    if (!at) return builder.Wrong("logs.timestamp", "no time in microseconds");
    trace::SpanEvent& event = builder.span().events.emplace_back();
    event.at = *at;
    ReadTags(log, "fields", [&](std::string_view key, trace::AttributeValue value) {
      if (const std::string* text = std::get_if<std::string>(&value); key == "event" && text != nullptr) {
        event.name = *text;
      } else {
        event.attributes.emplace_back(std::string(key), std::move(value));
      }
    });
  });
}

}  // namespace

void ReadJaegerSpan(const Object& span, const Object* processes, SpanSink& sink) {
  sink.source.forms.insert(SpanForm::kJaeger);
  SpanBuilder builder;
  builder.TraceId("traceID", TextMember(span, "traceID"));
  builder.SpanId("spanID", TextMember(span, "spanID"));
  builder.span().name = TextMember(span, "operationName");
  const std::optional<WallTime> start = MicrosMember(span, "startTime");
  builder.Start("startTime", start);
  if (start) builder.End("duration", After(*start, IntegerMember(span, "duration"), 1'000));
  if (const std::optional<Object> inline_process = ObjectMember(span, "process")) {
    ReadProcess(*inline_process, builder);
  } else if (processes != nullptr) {
    if (const auto process = ObjectMember(*processes, TextMember(span, "processID"))) ReadProcess(*process, builder);
  }
  builder.Parent("parentSpanID", TextMember(span, "parentSpanID"));
  ReadReferences(span, builder);
  ReadTags(span, "tags",
           [&](std::string_view key, trace::AttributeValue value) { builder.Attribute(key, std::move(value)); });
  ReadLogs(span, builder);
  sink.Take(builder, TextMember(span, "spanID"));
}

void ReadJaegerTrace(const Object& trace, SpanSink& sink) {
  const std::optional<Object> processes = ObjectMember(trace, "processes");
  ForEachIn(trace, "spans", [&](const Element& one) {
    Object span;
    if (one.get_object().get(span) != simdjson::SUCCESS) {
      sink.bad.push_back({.line = 0, .id = "", .why = "spans: no object"});
    } else {
      ReadJaegerSpan(span, processes ? &*processes : nullptr, sink);
    }
  });
}

}  // namespace hopgap::formats
