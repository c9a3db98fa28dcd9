#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/time.h"
#include "pubsub/api.h"
#include "pubsub/bytes.h"
#include "remote/target.h"

// Pub/Sub over gRPC, from the client's side. No gRPC type shows here.
namespace hopgap::remote {

// Hears what came of streams and calls. Called on the polling thread, never
// under a lock, so an implementation posts to its strand. It outlives what was
// begun with it, or the Remote's Shutdown().
class Handler {
 public:
  virtual ~Handler() = default;
  // A read came back. `received` was taken right after the completion queue
  // gave it, before decoding; `read_posted` when Read() was called.
  virtual void OnResponse(uint64_t stream, Instant received, Instant read_posted,
                          pubsub::StreamingPullResponse response) = 0;
  // The last word of a stream: OK when the server ended it so. `details` are the
  // google.rpc.Status bytes of the trailer, if any.
  virtual void OnStreamEnded(uint64_t stream, Instant at, const absl::Status& status, const std::string& details) = 0;
  // `response` is empty unless `status` is OK.
  virtual void OnCallDone(uint64_t call, Instant at, const absl::Status& status, const std::string& details,
                          pubsub::Bytes response) = 0;
};

// One open StreamingPull. Thread-safe. Ends with OnStreamEnded(); afterwards
// its calls do nothing. Dropping the reference does not end it.
class Stream {
 public:
  // Requests waiting for the transport, at most.
  static constexpr size_t kQueuedMax = 10'000;

  virtual ~Stream() = default;
  // Posts a read, answered by OnResponse() or OnStreamEnded(). An early read,
  // before the stream has started, waits for that. Requires: the last read is
  // answered.
  virtual void Read() = 0;
  // Queues a request; one is written at a time, in order. ResourceExhausted when
  // kQueuedMax wait, FailedPrecondition after HalfClose().
  virtual absl::Status Send(const pubsub::Slices& request) = 0;
  // No more requests, after those queued. What the server says to that comes to
  // the next read.
  virtual void HalfClose() = 0;
  // Ends with Cancelled unless it has ended already; needs no read.
  virtual void Cancel() = 0;
};
// Shared because gRPC's completions and the caller let go of it in any order.
using StreamRef = std::shared_ptr<Stream>;

// One HTTP/2 connection of its own, as a separate process would have; opened
// when it is first used, and again when it broke. Thread-safe.
class Connection {
 public:
  virtual ~Connection() = default;

  // The first request is sent as soon as the stream has started; no read is implied.
  virtual StreamRef OpenStream(Handler& handler, uint64_t stream, pubsub::Slices first) = 0;
  // A unary call, answered by OnCallDone(call); `timeout` 0 is none.
  virtual void Call(Handler& handler, uint64_t call, pubsub::Method method, const pubsub::Slices& request,
                    Duration timeout) = 0;
  // An empty call that a hopgap server answers without its broker. `done` runs
  // on the polling thread; `round_trip` is from just before the call was started.
  using ProbeDone = std::function<void(const absl::Status& status, Duration round_trip)>;
  virtual void Probe(ProbeDone done) = 0;

  // For set-up: these block. Requires: not called on the polling thread.
  //
  // Unavailable, with a sentence for people, if nothing that speaks HTTP/2
  // answers at the target in time.
  virtual absl::Status WaitReady(Duration timeout) = 0;
  virtual absl::StatusOr<pubsub::Bytes> CallAndWait(pubsub::Method method, const pubsub::Slices& request,
                                                    Duration timeout) = 0;
  absl::Status CreateTopic(const std::string& name, Duration timeout = kSetupTimeout);
  absl::Status CreateSubscription(const pubsub::Subscription& subscription, Duration timeout = kSetupTimeout);
  absl::Status DeleteTopic(const std::string& name, Duration timeout = kSetupTimeout);
  absl::Status DeleteSubscription(const std::string& name, Duration timeout = kSetupTimeout);
  static constexpr Duration kSetupTimeout = std::chrono::seconds{5};
};

// All gRPC clients of a process: one completion queue, one polling thread.
//
// Thread-safe, but Shutdown() and the destructor are for one thread.
class Remote {
 public:
  static constexpr int kMessageBytesMax = 20 << 20;
  static constexpr int kMetadataBytesMax = 4 << 20;  // trailers list ack ids

  Remote();
  ~Remote();
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;

  // Never fails: what is wrong with the target comes out of WaitReady() and of
  // the calls. The connection may not outlive the Remote. Requires: Authorize()d
  // if the target has TLS.
  std::unique_ptr<Connection> Connect(const Target& target);

  // Cancels what is under way, returns when all of it has been answered and the
  // thread has ended. What is begun later is dropped, without an answer.
  // Idempotent, implied by the destructor.
  void Shutdown();

  // The polling thread's longest time away from its queue.
  Duration longest_poll_cycle() const;
  // Starts that figure anew.
  void ForgetLongest();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hopgap::remote
