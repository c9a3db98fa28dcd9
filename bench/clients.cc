// What exactly-once costs with each client model: the tables of docs/clients.md,
// which `./dev clients-table` writes. Virtual time, so the same on every machine.
#include <absl/strings/str_format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "broker/delays.h"
#include "client/model.h"
#include "formats/profile_file.h"
#include "lab/verdict.h"
#include "sim/world.h"

namespace hopgap {
namespace {

constexpr char kProject[] = "hopgap-replay";
constexpr int kHops = 3;
constexpr uint64_t kSeed = 203;
constexpr uint32_t kRunStreams = 4;  // of the published experiment

struct Plan {
  uint64_t per_second = 1;
  uint64_t messages = 2000;
  bool tiny = false;
};

absl::StatusOr<lab::Outcome> Simulate(const std::vector<std::string>& arms, const Plan& plan) {
  absl::StatusOr<formats::ProfileFile> file = formats::BuiltinProfile("cloud-replay");
  if (!file.ok()) return file.status();
  sim::Options options;
  options.lab.groups = {{.name = "replay", .project = kProject}};
  for (const std::string& text : arms) {
    absl::StatusOr<lab::ArmSpec> arm = lab::ParseArm(text, "go");
    if (!arm.ok()) return arm.status();
    options.lab.arms.push_back(*std::move(arm));
  }
  options.lab.hops = kHops;
  options.lab.work = std::chrono::milliseconds{200};
  options.lab.millihertz = plan.per_second * 1000;
  options.lab.slots = plan.messages;
  options.lab.streams = kRunStreams;
  options.lab.seed = kSeed;
  broker::Delays::Options delays{.profile = file->profile, .seed = kSeed, .strata = plan.messages};
  options.broker.delays[kProject] = std::make_shared<broker::Delays>(std::move(delays));
  absl::StatusOr<sim::Result> result = sim::Run(std::move(options));
  if (!result.ok()) return result.status();
  return std::move(result->outcome);
}

struct Spread {
  double mean = 0, p50 = 0, p95 = 0;
};
// In milliseconds, a hop.
Spread PerHop(std::vector<int64_t> nanos) {
  if (nanos.empty()) return {};
  std::sort(nanos.begin(), nanos.end());
  double sum = 0;
  for (const int64_t value : nanos) sum += static_cast<double>(value);
  const auto at = [&](double p) {
    return static_cast<double>(nanos[static_cast<size_t>(p * static_cast<double>(nanos.size() - 1))]) / 1e6 / kHops;
  };
  return {sum / static_cast<double>(nanos.size()) / 1e6 / kHops, at(0.5), at(0.95)};
}

// The difference of two arms on the same slots.
Spread Extra(const lab::Outcome& outcome, size_t arm, size_t baseline) {
  std::vector<int64_t> differences;
  for (size_t slot = 0; slot < outcome.paths[arm].size(); ++slot) {
    differences.push_back(
        (outcome.paths[arm][slot].until_handled - outcome.paths[baseline][slot].until_handled).count());
  }
  return PerHop(std::move(differences));
}

Spread OfStage(const lab::Outcome& outcome, size_t arm, trace::Stage stage) {
  std::vector<int64_t> sums;
  for (const trace::Path& path : outcome.paths[arm]) sums.push_back(path.StageSum(stage).count());
  return PerHop(std::move(sums));
}

bool KeepsUp(const lab::Outcome& outcome, size_t arm) {
  const lab::ArmCounts& counts = outcome.arms[arm].counts;
  return counts.completed == counts.sent;
}

// "412 / 1,305" or why there is none.
std::string ExtraCell(const lab::Outcome& outcome, size_t arm, size_t baseline) {
  if (!KeepsUp(outcome, baseline)) return "standard falls behind";
  if (!KeepsUp(outcome, arm)) {
    const lab::ArmCounts& counts = outcome.arms[arm].counts;
    const double seconds = ToMillis(outcome.end - outcome.first) / 1e3;
    return absl::StrFormat("falls behind: %.1f/s", static_cast<double>(counts.completed) / seconds);
  }
  const Spread extra = Extra(outcome, arm, baseline);
  return absl::StrFormat("%.0f / %.0f", extra.p50, extra.p95);
}

struct Row {
  std::string label, streams, arm, baseline;
};

std::vector<Row> Rows() {
  std::vector<Row> rows;
  for (const std::string& name : client::ModelNames()) {
    rows.push_back({name, StrCat(kRunStreams), StrCat("eos-", name), StrCat("std-", name)});
  }
  for (const std::string& name : client::ModelNames()) {
    if (name == "pipelined" || name == "overlap") continue;  // ours have no default of their own
    rows.push_back({name, StrCat(client::FindModel(name)->streams), StrCat("own:eos-", name, ",streams=default"),
                    StrCat("base:std-", name, ",streams=default")});
  }
  rows.push_back({"std-dedupe", StrCat(kRunStreams), "std-dedupe", "std"});
  return rows;
}

absl::Status PrintRow(const Row& row, const std::vector<Plan>& plans) {
  std::string cells;
  for (const Plan& plan : plans) {
    absl::StatusOr<lab::Outcome> outcome = Simulate({row.baseline, row.arm}, plan);
    if (!outcome.ok()) return outcome.status();
    if (cells.empty()) {
      cells = absl::StrFormat(
          " %.0f | %.0f |", OfStage(*outcome, 1, trace::Stage::kDispatchGap).p50,
          OfStage(*outcome, 1, trace::Stage::kDeliveryGap).p50 - OfStage(*outcome, 0, trace::Stage::kDeliveryGap).p50);
    }
    cells += StrCat(" ", ExtraCell(*outcome, 1, 0), " |");
  }
  std::printf("| %s | %s |%s\n", row.label.c_str(), row.streams.c_str(), cells.c_str());
  return absl::OkStatus();
}

int Main(bool tiny) {
  std::vector<Plan> plans = {{.per_second = 1, .messages = 2000}, {.per_second = 20, .messages = 2000}};
  if (tiny) plans = {{.per_second = 1, .messages = 20}, {.per_second = 20, .messages = 20}};
  std::printf("| model | streams | dispatch gap | delivery gap, more | extra at 1/s | extra at 20/s |\n");
  std::printf("|---|---|---|---|---|---|\n");
  for (const Row& row : Rows()) {
    if (absl::Status status = PrintRow(row, plans); !status.ok()) {
      std::fprintf(stderr, "%s: %s\n", row.arm.c_str(), std::string(MessageOf(status)).c_str());
      return 2;
    }
  }
  return 0;
}

}  // namespace
}  // namespace hopgap

int main(int argc, char** argv) { return hopgap::Main(argc > 1 && std::string_view(argv[1]) == "--tiny"); }
