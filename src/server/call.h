#pragma once

#include <absl/status/status.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "pubsub/api.h"
#include "pubsub/bytes.h"

namespace hopgap::server {

class Call;
using CallRef = std::shared_ptr<Call>;

// Hears what happens to RPCs. All calls come on the polling thread, for one RPC
// in the order in which they happened; the last one is OnDone().
class CallOwner {
 public:
  virtual ~CallOwner() = default;
  virtual void OnRequested(const CallRef& call) = 0;  // a new RPC; its path is known
  virtual void OnRead(const CallRef& call, pubsub::Bytes message) = 0;
  virtual void OnReadEnded(const CallRef& call) = 0;         // half-closed, or gone
  virtual void OnWritten(const CallRef& call, bool ok) = 0;  // not for Reply() and Finish()
  virtual void OnDone(const CallRef& call) = 0;              // finished, cancelled or disconnected
};

// Counts the calls that exist, so that a server can wait for the last one.
// Thread-safe.
class CallGauge {
 public:
  class Ticket {
   public:
    explicit Ticket(CallGauge& gauge);
    ~Ticket();
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;

   private:
    CallGauge& gauge_;
  };
  void WaitForNone();
  size_t calls() const;
  // The server takes no more RPCs, and somebody may wait for that.
  void Close();
  void WaitForClosed();

 private:
  mutable std::mutex mu_;
  std::condition_variable none_, is_closed_;
  size_t calls_ = 0;     // guarded by mu_
  bool closed_ = false;  // guarded by mu_
};

// What calls come from and report to. All four outlive every call.
struct CallSource {
  grpc::AsyncGenericService& service;
  grpc::ServerCompletionQueue& queue;
  CallOwner& owner;
  CallGauge& gauge;
};

// One RPC on the server's side, of any method.
//
// Each operation that is under way holds a reference to its call (the tag in
// the completion queue is the operation), and so do the owner's maps and posted
// tasks; the last of them frees it. That is why calls are shared: gRPC's
// completion, the client's disappearance and the broker's answer come in any
// order.
//
// One thread at a time may write and finish (Write, Reply, Finish, WriteDone):
// the poller until the call is handed to the strand, the strand after that. At
// most one Read() is under way.
class Call : public std::enable_shared_from_this<Call> {
 public:
  // What a completion queue hands back; see Complete().
  class Op {
   public:
    // `ok` as the queue gave it. Called once per start, on the polling thread.
    void Complete(bool ok);

   private:
    friend class Call;
    enum class Kind : uint8_t { kRequest, kDone, kRead, kWrite, kFinish };
    Kind kind = Kind::kRequest;
    CallRef self;  // while under way
  };

  // Waits for the next RPC, which will have this id, and then for the one after
  // it, and so on until the server shuts down.
  static void Expect(const CallSource& source, uint64_t id);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  uint64_t id() const { return id_; }  // never reused
  const std::string& path() const { return context_.method(); }
  // What the client sent under this name, in lower case; empty if nothing.
  std::string_view Header(const char* name) const;

  void Read();
  // Only when the last Write() was reported by WriteDone().
  void Write(const pubsub::Slices& message);
  // The owner's OnWritten(), brought to the thread that writes.
  void WriteDone();
  // The one response of a unary call, and OK.
  void Reply(const pubsub::Slices& message);
  // After the write that is under way, if there is one. At most once.
  void Finish(const absl::Status& status, std::string details);
  bool finished() const { return finished_; }  // Reply() or Finish() was called

  // The owner's notes; poller only.
  std::optional<pubsub::Method> method;  // unset: not one for the broker
  bool posted = false;                   // the strand has heard of it

 private:
  Call(const CallSource& source, uint64_t id);
  void* Begin(Op& op);
  void OnComplete(Op::Kind kind, bool ok);
  void SendFinish(const absl::Status& status, const std::string& details);

  const CallSource source_;
  const CallGauge::Ticket ticket_;  // destroyed after all that uses gRPC
  const uint64_t id_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  grpc::ByteBuffer incoming_;
  Op request_, done_, read_, write_, finish_;
  bool done_seen_ = false;  // poller only
  // Of the thread that writes.
  bool writing_ = false;
  bool finished_ = false;
  std::optional<absl::Status> finish_later_;  // waits for the write under way
  std::string finish_later_details_;
};

}  // namespace hopgap::server
