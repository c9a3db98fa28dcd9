#include "cli/sweep.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "base/draw.h"
#include "base/text.h"
#include "cli/measurement.h"
#include "cli/prediction.h"
#include "formats/sweep_json.h"
#include "lab/arm.h"

namespace hopgap::cli {
namespace {

absl::StatusOr<KeptSweep> ReadSweepFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string line;
  if (!in || !std::getline(in, line)) return absl::NotFoundError(StrCat(path, ": cannot be read, or is empty"));
  absl::StatusOr<report::SweepPlan> plan = formats::ParseSweepPlanLine(line);
  if (!plan.ok()) return absl::InvalidArgumentError(StrCat(path, ": no sweep: ", MessageOf(plan.status())));
  KeptSweep kept{.plan = *std::move(plan), .cells = {}};
  while (std::getline(in, line)) {
    absl::StatusOr<report::SweepCell> cell = formats::ParseSweepCellLine(line);
    if (cell.ok()) kept.cells.push_back(*std::move(cell));
  }
  return kept;
}

// The file of cells that are done. A line that a kill cut short is dropped: its
// cell is done again.
class SweepFile {
 public:
  absl::Status Open(const std::string& folder, const report::SweepPlan& plan);
  const report::SweepCell* Find(const std::string& key) const {
    const auto found = done_.find(key);
    return found == done_.end() ? nullptr : &found->second;
  }
  absl::Status Add(const report::SweepCell& cell);

 private:
  absl::Status ReadDone(const report::SweepPlan& plan);

  std::string path_;
  std::ofstream file_;
  std::map<std::string, report::SweepCell> done_;
};

absl::Status SweepFile::ReadDone(const report::SweepPlan& plan) {
  absl::StatusOr<KeptSweep> kept = ReadSweepFile(path_);
  if (!kept.ok()) return absl::FailedPreconditionError(StrCat(MessageOf(kept.status())));
  if (!(kept->plan == plan)) {
    return absl::FailedPreconditionError(StrCat(
        path_,
        ": holds a sweep of another plan (simulated or live, profile, hops, work, length, messages, seed or version); "
        "choose another --out, or repeat that one's options"));
  }
  for (report::SweepCell& cell : kept->cells) done_[cell.Key()] = std::move(cell);
  return absl::OkStatus();
}

absl::Status SweepFile::Open(const std::string& folder, const report::SweepPlan& plan) {
  if (folder.empty()) return absl::OkStatus();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  path_ = StrCat(folder, "/", kSweepFile);
  if (std::filesystem::exists(path_, error) && std::filesystem::file_size(path_, error) > 0) {
    if (absl::Status status = ReadDone(plan); !status.ok()) return status;
  }
  // Written anew under another name and renamed, so that a torn line is gone.
  const std::string partial = path_ + ".partial";
  file_.open(partial, std::ios::binary | std::ios::trunc);
  file_ << formats::SweepPlanLine(plan);
  for (const auto& [key, cell] : done_) file_ << formats::SweepCellLine(cell);
  file_.flush();
  if (file_) std::filesystem::rename(partial, path_, error);
  if (!file_ || error) return absl::UnavailableError(StrCat("--out ", folder, ": cannot be written"));
  return absl::OkStatus();
}

absl::Status SweepFile::Add(const report::SweepCell& cell) {
  if (path_.empty()) return absl::OkStatus();
  file_ << formats::SweepCellLine(cell) << std::flush;
  return file_ ? absl::OkStatus() : absl::UnavailableError(StrCat(path_, ": cannot be written"));
}

absl::StatusOr<VirtualChain> ChainOf(const Sweep& sweep, const report::SweepCell& cell) {
  absl::StatusOr<lab::ArmSpec> arm = lab::ParseArm(cell.arm, cell.client);
  if (!arm.ok()) return arm.status();
  VirtualChain chain;
  chain.arm = *std::move(arm);
  chain.profile = sweep.profile;
  if (cell.modack) {
    absl::StatusOr<broker::QuantileTable> table = broker::QuantileTable::Make({{.fraction = 0, .delay = *cell.modack}});
    if (!table.ok()) return table.status();
    chain.profile.exactly_once[static_cast<size_t>(broker::Leg::kModack)] = *std::move(table);
  }
  chain.hops = sweep.plan.hops;
  chain.work = sweep.plan.work;
  chain.millihertz = static_cast<uint64_t>(std::llround(cell.rate_per_second * 1000));
  if (cell.idle_gap) {
    chain.arrival = lab::Arrival::Bursts(chain.millihertz, sweep.plan.burst, *cell.idle_gap);
    chain.millihertz = chain.arrival.MeanOfBursts();
  }
  chain.message_bytes = cell.message_bytes.value_or(0);
  chain.alone = cell.cold;
  if (cell.cold) chain.millihertz = 1000;  // of one message
  chain.slots = cell.messages;
  chain.streams = static_cast<uint32_t>(cell.streams);
  chain.gated = cell.policy == "gated";
  chain.seed = cell.repeat == 1 ? sweep.plan.seed : Mix(sweep.plan.seed, static_cast<uint64_t>(cell.repeat));
  if (cell.round_trip) chain.one_way = *cell.round_trip / 2;
  return chain;
}

// What the threads share.
struct Progressing {
  std::mutex mutex;
  absl::Status status;  // the first failure
  std::string ended_early;
  size_t done = 0;
  SweepFile file;
};

void Work(Sweep& sweep, const std::vector<size_t>& order, std::atomic<size_t>& next, Progressing& shared) {
  for (;;) {
    const size_t at = next.fetch_add(1);
    if (at >= order.size()) return;
    report::SweepCell& cell = sweep.cells[order[at]];
    const absl::StatusOr<VirtualChain> chain = ChainOf(sweep, cell);
    const auto outcome_of = sweep.plan.simulated ? Predict : Measure;
    const absl::StatusOr<report::ArmRun> arm = chain.ok() ? outcome_of(*chain, sweep.stop_asked) : chain.status();
    const std::lock_guard lock(shared.mutex);
    if (arm.ok()) {
      report::FillCell(*arm, sweep.plan.work * sweep.plan.hops, sweep.plan.burst, cell);
      if (absl::Status status = shared.file.Add(cell); !status.ok() && shared.status.ok()) shared.status = status;
      ++shared.done;
      if (sweep.on_cell) sweep.on_cell(shared.done, cell);
    } else if (absl::IsCancelled(arm.status())) {
      shared.ended_early = std::string(MessageOf(arm.status()));
    } else if (shared.status.ok()) {
      shared.status = absl::Status(arm.status().code(), StrCat(cell.Key(), ": ", MessageOf(arm.status())));
    }
    if (!shared.status.ok() || !shared.ended_early.empty()) next = order.size();
  }
}

// Standard before exactly-once, so that what is compared stands together.
auto SettingOf(const report::SweepCell& cell) {
  return std::tuple(cell.round_trip.value_or(Duration{-1}), cell.message_bytes.value_or(0), cell.cold,
                    cell.idle_gap.value_or(Duration{-1}), cell.repeat, cell.rate_per_second, cell.streams, cell.client,
                    cell.arm != "std", cell.arm, cell.policy, cell.modack.value_or(Duration{-1}));
}

}  // namespace

