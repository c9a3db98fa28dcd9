#include "remote/stream_rpc.h"

#include <utility>

#include "base/check.h"
#include "base/system_clock.h"
#include "base/text.h"
#include "remote/byte_buffer.h"
#include "remote/routing.h"

namespace hopgap::remote {

void* StreamRpc::StreamOp::Begin(StreamRpc& rpc) {
  HOPGAP_CHECK(self_ == nullptr, "an operation of a stream was begun twice");
  self_ = rpc.shared_from_this();
  return static_cast<Op*>(this);
}

void StreamRpc::StreamOp::Complete(bool ok, Instant at) {
  const std::shared_ptr<StreamRpc> rpc = std::move(self_);
  switch (kind_) {
    case Kind::kStart: return rpc->OnStart(ok);
    case Kind::kRead: return rpc->OnRead(ok, at);
    case Kind::kWrite: return rpc->OnWrite(ok);
    case Kind::kFinish: return rpc->OnFinish(at);
  }
}

bool StreamRpc::Start(grpc::GenericStub& stub, grpc::CompletionQueue& queue, pubsub::Slices first) {
  const std::string routing = RoutingParams(pubsub::Method::kStreamingPull, first);
  if (!routing.empty()) context_.AddMetadata(kRoutingHeader, routing);
  std::lock_guard lock(mu_);
  outgoing_.push_back(std::move(first));
  finishing_ = !registry_.Add(*this);
  if (finishing_) return false;
  self_ = shared_from_this();
  call_ = stub.PrepareCall(&context_, std::string(pubsub::MethodPath(pubsub::Method::kStreamingPull)), &queue);
  call_->StartCall(start_op_.Begin(*this));
  return true;
}

void StreamRpc::Read() {
  std::lock_guard lock(mu_);
  if (finishing_) return;
  HOPGAP_CHECK(!read_wanted_, "one read of a stream at a time");
  read_wanted_ = true;
  read_posted_ = SteadyNow();
  if (started_) PostRead();
}

absl::Status StreamRpc::Send(const pubsub::Slices& request) {
  std::lock_guard lock(mu_);
  if (half_close_wanted_) return absl::FailedPreconditionError("the stream is half-closed: it takes no more requests");
  if (finishing_ || broken_) return absl::OkStatus();  // as on the wire: the end says what became of it
  if (outgoing_.size() >= kQueuedMax) {
    return absl::ResourceExhaustedError(
        StrCat("the stream has ", kQueuedMax, " requests that the server does not take"));
  }
  outgoing_.push_back(request);
  PumpWrites();
  return absl::OkStatus();
}

void StreamRpc::HalfClose() {
  std::lock_guard lock(mu_);
  if (finishing_) return;
  half_close_wanted_ = true;
  PumpWrites();
}

void StreamRpc::Cancel() {
  std::lock_guard lock(mu_);
  if (finishing_ || cancelled_) return;
  cancelled_ = true;
  context_.TryCancel();
  // A read under way fails and leads to the end; without one nothing would.
  if (started_ && !reading_) BeginFinish();
}

void StreamRpc::OnStart(bool ok) {
  std::lock_guard lock(mu_);
  started_ = true;
  if (!ok || cancelled_) return BeginFinish();
  PumpWrites();
  if (read_wanted_) PostRead();
}

void StreamRpc::OnRead(bool ok, Instant at) {
  std::unique_lock lock(mu_);
  reading_ = false;
  read_wanted_ = false;
  if (!ok) return BeginFinish();
  const Instant posted = read_posted_;
  pubsub::Bytes message = ToBytes(incoming_);
  incoming_.Clear();
  // Cancelled while this response was on its way: no read is left to fail.
  if (cancelled_) BeginFinish();
  lock.unlock();

  absl::StatusOr<pubsub::StreamingPullResponse> response = pubsub::DecodeStreamingPullResponse(std::move(message));
  if (response.ok()) return handler_.OnResponse(stream_, at, posted, *std::move(response));
  lock.lock();
  malformed_ =
      absl::InternalError(StrCat("the server sent a malformed StreamingPullResponse: ", MessageOf(response.status())));
  context_.TryCancel();
  BeginFinish();
}

void StreamRpc::OnWrite(bool ok) {
  std::lock_guard lock(mu_);
  writing_ = false;
  if (!ok) {
    broken_ = true;
    outgoing_.clear();
    return;  // the next read says why
  }
  PumpWrites();
}

void StreamRpc::OnFinish(Instant at) {
  registry_.Remove(*this);
  absl::Status status;
  std::shared_ptr<StreamRpc> self;  // freed after the lock
  {
    std::lock_guard lock(mu_);
    self = std::move(self_);
    outgoing_.clear();
    status = malformed_.ok() ? ToAbsl(status_) : malformed_;
  }
  handler_.OnStreamEnded(stream_, at, status, status_.error_details());
}

void StreamRpc::PostRead() {
  reading_ = true;
  call_->Read(&incoming_, read_op_.Begin(*this));
}

void StreamRpc::PumpWrites() {
  if (!started_ || writing_ || broken_ || finishing_) return;
  if (!outgoing_.empty()) {
    writing_ = true;
    call_->Write(ToByteBuffer(outgoing_.front()), write_op_.Begin(*this));
    outgoing_.pop_front();
  } else if (half_close_wanted_ && !half_closed_) {
    half_closed_ = writing_ = true;
    call_->WritesDone(write_op_.Begin(*this));
  }
}

void StreamRpc::BeginFinish() {
  if (finishing_) return;
  finishing_ = true;
  call_->Finish(&status_, finish_op_.Begin(*this));
}

}  // namespace hopgap::remote
