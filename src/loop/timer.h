#pragma once

#include <absl/container/flat_hash_map.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/time.h"

namespace hopgap::loop {

// Calls back at instants of the monotonic clock, from one thread of its own, in
// the order of the instants (equal ones in the order in which they were set).
//
// A callback should be short or post to a strand; while it runs, others are
// late, and the timer counts that in its own lateness. Nothing is called early.
//
// Thread-safe. Callbacks run without any lock of the timer held and may set and
// cancel. A callback that is not reached before the timer is stopped or
// destroyed never runs.
class Timer {
 public:
  using Token = uint64_t;
  using Callback = std::function<void()>;
  // Callbacks waiting at once. One chain message needs one; beyond it somebody
  // sets timers in a loop, which is our error.
  static constexpr size_t kPendingMax = 10'000'000;

  Timer();
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Calls `callback` once, at `at` or as soon after it as the machine allows.
  // Instants that have passed are due at once.
  Token Set(Instant at, Callback callback);

  // True if the callback had not begun; it never will. False if it ran, was
  // cancelled or is running: then this waits until it has returned, unless it
  // is called by a callback itself. So what the callback uses may be destroyed
  // afterwards. Unknown tokens are fine.
  bool Cancel(Token token);

  // Ends the thread; idempotent, implied by the destructor. Requires: not
  // called by a callback.
  void Stop();

  // What the timer measured on itself.
  struct Figures {
    uint64_t fired = 0;
    Duration worst_lateness{0};  // after the instant, or after Set() if that came later
    Duration longest_callback{0};
  };
  Figures figures() const;
  // Starts the worst and longest figures anew.
  void ForgetLongest();

 private:
  struct Entry {
    Instant at;
    Instant due_from;  // the instant, or that of Set() if later
    Callback callback;
  };
  void Loop();
  void Fire(std::unique_lock<std::mutex>& lock, Token token);

  mutable std::mutex mu_;
  std::condition_variable changed_;  // an earlier entry, or stopping
  std::condition_variable fired_;    // a callback returned
  // Guarded by mu_. Both hold the same tokens.
  std::set<std::pair<Instant, Token>> order_;
  absl::flat_hash_map<Token, Entry> entries_;
  Token next_token_ = 1;
  Token running_token_ = 0;  // 0: none
  std::thread::id loop_id_;
  bool stopping_ = false;
  Figures figures_;
  // Last: the loop uses all of the above.
  std::thread thread_;
};

}  // namespace hopgap::loop
