#include "live/machine.h"

#include <sched.h>
#include <sys/timex.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/system_clock.h"
#include "base/text.h"

namespace hopgap::live {
namespace {

using Verdict = Finding::Verdict;

constexpr int64_t kClockErrorMaxUs = 10'000;  // what differences between machines may be wrong by
constexpr int kTimerSamples = 200;
constexpr Duration kTimerPeriod{std::chrono::milliseconds{2}};
constexpr Duration kTimerLateP99Max{std::chrono::milliseconds{1}};
constexpr double kCpusMin = 2;

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string_view Line(std::string_view text) { return text.substr(0, text.find('\n')); }

Finding ClockSync() {
  timex state{};
  const int answer = adjtimex(&state);
  Finding finding{.subject = "clock sync", .found = ""};
  const std::string advice =
      "times of other machines cannot be compared with this one's: start chrony, or "
      "timedatectl set-ntp true (a container sees its host's clock)";
  if (answer < 0) {
    finding.verdict = Verdict::kWarn;
    finding.found = "the kernel does not say";
  } else if (answer == TIME_ERROR || (state.status & STA_UNSYNC) != 0) {
    finding.verdict = Verdict::kWarn;
    finding.found = "the kernel says that the clock is not synchronized";
    finding.advice = advice;
  } else {
    finding.found = StrCat("synchronized; wrong by ", Millis(std::chrono::microseconds{state.maxerror}), " at most");
    if (state.maxerror > kClockErrorMaxUs) {
      finding.verdict = Verdict::kWarn;
      finding.advice = advice;
    }
  }
  return finding;
}

Finding TimerJitter() {
  std::vector<Duration> late;
  for (int i = 0; i < kTimerSamples; ++i) {
    const Instant due = SteadyNow() + kTimerPeriod;
    std::this_thread::sleep_for(kTimerPeriod);
    late.push_back(SteadyNow() - due);
  }
  std::sort(late.begin(), late.end());
  const Duration p99 = late[late.size() * 99 / 100];
  Finding finding{.subject = "timer jitter",
                  .found = StrCat("late by p50 ", Millis(late[late.size() / 2]), ", p99 ", Millis(p99), ", at most ",
                                  Millis(late.back()), " (n = ", kTimerSamples, ")")};
  if (p99 > kTimerLateP99Max) {
    finding.verdict = Verdict::kWarn;
    finding.advice = "something else uses the CPUs, or the virtual machine shares them: results below that are noise";
  }
  return finding;
}

Finding Cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  const int count = CPU_COUNT(&allowed);
  std::optional<double> limit = CpuLimit(Line(Read("/sys/fs/cgroup/cpu.max")));
  uint64_t throttled = Throttled(Read("/sys/fs/cgroup/cpu.stat"));
  if (!limit) {
    limit =
        CpuLimit(Line(Read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")), Line(Read("/sys/fs/cgroup/cpu/cpu.cfs_period_us")));
    throttled = std::max(throttled, Throttled(Read("/sys/fs/cgroup/cpu/cpu.stat")));
  }
  Finding finding{.subject = "CPU limits", .found = StrCat(count, count == 1 ? " CPU" : " CPUs")};
  if (limit) finding.found += StrCat(", of which the control group allows ", *limit);
  if (throttled > 0) finding.found += StrCat("; it was held back ", throttled, " times");
  if (std::min<double>(count, limit.value_or(count)) < kCpusMin) {
    finding.verdict = Verdict::kWarn;
    finding.advice = StrCat("a run needs ", kCpusMin, " CPUs: raise the limit, or keep the rate low");
  } else if (limit && throttled > 0) {
    finding.verdict = Verdict::kWarn;
    finding.advice = "a throttled process stops for tens of milliseconds at a time: raise or remove the CPU limit";
  }
  return finding;
}

}  // namespace

std::string Millis(Duration length) {
  const int64_t hundredths = (length.count() + 5'000) / 10'000;
  const int64_t rest = hundredths % 100;
  return StrCat(hundredths / 100, rest < 10 ? ".0" : ".", rest, " ms");
}

std::optional<double> CpuLimit(std::string_view cpu_max) {
  const size_t space = cpu_max.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  return CpuLimit(cpu_max.substr(0, space), cpu_max.substr(space + 1));
}

std::optional<double> CpuLimit(std::string_view quota_us, std::string_view period_us) {
  const std::optional<int64_t> quota = ParseNumber<int64_t>(quota_us), period = ParseNumber<int64_t>(period_us);
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

uint64_t Throttled(std::string_view cpu_stat) {
  constexpr std::string_view kName = "nr_throttled ";
  for (const std::string_view line : Split(cpu_stat, '\n')) {
    if (line.substr(0, kName.size()) == kName) return ParseNumber<uint64_t>(line.substr(kName.size())).value_or(0);
  }
  return 0;
}

std::vector<Finding> ExamineMachine() { return {ClockSync(), TimerJitter(), Cpus()}; }

}  // namespace hopgap::live
