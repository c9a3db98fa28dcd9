#include "torture/broker.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "base/system_clock.h"
#include "base/text.h"

namespace hopgap::torture {
namespace {

std::atomic<pid_t> g_running{0};  // for the handler

void EndWithIt(int signal) {
  if (const pid_t running = g_running; running > 0) kill(running, SIGKILL);
  _exit(128 + signal);
}

// Under AddressSanitizer a library that comes before its own is otherwise refused.
std::vector<std::string> Environment(const Death& death) {
  if (!death.point) return {};
  return {StrCat("LD_PRELOAD=", HOPGAP_KILL_POINTS), "ASAN_OPTIONS=verify_asan_link_order=0",
          StrCat("HOPGAP_TORTURE_POINT=", kPointNames[static_cast<size_t>(*death.point)], ":", death.skip, ":",
                 death.draw)};
}

}  // namespace

Broker::Broker(const std::string& folder, const Death& death)
    : process_({HOPGAP_BINARY, "serve", "--port", "0", "--data", folder + "/data", "--admin", "--test-clock"}, folder,
               Environment(death)) {
  g_running = process_.pid();
}

void EndBrokerWhenStopped() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, EndWithIt);
}

bool Broker::WaitReady(Duration limit) {
  constexpr std::string_view kWords = "listening on ";
  if (!process_.WaitForText("PUBSUB_EMULATOR_HOST", limit)) return false;
  const size_t at = output().find(kWords) + kWords.size();
  port_ = ParseNumber<int>(std::string_view(output()).substr(at, output().find('\n', at) - at)).value_or(0);
  return port_ != 0;
}

void Broker::KillAt(Instant at) {
  killer_ = std::thread([this, at] {
    std::unique_lock lock(mu_);
    for (Instant now = SteadyNow(); now < at && !disarmed_; now = SteadyNow()) changed_.wait_for(lock, at - now);
    if (!disarmed_) process_.Signal(SIGKILL);
  });
}

void Broker::Disarm() {
  {
    const std::lock_guard lock(mu_);
    disarmed_ = true;
    changed_.notify_all();
  }
  if (killer_.joinable()) killer_.join();
}

bool Broker::dead() const {
  siginfo_t about{};
  return waitid(P_PID, static_cast<id_t>(process_.pid()), &about, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         about.si_pid != 0;
}

int Broker::Wait() {
  // The killer may do its work first; its signal must not meet another process of that number.
  siginfo_t about{};
  waitid(P_PID, static_cast<id_t>(process_.pid()), &about, WEXITED | WNOWAIT);
  Disarm();
  g_running = 0;
  return process_.Wait();
}

}  // namespace hopgap::torture
