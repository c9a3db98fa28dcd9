#include "base/text.h"
#include "formats/span_forms.h"

// Zipkin v2 JSON. Microseconds; no links, all tags are texts.
namespace hopgap::formats {
namespace {

// OpenTelemetry's exporters write an event with attributes as "name": {json}.
void ReadAnnotation(const Object& annotation, SpanBuilder& builder) {
  const std::optional<WallTime> at = MicrosIn(annotation, "timestamp");
  if (!at) return builder.Wrong("annotations.timestamp", "no time in microseconds");
  trace::SpanEvent& event = builder.span().events.emplace_back();
  event.at = *at;
  const std::string_view value = TextIn(annotation, "value");
  event.name = value;
  const size_t colon = value.find("\":");
  if (!value.starts_with('"') || colon == std::string_view::npos || colon == 0) return;
  const bool whole = ForEachMemberOfText(value.substr(colon + 2), [&](std::string_view key, const Element& member) {
    event.attributes.emplace_back(std::string(key), ValueOf(member));
  });
  if (whole) event.name = value.substr(1, colon - 1);
}

// Client and server share one id: the server's half gets another one.
constexpr uint64_t kServerHalf = 0x5a5a5a5a5a5a5a5a;

}  // namespace

void ReadZipkinSpan(const Object& span, SpanSink& sink) {
  sink.source.forms.insert(SpanForm::kZipkin);
  SpanBuilder builder;
  trace::Span& out = builder.span();
  builder.TraceId("traceId", TextIn(span, "traceId"));
  builder.SpanId("id", TextIn(span, "id"));
  builder.Parent("parentId", TextIn(span, "parentId"));
  out.name = TextIn(span, "name");
  out.kind = ParseKind(TextIn(span, "kind"));
  const std::optional<WallTime> start = MicrosIn(span, "timestamp");
  builder.Start("timestamp", start);
  // Producer spans may have no length: they are instants.
  if (start)
    builder.End("duration", Member(span, "duration") ? After(*start, IntegerIn(span, "duration"), 1'000) : start);
  if (const auto endpoint = ObjectIn(span, "localEndpoint")) out.service = TextIn(*endpoint, "serviceName");
  if (const auto tags = ObjectIn(span, "tags")) {
    ForEachMember(*tags, [&](std::string_view key, const Element& value) { builder.Attribute(key, TextOf(value)); });
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
  sink.Take(builder, TextIn(span, "id"));
}

}  // namespace hopgap::formats
