#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"

namespace hopgap::trace {

using AttributeValue = std::variant<std::string, int64_t, bool, double>;
using Attributes = std::vector<std::pair<std::string, AttributeValue>>;  // in writing order

enum class SpanKind : uint8_t { kUnspecified, kInternal, kServer, kClient, kProducer, kConsumer };  // OTLP's numbers

struct SpanEvent {
  WallTime at;
  std::string name;
  Attributes attributes;
};

struct SpanLink {
  uint64_t trace_hi = 0, trace_lo = 0, span = 0;
  Attributes attributes;
};

// A span as every tracing system knows it, with exact nanoseconds.
struct Span {
  uint64_t trace_hi = 0, trace_lo = 0;
  uint64_t span = 0;
  uint64_t parent = 0;  // 0: root
  std::string name;
  SpanKind kind = SpanKind::kInternal;
  WallTime start{}, end{};
  Attributes attributes;
  std::vector<SpanEvent> events;
  std::vector<SpanLink> links;
  int status = 0;  // 0 unset, 1 ok, 2 error
  std::string status_message;
  std::string service;  // resource attribute service.name
  std::string scope;    // instrumentation scope: whose dialect this is
  std::string scope_version;
  std::string host;      // resource attribute host.name, else k8s.pod.name, else service.instance.id
  std::string language;  // resource attribute telemetry.sdk.language

  const AttributeValue* Find(std::string_view key) const;
  int64_t Int(std::string_view key, int64_t otherwise = 0) const;  // also from decimal text
  std::string_view Text(std::string_view key) const;               // empty if absent or no text
  const SpanEvent* FindEvent(std::string_view name) const;         // the first of that name
};

// Scopes: the Go library's own, and ours for the broker's half and the lab.
inline constexpr std::string_view kGoScope = "cloud.google.com/go/pubsub/v2";
inline constexpr std::string_view kBrokerScope = "hopgap.broker";

}  // namespace hopgap::trace
