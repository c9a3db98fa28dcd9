#include "remote/operations.h"

namespace hopgap::remote {

absl::Status ToAbsl(const grpc::Status& status) {
  // gRPC's codes are absl's.
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

bool Registry::Add(Cancellable& rpc) {
  std::lock_guard lock(mu_);
  if (closed_) return false;
  rpcs_.insert(&rpc);
  return true;
}

void Registry::Remove(Cancellable& rpc) {
  // Notified under the lock: the waiter may destroy the registry.
  std::lock_guard lock(mu_);
  rpcs_.erase(&rpc);
  if (rpcs_.empty()) none_.notify_all();
}

void Registry::Close() {
  std::unique_lock lock(mu_);
  closed_ = true;
  // Under the lock, so that none of them goes away meanwhile. Cancelling runs
  // no code of ours: completions come through the queue.
  for (Cancellable* rpc : rpcs_) rpc->CancelNow();
  none_.wait(lock, [this] { return rpcs_.empty(); });
}

}  // namespace hopgap::remote
