#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/time.h"
#include "broker/broker.h"
#include "lab/options.h"
#include "lab/verdict.h"
#include "trace/event.h"
#include "trace/span.h"

namespace hopgap::sim {

struct Options {
  lab::Options lab;
  broker::Broker::Options broker;                    // `anchor` is set by the world
  Duration one_way{std::chrono::microseconds{100}};  // modelled network, each direction; constant
  Duration drain{std::chrono::seconds{30}};          // virtual, after the last slot
  // Test-only: the broker does nothing from the first instant on until the second
  // one, both counted from the first slot.
  Duration planted_freeze_from{0}, planted_freeze_until{0};
  Duration planted_wire{0};  // test-only: responses on streams travel this much longer
  // Gets the spans of every message as it is folded, in order of completion.
  std::function<void(uint64_t slot, std::vector<trace::Span>&)> message_spans;
  // Gets the events that name an RPC (for trace::RpcSpans), as they happen.
  std::function<void(const trace::Event&)> rpc_events;
  // Polled now and then: a reason to end now, or empty.
  std::function<std::string()> stop_asked;
  // Called now and then with the virtual time passed and messages settled.
  std::function<void(Duration, uint64_t)> progress;
};

struct Result {
  lab::Outcome outcome;
  broker::Counters broker;
  std::vector<trace::Place> places;
  ClockAnchor anchor;
  uint64_t steps = 0;  // events of the virtual world
};

// The whole run in virtual time: the lab, the client and the broker that also
// run live, over a modelled network with a constant one-way delay, a journal
// that is durable at once, and no faults. A pure function of its options: the
// same options give the same bytes.
absl::StatusOr<Result> Run(Options options);

}  // namespace hopgap::sim
