#include "remote/unary_rpc.h"

#include <grpc/support/time.h>

#include <utility>

#include "remote/byte_buffer.h"
#include "remote/routing.h"

namespace hopgap::remote {

bool UnaryRpc::Begin(grpc::GenericStub& stub, grpc::CompletionQueue& queue, Registry& registry,
                     const UnaryRequest& request, Done done) {
  std::unique_ptr<UnaryRpc> rpc(new UnaryRpc(registry, std::move(done)));
  if (!registry.Add(*rpc)) return false;
  if (!request.routing.empty()) rpc->context_.AddMetadata(kRoutingHeader, request.routing);
  if (request.timeout > Duration{0}) {
    // On the monotonic clock: a step of the wall clock must not end calls.
    rpc->context_.set_deadline(
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(request.timeout.count(), GPR_TIMESPAN)));
  }
  rpc->call_ = stub.PrepareUnaryCall(&rpc->context_, request.path, ToByteBuffer(request.payload), &queue);
  rpc->call_->StartCall();
  UnaryRpc* own = rpc.release();  // Complete() takes it back, maybe before Finish() returns
  own->call_->Finish(&own->response_, &own->status_, static_cast<Op*>(own));
  return true;
}

// `ok` is always true for Finish(): the outcome is in the status.
void UnaryRpc::Complete(bool, Instant at) {
  const std::unique_ptr<UnaryRpc> self(this);
  registry_.Remove(*this);
  UnaryResult result{at, ToAbsl(status_), status_.error_details(), {}};
  if (status_.ok()) result.response = ToBytes(response_);
  done_(std::move(result));
}

}  // namespace hopgap::remote