absl::StatusOr<KeptSweep> ReadSweep(const std::string& folder) {
  absl::StatusOr<KeptSweep> kept = ReadSweepFile(StrCat(folder, "/", kSweepFile));
  if (!kept.ok()) {
    return absl::Status(kept.status().code(), StrCat(MessageOf(kept.status()), "; `hopgap sweep --out` writes one"));
  }
  std::sort(kept->cells.begin(), kept->cells.end(),
            [](const auto& one, const auto& other) { return SettingOf(one) < SettingOf(other); });
  return kept;
}

absl::StatusOr<report::SweepHere> HereOf(const report::Run& run, const std::string& name) {
  const absl::StatusOr<Plan> plan = PlanOf(run, "", std::nullopt);
  if (!plan.ok()) return plan.status();
  const VirtualChain& first = plan->chains.front();
  report::SweepHere here{.name = name,
                         .rate_per_second = static_cast<double>(first.millihertz) / 1000,
                         .streams = static_cast<int>(first.streams),
                         .arms = {},
                         .client = first.arm.model,
                         .policy = first.gated ? "gated" : "eager"};
  for (const VirtualChain& chain : plan->chains) here.arms.push_back(chain.arm.kind);
  return here;
}

absl::StatusOr<Duration> LiveLength(const Sweep& sweep) {
  Duration sum{0};
  for (const report::SweepCell& cell : sweep.cells) {
    const absl::StatusOr<VirtualChain> chain = ChainOf(sweep, cell);
    if (!chain.ok()) return chain.status();
    if (absl::Status status = CheckMeasurable(*chain); !status.ok()) {
      return absl::InvalidArgumentError(StrCat("--live: ", cell.Key(), ": ", MessageOf(status)));
    }
    sum += LengthToMeasure(*chain);
  }
  return sum;
}

absl::StatusOr<std::string> RunSweep(Sweep& sweep) {
  Progressing shared;
  if (absl::Status status = shared.file.Open(sweep.out, sweep.plan); !status.ok()) return status;
  std::vector<size_t> order;
  const uint64_t key = Mix(sweep.plan.seed, HashName("order of a sweep"));
  std::vector<size_t> drawn(sweep.cells.size());
  for (size_t i = 0; i < drawn.size(); ++i) drawn[Permute(key, drawn.size(), i)] = i;
  for (const size_t i : drawn) {
    const report::SweepCell* had = shared.file.Find(sweep.cells[i].Key());
    if (had == nullptr) {
      order.push_back(i);
      continue;
    }
    sweep.cells[i] = *had;
    ++shared.done;
  }
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  const size_t count = std::clamp<size_t>(sweep.threads, 1, std::max<size_t>(1, order.size()));
  for (size_t i = 0; i < count; ++i) threads.emplace_back([&] { Work(sweep, order, next, shared); });
  for (std::thread& thread : threads) thread.join();
  if (!shared.status.ok()) return shared.status;
  return shared.ended_early;
}

}  // namespace hopgap::cli
