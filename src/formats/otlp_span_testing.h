#pragma once

#include "trace/span.h"

namespace hopgap::formats {

// For tests: a span with something in every field.
inline trace::Span FullSpan() {
  trace::Span span;
  span.trace_hi = 0x0123456789abcdef;
  span.trace_lo = 0xfedcba9876543210;
  span.span = 0xab;
  span.parent = 0xcd;
  span.name = "t create";
  span.kind = trace::SpanKind::kProducer;
  span.start = WallTime{Duration{1581452772000000321}};
  span.end = WallTime{Duration{1581452772000000999}};
  span.attributes = {
      {"text", std::string("a\"b\\c\n\x01é")}, {"number", int64_t{-9007199254740993}}, {"flag", true}, {"ratio", 0.1}};
  span.events = {{WallTime{Duration{1581452772000000500}}, "publish start", {{"n", int64_t{3}}}}};
  span.links = {{.trace_hi = 1, .trace_lo = 2, .span = 3, .attributes = {{"name", std::string("publish")}}}};
  span.status = 2;
  span.status_message = "UNAVAILABLE";
  span.service = "eos hop 1";
  span.scope = "cloud.google.com/go/pubsub/v2";
  return span;
}

}  // namespace hopgap::formats
