#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "remote/operations.h"
#include "remote/remote.h"

namespace hopgap::remote {

// A StreamingPull call on a completion queue.
//
// gRPC allows one read and one write at a time, from when the start has
// completed; what comes early or at the same time waits here. The lock is held
// while an operation is begun, which runs no code of ours (gRPC answers through
// the queue); handlers are called without it.
class StreamRpc final : public Stream, public Cancellable, public std::enable_shared_from_this<StreamRpc> {
 public:
  // The handler outlives the stream's end, registry and queue its registration.
  StreamRpc(Handler& handler, uint64_t stream, Registry& registry)
      : handler_(handler), stream_(stream), registry_(registry) {}

  // Once, before anything else but Stream's own calls. False: shut down, nothing begun.
  bool Start(grpc::GenericStub& stub, grpc::CompletionQueue& queue, pubsub::Slices first);

  void Read() override;
  absl::Status Send(const pubsub::Slices& request) override;
  void HalfClose() override;
  void Cancel() override;
  void CancelNow() override { Cancel(); }

 private:
  enum class Kind : uint8_t { kStart, kRead, kWrite, kFinish };
  // The tag of one operation; holds the stream while it is under way.
  class StreamOp final : public Op {
   public:
    explicit StreamOp(Kind kind) : kind_(kind) {}
    void* Begin(StreamRpc& rpc);
    void Complete(bool ok, Instant at) override;

   private:
    const Kind kind_;
    std::shared_ptr<StreamRpc> self_;
  };

  void OnStart(bool ok);
  void OnRead(bool ok, Instant at);
  void OnWrite(bool ok);
  void OnFinish(Instant at);
  // With mu_ held.
  void PostRead();
  void PumpWrites();
  void BeginFinish();

  Handler& handler_;
  const uint64_t stream_;
  Registry& registry_;
  grpc::ClientContext context_;

  std::mutex mu_;
  // Guarded, but `incoming_` and `status_` belong to their operation.
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  bool started_ = false;
  bool cancelled_ = false;
  bool finishing_ = false;    // Finish was begun; also after the end
  bool read_wanted_ = false;  // Read() was called and is not answered
  bool reading_ = false;      // and its operation is under way
  bool writing_ = false;
  bool broken_ = false;  // a write failed: the end is near
  bool half_close_wanted_ = false;
  bool half_closed_ = false;
  // From start to end, so that a stream which nobody refers to any more, and
  // which waits for nothing, can still be cancelled.
  std::shared_ptr<StreamRpc> self_;
  Instant read_posted_;
  std::deque<pubsub::Slices> outgoing_;
  absl::Status malformed_;  // why we cancelled a stream that we could not read
  grpc::ByteBuffer incoming_;
  grpc::Status status_;
  StreamOp start_op_{Kind::kStart}, read_op_{Kind::kRead}, write_op_{Kind::kWrite}, finish_op_{Kind::kFinish};
};

}  // namespace hopgap::remote
