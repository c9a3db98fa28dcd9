#include "cli/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "base/check.h"

namespace hopgap::cli {
namespace {

std::atomic<int> asked{0};
int pipe_ends[2] = {-1, -1};

// Async-signal-safe: an atomic, a write, an _exit.
void OnSignal(int signal) {
  int none = 0;
  if (!asked.compare_exchange_strong(none, signal)) _exit(128 + signal);
  const char byte = 1;
  [[maybe_unused]] const ssize_t written = write(pipe_ends[1], &byte, 1);
}

}  // namespace

void InstallSignals() {
  HOPGAP_CHECK(pipe2(pipe_ends, O_CLOEXEC) == 0, "a process can make a pipe");
  struct sigaction action {};
  action.sa_handler = OnSignal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

int StopSignal() { return asked.load(); }

void WaitForStopSignal() {
  pollfd readable{.fd = pipe_ends[0], .events = POLLIN, .revents = 0};
  while (StopSignal() == 0) poll(&readable, 1, -1);
}

std::string StopReason() { return StopSignal() == 0 ? std::string() : SignalName(StopSignal()); }

std::string SignalName(int signal) { return signal == SIGINT ? "SIGINT (Ctrl-C)" : "SIGTERM"; }

}  // namespace hopgap::cli
