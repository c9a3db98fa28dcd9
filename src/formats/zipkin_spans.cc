#include "base/text.h"
#include "formats/span_forms.h"

// Zipkin v2 JSON. Microseconds; all tags are texts. It has no links, but the
// Collector writes them as tags, which are read.
namespace hopgap::formats {
namespace {

// An event with attributes is "name": {json} in OpenTelemetry's exporters, and
// name|{json}|0 in the Collector's.
void ReadAnnotation(const Object& annotation, SpanBuilder& builder) {
  const std::optional<WallTime> at = MicrosMember(annotation, "timestamp");
  if (!at) return builder.Wrong("annotations.timestamp", "no time in microseconds");
  trace::SpanEvent& event = builder.span().events.emplace_back();
  event.at = *at;
  const std::string_view value = TextMember(annotation, "value");
  event.name = value;
  const auto take = [&event](std::string_view key, const Element& member) {
    event.attributes.emplace_back(std::string(key), ElementValue(member));
  };
  const size_t bar = value.find('|'), last = value.rfind('|');
  if (bar != last && ForEachMemberOfText(value.substr(bar + 1, last - bar - 1), take)) {
    event.name = value.substr(0, bar);
    return;
  }
  const size_t colon = value.find("\":");
  if (!value.starts_with('"') || colon == std::string_view::npos || colon == 0) return;
  if (ForEachMemberOfText(value.substr(colon + 2), take)) event.name = value.substr(1, colon - 1);
}

// "otlp.link.0": "TRACE|SPAN|state|{attributes}|0". False if it is no such tag.
bool ReadLinkTag(std::string_view key, std::string_view value, SpanBuilder& builder) {
  if (!key.starts_with("otlp.link.")) return false;
  const std::vector<std::string_view> parts = Split(value, '|');
  trace::SpanLink link;
  const std::optional<uint64_t> id = parts.size() < 2 ? std::nullopt : ParseSpanId(parts[1]);
  if (!id || !ParseTraceId(parts[0], link.trace_hi, link.trace_lo)) {
    builder.Wrong(key, "no link");
    return true;
  }
  link.span = *id;
  builder.span().links.push_back(std::move(link));
  return true;
}

// Client and server share one id: the server's half gets another one.
constexpr uint64_t kServerHalf = 0x5a5a5a5a5a5a5a5a;

}  // namespace

void ReadZipkinSpan(const Object& span, SpanSink& sink) {
  sink.source.forms.insert(SpanForm::kZipkin);
  SpanBuilder builder;
  trace::Span& out = builder.span();
  builder.TraceId("traceId", TextMember(span, "traceId"));
  builder.SpanId("id", TextMember(span, "id"));
  builder.Parent("parentId", TextMember(span, "parentId"));
  out.name = TextMember(span, "name");
  out.kind = ParseKind(TextMember(span, "kind"));
  const std::optional<WallTime> start = MicrosMember(span, "timestamp");
  builder.Start("timestamp", start);
  // Producer spans may have no length: they are instants.
  if (start)
    builder.End("duration", Member(span, "duration") ? After(*start, IntegerMember(span, "duration"), 1'000) : start);
  if (const auto endpoint = ObjectMember(span, "localEndpoint")) out.service = TextMember(*endpoint, "serviceName");
  if (const auto tags = ObjectMember(span, "tags")) {
    ForEachMember(*tags, [&](std::string_view key, const Element& value) {
      std::string text = ElementText(value);
      if (!ReadLinkTag(key, text, builder)) builder.Attribute(key, std::move(text));
    });
  }
  ForEachIn(span, "annotations", [&](const Element& one) {
    Object annotation;
    if (one.get_object().get(annotation) == simdjson::SUCCESS) ReadAnnotation(annotation, builder);
  });
  bool shared = false;
  if (span["shared"].get_bool().get(shared) == simdjson::SUCCESS && shared && out.kind == trace::SpanKind::kServer) {
    out.parent = out.span;
    out.span ^= kServerHalf;
  }
  sink.Take(builder, TextMember(span, "id"));
}

}  // namespace hopgap::formats
