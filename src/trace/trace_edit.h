#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/rpc_links.h"
#include "trace/trace_set.h"

namespace hopgap::trace {

// Gives the span the instants of a call that it lacks, or that the call says
// better. Returns how many events were made.
uint64_t ApplyRpc(const RpcTimes& rpc, Client client, Span& span);

// Where neither events nor RPC spans came along, ends of spans still say when a
// publish ended (its create span ends then) and an ack (its subscribe span does).
// The spans and heads of one trace, by span id. Returns how many events were made.
uint64_t InferEnds(std::span<const SpanHead> heads, std::span<Span> spans);

// Counts the clients, roles and parents of one trace.
void CountTrace(std::span<const SpanHead> heads, std::span<const Span> spans, SpanQuality& quality);

}  // namespace hopgap::trace
