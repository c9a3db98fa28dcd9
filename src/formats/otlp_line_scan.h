#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "formats/json_cursor.h"
#include "trace/span.h"

// Private to this room.
namespace hopgap::formats {

// Reads lines of OTLP JSON in the usual spelling (camelCase names, ids in hex,
// texts without escapes, no arrays in a span's attributes) straight from the text:
// several times as fast as over a tree of the document. What else OTLP JSON may
// hold, and every fault, is left to the reader over the tree, which names it. What
// both read they read alike, also what stands twice: the last value, and all of a list.
//
// Not thread-safe.
class OtlpLineScanner {
 public:
  static constexpr size_t kPadding = JsonCursor::kPadding;

  // Appends the spans of one line. False, and `out` as it was, if the line is not
  // of that spelling. Requires: what JsonCursor does.
  bool Read(std::string_view line, std::vector<trace::Span>& out);

 private:
  bool ReadResource(JsonCursor& json, std::vector<trace::Span>& out);
  bool ReadScope(JsonCursor& json, std::vector<trace::Span>& out);
  bool ReadSpanField(std::string_view key, JsonCursor& json, trace::Span& span);
  bool ReadAttributes(JsonCursor& json, trace::Attributes& out);
  bool ReadEvents(JsonCursor& json, std::vector<trace::SpanEvent>& out);
  bool ReadLinks(JsonCursor& json, std::vector<trace::SpanLink>& out);

  // Of one list, before it is known how long it is: what is kept has no slack.
  std::vector<std::pair<std::string_view, trace::AttributeValue>> attributes_;
  std::vector<trace::SpanEvent> events_;
};

}  // namespace hopgap::formats
