#pragma once

#include <simdjson.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/span_builder.h"
#include "formats/trace_file.h"
#include "trace/span.h"

// Private to this room: one reader a form, over simdjson's document. A new form
// is one file with one function here and its keys in span_document.cc.
namespace hopgap::formats {

using Element = simdjson::dom::element;
using Object = simdjson::dom::object;

// Where the spans of a document go.
struct SpanSink {
  std::vector<trace::Span>& spans;
  std::vector<BadSpan>& bad;
  TraceSource& source;  // forms and snake_case

  // Takes the span, or names what is wrong with it.
  void Take(SpanBuilder& builder, std::string_view id);
};

// Each appends what it finds; a part that is no span is named in `bad`.
void ReadOtlpDocument(const Object& document, SpanSink& sink);  // OTLP and Tempo
void ReadJaegerTrace(const Object& trace, SpanSink& sink);      // {spans, processes}
void ReadJaegerSpan(const Object& span, const Object* processes, SpanSink& sink);
void ReadZipkinSpan(const Object& span, SpanSink& sink);
void ReadCloudTraceV1(const Object& trace, SpanSink& sink);     // {traceId, spans}
void ReadCloudTraceV2Span(const Object& span, SpanSink& sink);  // {name, displayName, ...}
void ReadAllSpansRow(const Object& row, SpanSink& sink);        // _Trace.Spans._AllSpans
void ReadClickHouseRow(const Object& row, SpanSink& sink);      // otel_traces

// Finds out what it is and reads it. InvalidArgument if it is none of the forms.
absl::Status ReadSpanDocument(const Element& document, SpanSink& sink);

// Members of objects, in whatever type they come.
std::optional<Element> Member(const Object& object, std::string_view name);
std::optional<Object> ObjectMember(const Object& object, std::string_view name);
std::string_view TextMember(const Object& object, std::string_view name);  // "" if absent or no text
// An integer, bare or quoted.
std::optional<int64_t> IntegerMember(const Object& object, std::string_view name);
std::optional<int64_t> ElementInteger(const Element& value);
// "7" of 7 and of "7"; the JSON of anything that is neither text nor number.
std::string ElementText(const Element& value);
// Text, number and flag as they are; arrays and objects as their JSON.
trace::AttributeValue ElementValue(const Element& value);
// Calls `take` with each member of the array; false if there is no array.
bool ForEachIn(const Object& object, std::string_view name, const std::function<void(const Element&)>& take);
void ForEachMember(const Object& object, const std::function<void(std::string_view, const Element&)>& take);
// Microseconds since 1970 (times and lengths), unset if none or beyond 2262.
std::optional<WallTime> MicrosMember(const Object& object, std::string_view name);
std::optional<WallTime> InstantMember(const Object& object, std::string_view name);
// `start` + `length`; unset beyond 2262.
std::optional<WallTime> After(WallTime start, std::optional<int64_t> length, int64_t unit_ns);

// Parses text that holds JSON (attributes in text columns); calls `take` with its
// members. False if it is no object.
bool ForEachMemberOfText(std::string_view json, const std::function<void(std::string_view, const Element&)>& take);

}  // namespace hopgap::formats
