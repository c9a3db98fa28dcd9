#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/time.h"
#include "broker/journal.h"
#include "loop/timer.h"
#include "pubsub/bytes.h"
#include "server/call.h"
#include "server/health_watches.h"

namespace hopgap::server {

// The dispatcher's data, for the dispatcher alone. The strand's, where nothing
// else is said.
class DispatcherState {
 protected:
  struct Open {
    CallRef call;
    bool stream = false;
  };
  using LocalAnswer = std::function<void(absl::Status, const pubsub::Slices&)>;
  // Calls of clients count up from 1 and never come here.
  static constexpr uint64_t kFirstLocalCall = uint64_t{1} << 63;
  // A response that the planted wire delay holds back.
  struct HeldWrite {
    Instant due;
    uint64_t id = 0;
    pubsub::Slices payload;
  };
  struct Advance {
    int64_t ahead_ns = 0;                                // where it ends
    std::shared_ptr<std::promise<absl::Status>> answer;  // the waiter may go on before it is let go
  };
  struct Armed {
    Instant at;
    loop::Timer::Token token = 0;
  };

  absl::flat_hash_map<uint64_t, Open> open_;  // never iterated
  std::deque<HeldWrite> held_;                // one delay for all: due in order
  std::optional<Armed> armed_;
  std::map<uint64_t, LocalAnswer> local_;  // our own calls, by their ids
  uint64_t next_local_ = kFirstLocalCall;
  HealthWatches watches_;
  std::deque<Advance> advances_;  // of the clock; the first is under way
  // Of groups of records: the last that somebody waits for, and the last that is durable.
  broker::PersistToken awaited_ = 0, persisted_ = 0;
  bool broker_stopped_ = false;
  bool closed_ = false;

  std::atomic<int64_t> ahead_ns_{0};  // of the steady clock; never falls. Written on the strand

  std::mutex persists_mu_;
  std::condition_variable persists_done_;
  size_t persists_ = 0;  // guarded: groups that are not durable yet
};

}  // namespace hopgap::server
