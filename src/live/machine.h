#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "live/finding.h"

namespace hopgap::live {

// Whether this machine can measure: its clock's synchronisation, the lateness of
// its timers, the CPUs it may use. Takes about half a second.
std::vector<Finding> ExamineMachine();

// CPUs that a control group allows: "200000 100000" of cgroup v2's cpu.max, or
// the two files of v1. nullopt: no limit, or no such text.
std::optional<double> CpuLimit(std::string_view cpu_max);
std::optional<double> CpuLimit(std::string_view quota_us, std::string_view period_us);
// How often a group was held back: nr_throttled of cpu.stat; 0 if it does not say.
uint64_t Throttled(std::string_view cpu_stat);

}  // namespace hopgap::live
