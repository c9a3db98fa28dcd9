#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/path_builder.h"
#include "trace/trace_set.h"
#include "trace/trace_view.h"

namespace hopgap::trace {

// Spans as other people's clients write them, in whole milliseconds.
class Scene {
 public:
  using Events = std::vector<std::pair<std::string, int64_t>>;  // name, ms

  explicit Scene(uint64_t trace = 1) : trace_(trace) {}

  uint64_t Add(std::string name, SpanKind kind, uint64_t parent, int64_t start_ms, int64_t end_ms, Events events = {}) {
    Span& span = spans.emplace_back();
    span.trace_lo = trace_;
    span.span = ++last_ + trace_ * 1'000;
    span.parent = parent;
    span.name = std::move(name);
    span.kind = kind;
    span.start = At(start_ms);
    span.end = At(end_ms);
    span.scope = scope;
    span.scope_version = "1.0";
    span.service = span.host = host;
    for (auto& [event, at] : events) span.events.push_back({At(at), event, {}});
    return span.span;
  }
  Span& last() { return spans.back(); }
  Scene& Set(std::string key, AttributeValue value) {
    last().attributes.emplace_back(std::move(key), std::move(value));
    return *this;
  }
  Scene& LinkTo(const Scene& other, uint64_t span) {
    last().links.push_back({.trace_hi = 0, .trace_lo = other.trace_, .span = span, .attributes = {}});
    return *this;
  }
  static WallTime At(int64_t ms) { return WallTime{std::chrono::seconds{1'000} + std::chrono::milliseconds{ms}}; }

  std::string scope = "cloud.google.com/go/pubsub/v2", host = "a";
  std::vector<Span> spans;

 private:
  uint64_t trace_, last_ = 0;
};

inline TraceSet SetOf(std::initializer_list<Scene> scenes) {
  TraceSet set;
  for (const Scene& scene : scenes) {
    std::vector<Span> spans = scene.spans;
    EXPECT_TRUE(set.Add(spans).ok());
  }
  EXPECT_TRUE(set.Finish().ok());
  return set;
}

inline void EachTrace(const TraceSet& set, const TraceSet::Take& take) {
  const absl::Status status = set.ForEachTrace(take);
  EXPECT_TRUE(status.ok()) << status;
}

inline std::vector<Path> PathsOf(const TraceSet& set) {
  std::vector<Path> paths;
  EachTrace(set, [&](std::span<const Span> spans) {
    for (Path& path : BuildPaths(spans, std::nullopt)) paths.push_back(std::move(path));
  });
  return paths;
}

// C55 as the Go library v2 writes it; `eos` makes it C56.
inline Scene GoHop(uint64_t trace = 1, bool eos = false) {
  Scene scene(trace);
  const uint64_t create =
      scene.Add("t create", SpanKind::kProducer, 0, 0, 12, {{"publish start", 2}, {"publish end", 11}});
  scene.Set("messaging.system", std::string("gcp_pubsub"));
  if (!eos) {
    const uint64_t subscribe =
        scene.Add("s subscribe", SpanKind::kConsumer, create, 30, 66, {{"ack start", 59}, {"ack end", 65}});
    scene.Set("messaging.gcp_pubsub.exactly_once_delivery", false);
    scene.Add("s process", SpanKind::kInternal, subscribe, 33, 57, {{"ack called", 57}});
    return scene;
  }
  const uint64_t subscribe =
      scene.Add("s subscribe", SpanKind::kConsumer, create, 30, 140,
                {{"modack start", 31}, {"modack end", 96}, {"ack start", 131}, {"ack end", 139}});
  scene.Set("messaging.gcp_pubsub.exactly_once_delivery", true);
  scene.Add("subscriber concurrency control", SpanKind::kInternal, subscribe, 97, 109);
  scene.Add("subscribe scheduler", SpanKind::kInternal, subscribe, 109, 110);
  scene.Add("s process", SpanKind::kInternal, subscribe, 110, 130, {{"ack called", 130}});
  return scene;
}

}  // namespace hopgap::trace
