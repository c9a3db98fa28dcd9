// The polling thread's half of the dispatcher, and what it posts.
#include <absl/status/statusor.h>

#include <optional>
#include <utility>
#include <variant>

#include "base/text.h"
#include "pubsub/error_details.h"
#include "server/dispatcher.h"

namespace hopgap::server {
namespace {

using broker::Actions;
using broker::CallId;
using broker::StreamId;

constexpr char kQueueFull[] = "the broker's queue of requests is full: send fewer at a time, and retry with backoff";

// What failed of many ids has to fit into one answer; see pubsub/error_details.h.
void NoteCaller(const Call& call, pubsub::Request& request) {
  const size_t takes = pubsub::DetailsBytesMaxOf(call.Header("user-agent"));
  if (auto* ack = std::get_if<pubsub::AcknowledgeRequest>(&request)) ack->details_bytes_max = takes;
  if (auto* modify = std::get_if<pubsub::ModifyAckDeadlineRequest>(&request)) modify->details_bytes_max = takes;
}

}  // namespace

void Dispatcher::OnRequested(const CallRef& call) {
  // Who only asks whether the server is there may ask without saying who he is:
  // health checks of orchestrators cannot.
  if (options_.admission && call->path() != kHealthCheckPath) {
    const absl::Status admitted = options_.admission(call->path(), call->Header("authorization"));
    if (!admitted.ok()) return call->Finish(admitted, {});
  }
  if (call->path() != kProbePath && call->path() != kHealthCheckPath && call->path() != kHealthWatchPath) {
    call->method = pubsub::MethodFromPath(call->path());
    if (!call->method.has_value()) {
      return call->Finish(absl::UnimplementedError(pubsub::UnimplementedText(call->path())), {});
    }
  }
  call->Read();
}

void Dispatcher::OnRead(const CallRef& call, pubsub::Bytes message) {
  if (!call->method.has_value()) {
    if (call->path() == kProbePath) return call->Reply({});
    return ReadHealth(call, message);
  }
  if (*call->method == pubsub::Method::kStreamingPull) return ReadStream(call, message);
  ReadUnary(call, std::move(message));
}

void Dispatcher::ReadHealth(const CallRef& call, const pubsub::Bytes& message) {
  absl::StatusOr<std::string> service = DecodeHealthRequest(message.view());
  if (!service.ok()) return call->Finish(service.status(), {});
  if (call->path() == kHealthCheckPath) {
    if (HasHealth(*service)) return call->Reply(EncodeHealthResponse(HealthStatus::kServing));
    return call->Finish(absl::NotFoundError(StrCat("unknown service: '", *service, "'")), {});
  }
  call->posted = true;
  if (strand_.TryPost([this, call, service = *std::move(service)] { watches_.Open(call, service); })) return;
  call->posted = false;
  call->Finish(absl::ResourceExhaustedError(kQueueFull), {});
}

void Dispatcher::ReadUnary(const CallRef& call, pubsub::Bytes message) {
  const Instant read = Now();
  const pubsub::Method method = *call->method;
  absl::StatusOr<pubsub::Request> request = pubsub::DecodeRequest(method, std::move(message));
  if (!request.ok()) return call->Finish(request.status(), {});
  NoteCaller(*call, *request);
  call->posted = true;
  const bool taken = strand_.TryPost([this, call, method, read, request = *std::move(request)]() mutable {
    open_.emplace(call->id(), Open{call, false});
    Actions actions;
    broker_.SetPublishRoom(journal_.PublishRoom());
    broker_.OnCall(Now(), CallId{call->id()}, method, std::move(request), actions, read);
    Perform(actions);
  });
  if (taken) return;
  call->posted = false;
  call->Finish(absl::ResourceExhaustedError(kQueueFull), {});
}

void Dispatcher::ReadStream(const CallRef& call, const pubsub::Bytes& message) {
  absl::StatusOr<pubsub::StreamingPullRequest> request = pubsub::DecodeStreamingPullRequest(message.view());
  if (call->posted) {
    // One request of a stream is in the queue at a time, so these are bounded
    // by the streams, which the broker bounds.
    if (request.ok()) {
      strand_.Post([this, call, request = *std::move(request)]() mutable { StreamRequest(call, std::move(request)); });
    } else {
      strand_.Post([this, id = call->id(), status = request.status()] { StreamFailed(id, status); });
    }
    return;
  }
  if (!request.ok()) return call->Finish(request.status(), {});
  call->posted = true;
  const bool taken =
      strand_.TryPost([this, call, request = *std::move(request)]() mutable { OpenStream(call, std::move(request)); });
  if (taken) return;
  call->posted = false;
  call->Finish(absl::ResourceExhaustedError(kQueueFull), {});
}

void Dispatcher::OnReadEnded(const CallRef& call) {
  if (!call->posted) {
    if (!call->finished())
      call->Finish(absl::InvalidArgumentError(StrCat(call->path(), " was called without a request message")), {});
    return;
  }
  strand_.Post([this, id = call->id()] {
    const Call* open = FindStream(id);
    if (open == nullptr || open->finished()) return;
    Actions actions;
    broker_.OnStreamHalfClosed(Now(), StreamId{id}, actions);
    Perform(actions);
  });
}

void Dispatcher::OnWritten(const CallRef& call, bool ok) {
  strand_.Post([this, call, ok] {
    call->WriteDone();
    if (watches_.Written(call)) return;
    // A failed write says that the client is gone; OnDone() follows.
    if (!ok || call->finished() || FindStream(call->id()) == nullptr) return;
    Actions actions;
    broker_.OnWriteDone(Now(), StreamId{call->id()}, actions);
    Perform(actions);
  });
}

void Dispatcher::OnDone(const CallRef& call) {
  if (call->posted) strand_.Post([this, id = call->id()] { Done(id); });
}

void Dispatcher::OpenStream(const CallRef& call, pubsub::StreamingPullRequest first) {
  open_.emplace(call->id(), Open{call, true});
  Actions actions;
  broker_.OnStreamOpen(Now(), StreamId{call->id()}, std::move(first), actions);
  Perform(actions);
  if (!call->finished()) call->Read();
}

void Dispatcher::StreamRequest(const CallRef& call, pubsub::StreamingPullRequest request) {
  if (FindStream(call->id()) == nullptr || call->finished()) return;
  Actions actions;
  broker_.OnStreamRequest(Now(), StreamId{call->id()}, std::move(request), actions);
  Perform(actions);
  if (!call->finished()) call->Read();
}

void Dispatcher::StreamFailed(uint64_t id, const absl::Status& status) {
  const auto found = open_.find(id);
  if (found == open_.end() || found->second.call->finished()) return;
  WriteHeldOf(id);
  const CallRef call = std::move(found->second.call);
  open_.erase(found);
  call->Finish(status, {});
  Actions actions;
  broker_.OnStreamGone(Now(), StreamId{id}, actions);
  Perform(actions);
}

void Dispatcher::Done(uint64_t id) {
  watches_.Done(id);
  const auto found = open_.find(id);
  if (found == open_.end()) return;  // a unary call that was answered
  const bool stream = found->second.stream;
  open_.erase(found);
  Actions actions;
  if (stream) {
    broker_.OnStreamGone(Now(), StreamId{id}, actions);
  } else {
    broker_.OnCallCancelled(Now(), CallId{id}, actions);
  }
  Perform(actions);
}

}  // namespace hopgap::server
