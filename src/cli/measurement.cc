#include "cli/measurement.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/process_run.h"
#include "cli/result.h"
#include "cli/setup.h"
#include "lab/backlog.h"
#include "live/run.h"

namespace hopgap::cli {
namespace {

constexpr Duration kAround{std::chrono::seconds{1}};    // opening streams, last acks, closing
constexpr Duration kStarting{std::chrono::seconds{2}};  // processes, until the first of them may be sent a message
constexpr uint64_t kSpare = 2;                          // redeliveries and retries record more

}  // namespace

absl::Status CheckMeasurable(const VirtualChain& chain) {
  if (chain.alone) return absl::OkStatus();
  const EventEstimate events = EstimateEvents(LabOf(chain));
  const uint64_t total = kSpare * (events.client + events.broker);
  if (total <= kMeasuredEventsMax) return absl::OkStatus();
  return absl::ResourceExhaustedError(StrCat("a cell of ", chain.slots, " messages would record ", total, " events of ",
                                             kMeasuredEventsMax, "; choose a shorter --duration"));
}

Duration LengthToMeasure(const VirtualChain& chain) {
  if (chain.alone) return (kStarting + chain.work * chain.hops + kAround) * static_cast<int64_t>(chain.slots);
  return lab::Schedule(chain.millihertz, chain.slots, chain.arrival).DueAfter(chain.slots) + chain.work * chain.hops +
         kAround;
}

absl::StatusOr<report::ArmRun> Measure(const VirtualChain& chain, const std::function<std::string()>& stop_asked) {
  if (absl::Status status = CheckMeasurable(chain); !status.ok()) return status;
  if (chain.alone && chain.slots > 1) {
    return InRounds(chain, [&](const VirtualChain& one) { return Measure(one, stop_asked); });
  }
  live::Options options;
  options.lab = LabOf(chain);
  SetBrokerOf(chain, options.broker);
  options.broker.ack_id_key = RandomKey();
  const EventEstimate events = EstimateEvents(options.lab);
  options.client_events = kSpare * events.client;
  options.broker_events = kSpare * events.broker;
  options.stop_asked = stop_asked;
  absl::StatusOr<live::Result> result =
      chain.alone ? RunAsProcesses(std::move(options), nullptr) : live::Run(std::move(options));
  if (!result.ok()) return result.status();
  if (result->outcome.ended_early) return absl::CancelledError(result->outcome.ended_early_why);
  if (!chain.alone) live::FoldPaths(*result, nullptr);
  std::vector<report::ArmRun> arms = ArmRuns(result->outcome);
  report::ArmRun arm = std::move(arms.front());
  if (const auto growing = lab::SaturatedAt(arm.paths, chain.millihertz, chain.slots)) arm.saturated_at = growing;
  return arm;
}

}  // namespace hopgap::cli
