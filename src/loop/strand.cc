#include "loop/strand.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/system_clock.h"

namespace hopgap::loop {

Strand::~Strand() {
  std::lock_guard lock(mu_);
  HOPGAP_CHECK(!running_ && queue_.empty(), "a strand was destroyed with tasks in it");
}

void Strand::Post(Task task) { Enqueue(std::move(task), false); }

bool Strand::TryPost(Task task) { return Enqueue(std::move(task), true); }

bool Strand::Enqueue(Task task, bool may_refuse) {
  std::unique_lock lock(mu_);
  if (may_refuse && queue_.size() >= queued_max_) {
    ++figures_.refused;
    return false;
  }
  queue_.push_back({std::move(task), SteadyNow()});
  figures_.queued_most = std::max(figures_.queued_most, queue_.size());
  if (!running_) RunQueue(lock);
  return true;
}

void Strand::RunQueue(std::unique_lock<std::mutex>& lock) {
  running_ = true;
  runner_ = std::this_thread::get_id();
  Instant now = SteadyNow();
  while (!queue_.empty()) {
    Queued next = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    next.task();
    next.task = nullptr;  // what it captured may be large, or post from a destructor
    const Instant end = SteadyNow();
    lock.lock();
    ++figures_.tasks;
    figures_.longest_task = std::max(figures_.longest_task, end - now);
    figures_.longest_wait = std::max(figures_.longest_wait, now - next.posted);
    now = end;
  }
  running_ = false;
  idle_.notify_all();
}

void Strand::Run(const Task& task) {
  {
    std::lock_guard lock(mu_);
    HOPGAP_CHECK(!running_ || runner_ != std::this_thread::get_id(),
                 "a task may not wait for another task of its strand");
  }
  std::mutex done_mu;
  std::condition_variable done_changed;
  bool done = false;
  Post([&] {
    task();
    // Notified under the lock: the waiter destroys all three as soon as it can.
    std::lock_guard lock(done_mu);
    done = true;
    done_changed.notify_one();
  });
  std::unique_lock lock(done_mu);
  done_changed.wait(lock, [&] { return done; });
}

void Strand::WaitIdle() {
  std::unique_lock lock(mu_);
  idle_.wait(lock, [this] { return !running_ && queue_.empty(); });
}

Strand::Figures Strand::figures() const {
  std::lock_guard lock(mu_);
  return figures_;
}

void Strand::ForgetLongest() {
  std::lock_guard lock(mu_);
  figures_.longest_task = figures_.longest_wait = Duration{0};
}

}  // namespace hopgap::loop
