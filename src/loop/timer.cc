#include "loop/timer.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/system_clock.h"

namespace hopgap::loop {
namespace {

// libstdc++ waits for steady_clock instants on CLOCK_MONOTONIC
// (pthread_cond_clockwait), the clock that SteadyNow() reads.
std::chrono::steady_clock::time_point ToChrono(Instant at) {
  return std::chrono::steady_clock::time_point(at.time_since_epoch());
}

// The kernel may round a thread's wake-ups by 50 us by default.
constexpr unsigned long kTimerSlackNs = 1;

}  // namespace

Timer::Timer() : thread_([this] { Loop(); }) {}

Timer::~Timer() { Stop(); }

Timer::Token Timer::Set(Instant at, Callback callback) {
  const Instant now = SteadyNow();
  std::lock_guard lock(mu_);
  HOPGAP_CHECK(entries_.size() < kPendingMax, "more timers are set than anything of ours can need");
  const Token token = next_token_++;
  const bool earliest = order_.empty() || at < order_.begin()->first;
  order_.emplace(at, token);
  entries_.emplace(token, Entry{at, std::max(at, now), std::move(callback)});
  if (earliest) changed_.notify_one();
  return token;
}

bool Timer::Cancel(Token token) {
  std::unique_lock lock(mu_);
  if (const auto found = entries_.find(token); found != entries_.end()) {
    order_.erase({found->second.at, token});
    const Callback dropped = std::move(found->second.callback);
    entries_.erase(found);
    lock.unlock();  // what the callback captured is destroyed outside the lock
    return true;
  }
  if (std::this_thread::get_id() == loop_id_) return false;
  fired_.wait(lock, [&] { return running_token_ != token; });
  return false;
}

void Timer::Stop() {
  {
    std::lock_guard lock(mu_);
    HOPGAP_CHECK(std::this_thread::get_id() != loop_id_, "a timer callback may not stop its timer");
    stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void Timer::Loop() {
  prctl(PR_SET_TIMERSLACK, kTimerSlackNs, 0, 0, 0);
  std::unique_lock lock(mu_);
  loop_id_ = std::this_thread::get_id();
  while (!stopping_) {
    if (order_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto [at, token] = *order_.begin();
    if (SteadyNow() < at) {
      changed_.wait_until(lock, ToChrono(at));
      continue;
    }
    Fire(lock, token);
  }
}

void Timer::Fire(std::unique_lock<std::mutex>& lock, Token token) {
  const auto found = entries_.find(token);
  Entry entry = std::move(found->second);
  entries_.erase(found);
  order_.erase({entry.at, token});
  running_token_ = token;
  lock.unlock();
  const Instant start = SteadyNow();
  entry.callback();
  entry.callback = nullptr;
  const Instant end = SteadyNow();
  lock.lock();
  running_token_ = 0;
  ++figures_.fired;
  figures_.worst_lateness = std::max(figures_.worst_lateness, start - entry.due_from);
  figures_.longest_callback = std::max(figures_.longest_callback, end - start);
  fired_.notify_all();
}

Timer::Figures Timer::figures() const {
  std::lock_guard lock(mu_);
  return figures_;
}

void Timer::ForgetLongest() {
  std::lock_guard lock(mu_);
  figures_.worst_lateness = figures_.longest_callback = Duration{0};
}

}  // namespace hopgap::loop
