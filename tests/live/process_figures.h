#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace hopgap::tests {

// Processor time that a process has used, in seconds; its resolution is 10 ms.
inline double CpuSeconds(pid_t pid) {
  std::ostringstream text;
  text << std::ifstream("/proc/" + std::to_string(pid) + "/stat").rdbuf();
  // The name, in brackets, may hold anything; utime and stime are 12th and 13th after it.
  const size_t after = text.str().rfind(')');
  if (after == std::string::npos) return 0;
  std::istringstream fields(text.str().substr(after + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// What of it is in memory.
inline double ResidentMiB(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  double size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

}  // namespace hopgap::tests
