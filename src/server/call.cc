#include "server/call.h"

#include <utility>

#include "base/check.h"
#include "server/byte_buffer.h"

namespace hopgap::server {
namespace {

grpc::Status ToGrpc(const absl::Status& status, const std::string& details) {
  if (status.ok()) return grpc::Status::OK;
  // absl's codes are gRPC's.
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()), std::string(status.message()), details);
}

}  // namespace

void Call::Op::Complete(bool ok) {
  const CallRef call = std::move(self);
  call->OnComplete(kind, ok);
}

CallGauge::Ticket::Ticket(CallGauge& gauge) : gauge_(gauge) {
  std::lock_guard lock(gauge_.mu_);
  ++gauge_.calls_;
}

CallGauge::Ticket::~Ticket() {
  // Notified under the lock: the waiter may destroy the gauge.
  std::lock_guard lock(gauge_.mu_);
  if (--gauge_.calls_ == 0) gauge_.none_.notify_all();
}

void CallGauge::WaitForNone() {
  std::unique_lock lock(mu_);
  none_.wait(lock, [this] { return calls_ == 0; });
}

size_t CallGauge::calls() const {
  std::lock_guard lock(mu_);
  return calls_;
}

void CallGauge::Close() {
  std::lock_guard lock(mu_);
  closed_ = true;
  is_closed_.notify_all();
}

void CallGauge::WaitForClosed() {
  std::unique_lock lock(mu_);
  is_closed_.wait(lock, [this] { return closed_; });
}

Call::Call(const CallSource& source, uint64_t id) : source_(source), ticket_(source.gauge), id_(id) {
  done_.kind = Op::Kind::kDone;
  read_.kind = Op::Kind::kRead;
  write_.kind = Op::Kind::kWrite;
  finish_.kind = Op::Kind::kFinish;
  // Comes only if an RPC does; so it gets its reference then.
  context_.AsyncNotifyWhenDone(&done_);
}

void Call::Expect(const CallSource& source, uint64_t id) {
  const CallRef call(new Call(source, id));
  void* tag = call->Begin(call->request_);
  source.service.RequestCall(&call->context_, &call->stream_, &source.queue, &source.queue, tag);
}

std::string_view Call::Header(const char* name) const {
  const auto& metadata = context_.client_metadata();
  const auto found = metadata.find(name);
  return found == metadata.end() ? std::string_view() : std::string_view(found->second.data(), found->second.size());
}

void* Call::Begin(Op& op) {
  HOPGAP_CHECK(op.self == nullptr, "an operation of an RPC was begun twice");
  op.self = shared_from_this();
  return &op;
}

void Call::OnComplete(Op::Kind kind, bool ok) {
  const CallRef self = shared_from_this();
  switch (kind) {
    case Op::Kind::kRequest:
      if (!ok) return source_.gauge.Close();
      Expect(source_, id_ + 1);
      done_.self = self;
      source_.owner.OnRequested(self);
      return;
    case Op::Kind::kRead: {
      // The queue may give a message after the end of its RPC; it would open a
      // stream that nobody closes.
      if (done_seen_) return;
      if (!ok) return source_.owner.OnReadEnded(self);
      pubsub::Bytes message = ToBytes(incoming_);
      incoming_.Clear();
      return source_.owner.OnRead(self, std::move(message));
    }
    case Op::Kind::kWrite:
      if (!done_seen_) source_.owner.OnWritten(self, ok);
      return;
    case Op::Kind::kFinish: return;  // OnDone() follows
    case Op::Kind::kDone: done_seen_ = true; return source_.owner.OnDone(self);
  }
}

void Call::Read() { stream_.Read(&incoming_, Begin(read_)); }

void Call::Write(const pubsub::Slices& message) {
  HOPGAP_CHECK(!writing_ && !finished_, "a stream was written to before its last write was done, or after its end");
  writing_ = true;
  stream_.Write(ToByteBuffer(message), Begin(write_));
}

void Call::WriteDone() {
  writing_ = false;
  if (!finish_later_.has_value()) return;
  SendFinish(*finish_later_, finish_later_details_);
  finish_later_.reset();
}

void Call::Reply(const pubsub::Slices& message) {
  HOPGAP_CHECK(!writing_ && !finished_, "an RPC was answered twice");
  finished_ = true;
  stream_.WriteAndFinish(ToByteBuffer(message), grpc::WriteOptions(), grpc::Status::OK, Begin(finish_));
}

void Call::Finish(const absl::Status& status, std::string details) {
  HOPGAP_CHECK(!finished_, "an RPC was finished twice");
  finished_ = true;
  if (writing_) {
    finish_later_ = status;
    finish_later_details_ = std::move(details);
    return;
  }
  SendFinish(status, details);
}

void Call::SendFinish(const absl::Status& status, const std::string& details) {
  stream_.Finish(ToGrpc(status, details), Begin(finish_));
}

}  // namespace hopgap::server
