// What the process itself asks of its broker.
#include <future>
#include <utility>

#include "server/dispatcher.h"

namespace hopgap::server {

using broker::Actions;
using broker::CallId;

absl::StatusOr<pubsub::Bytes> Dispatcher::Ask(pubsub::Method method, pubsub::Request request) {
  // Shared: whoever sets it may still be inside when the waiter has it.
  const auto answer = std::make_shared<std::promise<absl::StatusOr<pubsub::Bytes>>>();
  std::future<absl::StatusOr<pubsub::Bytes>> answered = answer->get_future();
  strand_.Post([this, answer, method, request = std::move(request)]() mutable {
    const uint64_t id = next_local_++;
    local_.emplace(id, [answer](absl::Status status, const pubsub::Slices& payload) {
      if (status.ok()) {
        answer->set_value(pubsub::Bytes(pubsub::Join(payload)));
      } else {
        answer->set_value(std::move(status));
      }
    });
    Actions actions;
    broker_.OnCall(Now(), CallId{id}, method, std::move(request), actions);
    Perform(actions);
  });
  return answered.get();
}

bool Dispatcher::ReplyLocally(broker::Action& action) {
  const uint64_t id = static_cast<uint64_t>(action.call);
  if (id < kFirstLocalCall) return false;
  const auto found = local_.find(id);
  if (found == local_.end()) return true;
  const LocalAnswer answer = std::move(found->second);
  local_.erase(found);
  answer(std::move(action.status), action.payload);
  return true;
}

}  // namespace hopgap::server
