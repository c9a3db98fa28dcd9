#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/time.h"

namespace hopgap::loop {

// Runs tasks one at a time, in the order in which they were posted.
//
// It has no thread of its own: the thread that posts to an idle strand runs it
// until the queue is empty, its own task and those that others post meanwhile.
// A hand-off to another thread would cost as much as the round trips that
// hopgap measures. So Post() may return before its task has run (somebody else
// runs the strand) or long after it (we ran other tasks too). A task may post.
//
// Thread-safe. Tasks run without any lock of the strand held. The strand must
// be idle, and must stay so, when it is destroyed.
class Strand {
 public:
  using Task = std::function<void()>;
  // Tasks waiting before TryPost() refuses.
  static constexpr size_t kQueuedMax = 100'000;

  explicit Strand(size_t queued_max = kQueuedMax) : queued_max_(queued_max) {}
  ~Strand();
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  // For what must not be lost: the end of something that was admitted, so that
  // the number of such tasks is bounded by what was admitted.
  void Post(Task task);

  // For new work: false, and counted, when `queued_max` tasks wait already. The
  // caller answers the work's sender.
  [[nodiscard]] bool TryPost(Task task);

  // Posts and returns when the task has run. Requires: not called by a task of
  // this strand.
  void Run(const Task& task);

  // Returns once no task is running or queued.
  void WaitIdle();

  // What the strand measured on itself.
  struct Figures {
    uint64_t tasks = 0;
    uint64_t refused = 0;
    size_t queued_most = 0;  // tasks waiting at once
    Duration longest_task{0};
    Duration longest_wait{0};  // from Post() to the start of the task
  };
  Figures figures() const;
  // Starts the longest figures anew: what came before them was set-up.
  void ForgetLongest();

 private:
  struct Queued {
    Task task;
    Instant posted;
  };
  bool Enqueue(Task task, bool may_refuse);
  void RunQueue(std::unique_lock<std::mutex>& lock);

  const size_t queued_max_;
  mutable std::mutex mu_;
  std::condition_variable idle_;
  // Guarded by mu_.
  std::deque<Queued> queue_;
  bool running_ = false;
  std::thread::id runner_;  // while running_
  Figures figures_;
};

}  // namespace hopgap::loop
