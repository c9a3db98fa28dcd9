#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "live/run.h"

namespace hopgap::live {

// The run as it is deployed: an API and one worker per hop, each a process of
// its own, for every arm; here the broker, the load and a collector of spans.
struct ProcessesOptions {
  // Without `probe`, planted faults of lab and client, and `client_events`.
  // lab.arms may name programs of others as workers (ArmSpec::worker).
  Options run;
  std::string program;  // hopgap's own
  std::string folder;   // exists; gets logs, ledgers and ready files
};

// As Run(), but with the paths already folded: their spans came from the
// processes. The ledger is the load's and the workers'. `message_spans`, if
// given, gets each message's spans, arm by arm in order of slots.
//
// Unavailable too if a process does not become ready, with the last line of its
// log. A process that ends before it is asked to is started again, and counted.
absl::StatusOr<Result> RunProcesses(ProcessesOptions options,
                                    const std::function<void(uint64_t slot, std::vector<trace::Span>&)>& message_spans);

}  // namespace hopgap::live
