#include "tools/symbols.h"

#include <algorithm>
#include <array>

#include "tools/files.h"

namespace hopgap::house {
namespace {

constexpr std::string_view kClock = "reads a clock";
constexpr std::string_view kSleep = "sleeps";
constexpr std::string_view kThread = "starts a thread or takes a lock";
constexpr std::string_view kRandom = "draws true or hidden randomness";
constexpr std::string_view kEnvironment = "looks at the environment";
constexpr std::string_view kSocket = "touches a socket";
constexpr std::string_view kFile = "touches a file";
constexpr std::string_view kProcess = "starts a process";

struct Entry {
  std::string_view name;
  std::string_view why;
};

// C symbols, compared whole.
constexpr auto kWhole = std::to_array<Entry>({
    {"clock_gettime", kClock},
    {"gettimeofday", kClock},
    {"time", kClock},
    {"clock", kClock},
    {"ftime", kClock},
    {"timespec_get", kClock},
    {"times", kClock},
    {"getrusage", kClock},
    {"localtime", kEnvironment},
    {"localtime_r", kEnvironment},
    {"mktime", kEnvironment},
    {"clock_nanosleep", kSleep},
    {"nanosleep", kSleep},
    {"usleep", kSleep},
    {"sleep", kSleep},
    {"pthread_create", kThread},
    {"pthread_mutex_lock", kThread},
    {"pthread_cond_wait", kThread},
    {"pthread_cond_timedwait", kThread},
    {"pthread_cond_clockwait", kThread},
    {"rand", kRandom},
    {"rand_r", kRandom},
    {"srand", kRandom},
    {"random", kRandom},
    {"srandom", kRandom},
    {"drand48", kRandom},
    {"lrand48", kRandom},
    {"getrandom", kRandom},
    {"getentropy", kRandom},
    {"arc4random", kRandom},
    {"getenv", kEnvironment},
    {"secure_getenv", kEnvironment},
    {"setenv", kEnvironment},
    {"environ", kEnvironment},
    {"gethostname", kEnvironment},
    {"getpid", kEnvironment},
    {"socket", kSocket},
    {"socketpair", kSocket},
    {"connect", kSocket},
    {"bind", kSocket},
    {"listen", kSocket},
    {"accept", kSocket},
    {"accept4", kSocket},
    {"send", kSocket},
    {"sendto", kSocket},
    {"sendmsg", kSocket},
    {"recv", kSocket},
    {"recvfrom", kSocket},
    {"recvmsg", kSocket},
    {"poll", kSocket},
    {"select", kSocket},
    {"epoll_wait", kSocket},
    {"getaddrinfo", kSocket},
    {"open", kFile},
    {"open64", kFile},
    {"__open_2", kFile},
    {"openat", kFile},
    {"openat64", kFile},
    {"creat", kFile},
    {"fopen", kFile},
    {"fopen64", kFile},
    {"freopen", kFile},
    {"fdopen", kFile},
    {"tmpfile", kFile},
    {"mkstemp", kFile},
    {"read", kFile},
    {"write", kFile},
    {"pread", kFile},
    {"pwrite", kFile},
    {"fread", kFile},
    {"mmap", kFile},
    {"fsync", kFile},
    {"fdatasync", kFile},
    {"unlink", kFile},
    {"remove", kFile},
    {"rename", kFile},
    {"mkdir", kFile},
    {"stat", kFile},
    {"fstat", kFile},
    {"opendir", kFile},
    {"system", kProcess},
    {"popen", kProcess},
    {"fork", kProcess},
    {"execve", kProcess},
    {"posix_spawn", kProcess},
});

// C++ symbols, by the beginning of their mangled name.
constexpr auto kPrefixes = std::to_array<Entry>({
    {"_ZNSt6chrono3_V212system_clock3now", kClock},
    {"_ZNSt6chrono3_V212steady_clock3now", kClock},
    {"_ZN6hopgap4base9SteadyNow", kClock},
    {"_ZN6hopgap4base7WallNow", kClock},
    {"_ZN6hopgap4base10ReadAnchor", kClock},
    {"_ZNSt6thread", kThread},
    {"_ZNSt18condition_variable", kThread},
    {"_ZNSt13random_device", kRandom},
    {"_ZNSt10filesystem", kFile},
    {"_ZNSt13basic_filebuf", kFile},
    {"_ZNSt14basic_ifstream", kFile},
    {"_ZNSt14basic_ofstream", kFile},
    {"_ZNSt13basic_fstream", kFile},
});

// Abseil's namespace carries its release, so these are looked for inside.
constexpr auto kAbseil = std::to_array<Entry>({
    {"3NowEv", kClock},
    {"GetCurrentTimeNanos", kClock},
    {"SleepFor", kSleep},
    {"5Mutex", kThread},
    {"7CondVar", kThread},
    {"14ThreadIdentity", kThread},
    {"randen", kRandom},
    {"13RandenPool", kRandom},
});

}  // namespace

std::string_view WhyForbidden(std::string_view symbol) {
  for (const Entry& entry : kWhole) {
    if (symbol == entry.name) return entry.why;
  }
  for (const Entry& entry : kPrefixes) {
    if (symbol.starts_with(entry.name)) return entry.why;
  }
  if (symbol.find("4absl") == std::string_view::npos) return {};
  for (const Entry& entry : kAbseil) {
    if (symbol.find(entry.name) != std::string_view::npos) return entry.why;
  }
  return {};
}

Findings CheckSymbols(std::string_view nm_output, const std::vector<std::string>& exempt) {
  Findings findings;
  for (const std::string& line : Lines(nm_output)) {
    // "libhopgap_base.a:check.cc.o:                 U fprintf"
    const size_t colon = line.rfind(": ");
    const std::vector<std::string> words = Words(colon == std::string::npos ? line : line.substr(colon + 1));
    if (colon == std::string::npos || words.size() != 2) {
      if (!line.empty()) findings.push_back({line, 0, "nm's output could not be read"});
      continue;
    }
    const std::string place = line.substr(0, colon);
    const std::string object = place.substr(place.rfind(':') + 1);
    if (std::ranges::find(exempt, object) != exempt.end()) continue;
    const std::string_view why = WhyForbidden(words[1]);
    if (why.empty()) continue;
    findings.push_back({place, 0, "a deciding room " + std::string(why) + ": " + words[1] + " (hand it in instead)"});
  }
  return findings;
}

}  // namespace hopgap::house
