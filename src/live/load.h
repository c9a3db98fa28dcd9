#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "lab/schedule.h"
#include "lab/users.h"
#include "loop/timer.h"
#include "remote/http_client.h"

namespace hopgap::live {

// The open-loop generator over HTTP: each slot of the schedule is a `POST` to
// every URL, in an order that rotates, at its instant whatever became of the
// earlier ones. Latencies run from the slot's due instant. With `users` the
// requests under way are bounded, and a slot that finds none free is not sent.
//
// Start(), Stop() and the destructor are for one thread; the rest is thread-safe.
class Load {
 public:
  // Requests waiting for a connection; a slot beyond it is not sent, and counted.
  static constexpr size_t kQueuedMax = 100'000;
  static constexpr size_t kConnectionsMax = 64;  // per URL
  static constexpr uint32_t kUsersMax = 1'000;   // per URL

  struct Target {
    std::string name;
    remote::Url url;
    Duration offset{0};  // of its slots
    size_t group = 0;    // targets of a group share slots and rotate
  };
  // One request. kNever: has not happened.
  struct Row {
    Instant due = kNever, sent = kNever, answered = kNever;
    int status = 0;  // of HTTP; 0: no answer
    std::string error;
    std::optional<uint64_t> iteration;  // with users: its number among those that were sent
  };
  struct Options {
    std::vector<Target> targets;
    uint64_t millihertz = 1000;
    lab::Arrival arrival;
    uint64_t slots = 31;
    uint64_t body_bytes = 0;  // of lab::DataOf; 0: no body, and the API chooses
    ClockAnchor anchor;
    Duration timeout{std::chrono::seconds{30}};
    std::optional<lab::Users::Options> users;  // of each target, at most kUsersMax
    // The W3C trace context a message starts in; none: the API begins a trace.
    std::function<std::string(size_t target, uint64_t slot)> traceparent;
  };
  struct Figures {
    uint64_t sent = 0, answered = 0, failed = 0, dropped = 0;
    std::string last_error;
    // With users: how many there are, and what to ask for instead, or empty.
    uint32_t users = 0;
    std::string advice;
  };

  explicit Load(Options options);
  ~Load();

  // Slot 0 of a target is due at `first` + its offset.
  void Start(Instant first);
  // No further slot is sent.
  void EndSending() { ending_ = true; }
  bool AllSent() const;  // each sent and answered, or given up
  // Waits for the requests under way.
  void Stop();

  Figures figures(size_t target) const;
  // When Stop() has returned. By slot.
  const std::vector<Row>& rows(size_t target) const { return rows_[target]; }
  // Send latenesses so far, of the last `slots_max` slots.
  std::vector<int64_t> Lateness(size_t target, uint64_t slots_max) const;

 private:
  struct Job {
    size_t target = 0;
    uint64_t slot = 0;
  };
  void Aim(size_t group, uint64_t slot);
  void Enqueue(size_t group, uint64_t slot);
  void Give(size_t target, uint64_t slot);
  void AddThread(size_t target, bool is_made);
  void Work(size_t target);
  void Perform(remote::HttpClient& client, const Job& job);

  const Options options_;
  const lab::Schedule schedule_;
  std::vector<std::vector<size_t>> groups_;
  Instant first_ = kNever;
  std::atomic<bool> ending_{false};

  mutable std::mutex mu_;
  std::condition_variable work_;
  // Guarded by mu_.
  std::vector<std::deque<Job>> queues_;  // by target
  std::vector<size_t> idle_, threads_of_;
  std::vector<lab::Users> users_;  // by target; none: unbounded
  std::vector<std::vector<Row>> rows_;
  std::vector<Figures> figures_;
  uint64_t scheduled_left_ = 0, under_way_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;

  loop::Timer timer_;  // last: its callbacks use all of the above
};

}  // namespace hopgap::live
