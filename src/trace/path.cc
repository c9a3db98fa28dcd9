#include "trace/path.h"

#include "base/check.h"

namespace hopgap::trace {
namespace {

struct Names {
  std::string_view name, key;
};
constexpr std::array<Names, kStages> kNames = {{
    {"send lateness", "send_lateness"},
    {"client publish", "client_publish"},
    {"publish RPC", "publish_rpc"},
    {"delivery gap", "delivery_gap"},
    {"dispatch gap", "dispatch_gap"},
    {"work", "work"},
    {"ack", "ack"},
}};

const Names& NamesOf(Stage stage) {
  const auto index = static_cast<size_t>(stage);
  HOPGAP_CHECK(index < kNames.size(), "no such stage");
  return kNames[index];
}

}  // namespace

std::string_view StageName(Stage stage) { return NamesOf(stage).name; }
std::string_view StageKey(Stage stage) { return NamesOf(stage).key; }

Duration Path::StageSum(Stage stage) const { return StageTimeSum(stage).length; }

StageTime Path::StageTimeSum(Stage stage) const {
  StageTime sum;
  for (const HopTimes& hop : hops) {
    const StageTime& one = hop.stages[static_cast<size_t>(stage)];
    sum.length += one.length;
    sum.added += one.added;
    sum.waited += one.waited;
  }
  return sum;
}

}  // namespace hopgap::trace
