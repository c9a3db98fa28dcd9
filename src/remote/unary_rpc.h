#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <absl/status/status.h>

#include <functional>
#include <memory>
#include <string>

#include "base/time.h"
#include "pubsub/bytes.h"
#include "remote/operations.h"

namespace hopgap::remote {

// What came of a unary call.
struct UnaryResult {
  Instant at;  // right after the completion queue gave it
  absl::Status status;
  std::string details;     // google.rpc.Status bytes
  pubsub::Bytes response;  // empty unless OK
};

struct UnaryRequest {
  std::string path;
  std::string routing;  // empty: no header
  pubsub::Slices payload;
  Duration timeout{0};  // 0: none
};

// A unary call. Owns itself while it is under way, and is freed when it is done.
class UnaryRpc final : public Op, public Cancellable {
 public:
  using Done = std::function<void(UnaryResult)>;  // on the polling thread

  // False if the registry is closed: nothing was begun, `done` is dropped.
  [[nodiscard]] static bool Begin(grpc::GenericStub& stub, grpc::CompletionQueue& queue, Registry& registry,
                                  const UnaryRequest& request, Done done);

  void Complete(bool ok, Instant at) override;
  void CancelNow() override { context_.TryCancel(); }

 private:
  UnaryRpc(Registry& registry, Done done) : registry_(registry), done_(std::move(done)) {}

  Registry& registry_;
  Done done_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> call_;
  grpc::ByteBuffer response_;
  grpc::Status status_;
};

}  // namespace hopgap::remote
