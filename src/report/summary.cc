#include "report/summary.h"

#include <string_view>

namespace hopgap::report {

Duration ArmSummary::added() const {
  Duration sum{0};
  for (size_t i = 0; i < trace::kPathStages; ++i) sum += stages[i].added;
  return sum;
}

Duration ArmSummary::waited() const {
  Duration sum{0};
  for (size_t i = 0; i < trace::kPathStages; ++i) sum += stages[i].waited;
  return sum;
}

bool ArmSummary::added_anything() const {
  for (const StageSummary& stage : stages) {
    if (stage.added != Duration{0}) return true;
  }
  return false;
}

const ArmSummary* Summary::Find(std::string_view arm) const {
  for (const ArmSummary& candidate : arms) {
    if (candidate.run.name == arm) return &candidate;
  }
  return nullptr;
}

const Difference* Summary::Find(std::string_view arm, std::string_view stage) const {
  for (const Difference& candidate : differences) {
    if (candidate.arm == arm && candidate.stage == stage) return &candidate;
  }
  return nullptr;
}

std::vector<const ArmSummary*> Summary::Group(std::string_view group) const {
  std::vector<const ArmSummary*> out;
  for (const ArmSummary& arm : arms) {
    if (arm.run.group == group) out.push_back(&arm);
  }
  return out;
}

const ArmSummary* Summary::Baseline(std::string_view group) const {
  const std::vector<const ArmSummary*> members = Group(group);
  for (const ArmSummary* arm : members) {
    if (arm->run.kind == "std") return arm;
  }
  return members.empty() ? nullptr : members.front();
}

}  // namespace hopgap::report
