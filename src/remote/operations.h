#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/support/status.h>

#include <absl/status/status.h>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>

#include "base/time.h"

namespace hopgap::remote {

absl::Status ToAbsl(const grpc::Status& status);

// What a completion queue hands back. The polling thread calls Complete() once
// per operation begun.
class Op {
 public:
  virtual ~Op() = default;
  // `at`: right after the queue gave it.
  virtual void Complete(bool ok, Instant at) = 0;
};

// An RPC that Shutdown() can cancel.
class Cancellable {
 public:
  virtual ~Cancellable() = default;
  virtual void CancelNow() = 0;
};

// The RPCs under way. No operation may be begun on a queue that is shut down, so
// every RPC is here from before its first operation until after its last.
// Thread-safe.
class Registry {
 public:
  // False after Close(): the RPC must not be begun.
  [[nodiscard]] bool Add(Cancellable& rpc);
  // The last thing an RPC does with its queue.
  void Remove(Cancellable& rpc);
  // Cancels all and waits until the last is removed.
  void Close();

 private:
  std::mutex mu_;
  std::condition_variable none_;
  std::set<Cancellable*> rpcs_;  // guarded
  bool closed_ = false;          // guarded
};

}  // namespace hopgap::remote
