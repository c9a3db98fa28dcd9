// What the process itself asks of its broker.
#include <future>
#include <utility>

#include "server/dispatcher.h"

namespace hopgap::server {

using broker::Actions;
using broker::CallId;

namespace {

// What is still to be answered, and who waits for it. Shared: whoever answers
// last may still be inside when the waiter has gone on.
struct Asked {
  std::vector<absl::StatusOr<pubsub::Bytes>> answers;
  size_t open = 0;
  std::promise<void> done;
};

}  // namespace

std::vector<absl::StatusOr<pubsub::Bytes>> Dispatcher::AskAll(std::vector<LocalRequest> requests) {
  if (requests.empty()) return {};
  const auto asked = std::make_shared<Asked>();
  asked->open = requests.size();
  asked->answers.resize(requests.size(), absl::UnknownError("not answered"));
  std::future<void> done = asked->done.get_future();
  strand_.Post([this, asked, requests = std::move(requests)]() mutable {
    for (size_t i = 0; i < requests.size(); ++i) {
      const uint64_t id = next_local_++;
      local_.emplace(id, [asked, i](absl::Status status, const pubsub::Slices& payload) {
        if (status.ok()) {
          asked->answers[i] = pubsub::Bytes(pubsub::Join(payload));
        } else {
          asked->answers[i] = std::move(status);
        }
        if (--asked->open == 0) asked->done.set_value();
      });
      Actions actions;
      broker_.OnCall(Now(), CallId{id}, requests[i].method, std::move(requests[i].request), actions);
      Perform(actions);
    }
  });
  done.wait();
  return std::move(asked->answers);
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
