#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "trace/event.h"
#include "trace/path.h"
#include "trace/span.h"

namespace hopgap::trace {

// Everything that turns a process's events into spans.
struct SpanContext {
  ClockAnchor anchor;
  std::vector<Place> places;  // by Event::place
};

// The spans of one trace from its events (any order): the Go library's names,
// parents, attributes and events (reference/client-behaviour.md §3.2), our
// extras under "hopgap." and the broker's half as children of `create`. RPC
// spans (publish, modack, ack, nack) root traces of their own and come from
// RpcSpans(). Unfinished spans are left out, as a library would.
// Requires: all events carry the same trace id.
std::vector<Span> MessageSpans(std::span<const Event> events, const SpanContext& context);

// The RPC root spans of a whole run, with links to the messages' spans. Events
// in any order; those that name no RPC are ignored.
std::vector<Span> RpcSpans(std::span<const Event> events, const SpanContext& context);

// The paths in one trace's spans (any order; RPC root spans need not be there).
// One per leaf callback; empty if none reached a last handler. `hops` is the
// number of hops a whole path has: a path with fewer is incomplete and left out.
// Without it a path may have any number: it begins at a publish that no callback
// made, as far as these spans know. Added delays are read from the spans' attributes.
std::vector<Path> BuildPaths(std::span<const Span> spans, std::optional<int> hops);

}  // namespace hopgap::trace
