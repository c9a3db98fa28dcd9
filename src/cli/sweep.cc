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
#include <utility>

#include "base/draw.h"
#include "base/text.h"
#include "cli/prediction.h"
#include "formats/sweep_json.h"
#include "lab/arm.h"

namespace hopgap::cli {
namespace {

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
  std::ifstream in(path_, std::ios::binary);
  std::string line;
  bool first = true;
  while (std::getline(in, line)) {
    if (first) {
      const absl::StatusOr<report::SweepPlan> had = formats::ParseSweepPlanLine(line);
      if (!had.ok()) return absl::FailedPreconditionError(StrCat(path_, ": no sweep: ", MessageOf(had.status())));
      if (!(*had == plan)) {
        return absl::FailedPreconditionError(
            StrCat(path_,
                   ": holds a sweep of another plan (profile, hops, work, length, messages, seed or version); "
                   "choose another --out, or repeat that one's options"));
      }
      first = false;
      continue;
    }
    absl::StatusOr<report::SweepCell> cell = formats::ParseSweepCellLine(line);
    if (cell.ok()) done_[cell->Key()] = *std::move(cell);
  }
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
  chain.slots = cell.messages;
  chain.streams = static_cast<uint32_t>(cell.streams);
  chain.gated = cell.policy == "gated";
  chain.seed = sweep.plan.seed;
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
    const absl::StatusOr<report::ArmRun> arm = chain.ok() ? Predict(*chain, sweep.stop_asked) : chain.status();
    const std::lock_guard lock(shared.mutex);
    if (arm.ok()) {
      report::FillCell(*arm, sweep.plan.work * sweep.plan.hops, cell);
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

}  // namespace

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
