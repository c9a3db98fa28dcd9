#include "remote/remote.h"

#include <grpc/grpc.h>
#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/system_clock.h"
#include "base/text.h"
#include "base/version.h"
#include "remote/access.h"
#include "remote/keep_grpc.h"
#include "remote/operations.h"
#include "remote/routing.h"
#include "remote/stream_rpc.h"
#include "remote/unary_rpc.h"

namespace hopgap::remote {
namespace {

constexpr char kProbePath[] = "/hopgap.Probe/Empty";

constexpr int kReconnectMostMs = 2'000;

std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const Target& target) {
  if (!target.tls) return grpc::InsecureChannelCredentials();
  HOPGAP_CHECK(target.access != nullptr, "Authorize() comes before Connect()");
  return Access::ForChannel(target.access);
}

std::shared_ptr<grpc::Channel> OpenChannel(const Target& target) {
  grpc::ChannelArguments arguments;
  // Without it gRPC gives equal channels one connection, silently.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, Remote::kMetadataBytesMax);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectFirstMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMostMs);
  // What is retried is the client model's to decide, and a proxy would be in
  // the measurement.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(Remote::kMessageBytesMax);
  arguments.SetMaxSendMessageSize(Remote::kMessageBytesMax);
  arguments.SetUserAgentPrefix(StrCat("hopgap/", kVersion));
  return grpc::CreateCustomChannel(target.address, CredentialsOf(target), arguments);
}

class GrpcConnection final : public Connection {
 public:
  GrpcConnection(Target target, grpc::CompletionQueue& queue, Registry& registry)
      : target_(std::move(target)),
        queue_(queue),
        registry_(registry),
        channel_(OpenChannel(target_)),
        stub_(channel_) {}

  StreamRef OpenStream(Handler& handler, uint64_t stream, pubsub::Slices first) override {
    auto rpc = std::make_shared<StreamRpc>(handler, stream, registry_);
    rpc->Start(stub_, queue_, std::move(first));
    return rpc;
  }

  void Call(Handler& handler, uint64_t call, pubsub::Method method, const pubsub::Slices& request,
            Duration timeout) override {
    BeginCall(method, request, timeout, [&handler, call](UnaryResult result) {
      handler.OnCallDone(call, result.at, result.status, result.details, std::move(result.response));
    });
  }

  void Probe(ProbeDone done) override {
    const Instant start = SteadyNow();
    const bool begun = UnaryRpc::Begin(
        stub_, queue_, registry_, {kProbePath, {}, {}, kSetupTimeout},
        [start, done = std::move(done)](const UnaryResult& result) { done(result.status, result.at - start); });
    static_cast<void>(begun);  // shut down: dropped, as the header says
  }

  absl::Status WaitReady(Duration timeout) override {
    const auto until = std::chrono::system_clock::now() + timeout;
    if (channel_->WaitForConnected(until)) return absl::OkStatus();
    const char* question = target_.tls ? " s over TLS: is it this host and port, and is its certificate for this "
                                         "name and signed by whom --ca-file (or the system) trusts?"
                                       : " s: is the server running there, and is it this host and port?";
    return absl::UnavailableError(
        StrCat("nothing that speaks gRPC answers at ", target_.address, " within ", ToMillis(timeout) / 1e3, question));
  }

  absl::StatusOr<pubsub::Bytes> CallAndWait(pubsub::Method method, const pubsub::Slices& request,
                                            Duration timeout) override {
    // Shared: the promise is set on the polling thread, and may be left by then.
    auto promise = std::make_shared<std::promise<UnaryResult>>();
    std::future<UnaryResult> future = promise->get_future();
    const bool begun =
        BeginCall(method, request, timeout, [promise](UnaryResult result) { promise->set_value(std::move(result)); });
    if (!begun) return absl::CancelledError("the client is shut down");
    UnaryResult result = future.get();
    if (result.status.ok()) return std::move(result.response);
    return Explain(absl::Status(result.status.code(), StrCat(pubsub::MethodPath(method), " at ", target_.address, ": ",
                                                             MessageOf(result.status))),
                   target_);
  }

 private:
  bool BeginCall(pubsub::Method method, const pubsub::Slices& request, Duration timeout, UnaryRpc::Done done) {
    return UnaryRpc::Begin(stub_, queue_, registry_,
                           {std::string(pubsub::MethodPath(method)), RoutingParams(method, request), request, timeout},
                           std::move(done));
  }

  const Target target_;
  grpc::CompletionQueue& queue_;
  Registry& registry_;
  const std::shared_ptr<grpc::Channel> channel_;
  grpc::GenericStub stub_;
};

}  // namespace

absl::Status Connection::CreateTopic(const std::string& name, Duration timeout) {
  pubsub::Topic topic;
  topic.name = name;
  return CallAndWait(pubsub::Method::kCreateTopic, {pubsub::Bytes(pubsub::Encode(topic))}, timeout).status();
}

absl::Status Connection::CreateSubscription(const pubsub::Subscription& subscription, Duration timeout) {
  return CallAndWait(pubsub::Method::kCreateSubscription, {pubsub::Bytes(pubsub::Encode(subscription))}, timeout)
      .status();
}

absl::Status Connection::DeleteTopic(const std::string& name, Duration timeout) {
  return CallAndWait(pubsub::Method::kDeleteTopic, {pubsub::Encode(pubsub::NameRequest{name})}, timeout).status();
}

absl::Status Connection::DeleteSubscription(const std::string& name, Duration timeout) {
  return CallAndWait(pubsub::Method::kDeleteSubscription, {pubsub::Encode(pubsub::NameRequest{name})}, timeout)
      .status();
}

class Remote::Impl {
 public:
  Impl() : poller([this] { Poll(); }) {}

  Registry registry;
  grpc::CompletionQueue queue;
  std::atomic<int64_t> longest_cycle_ns{0};
  std::thread poller;  // last: uses all of the above

 private:
  // Stops when the queue is shut down and empty.
  void Poll() {
    void* tag = nullptr;
    bool ok = false;
    while (queue.Next(&tag, &ok)) {
      const Instant woken = SteadyNow();
      static_cast<Op*>(tag)->Complete(ok, woken);
      const int64_t cycle_ns = (SteadyNow() - woken).count();
      if (cycle_ns > longest_cycle_ns.load(std::memory_order_relaxed)) {
        longest_cycle_ns.store(cycle_ns, std::memory_order_relaxed);
      }
    }
  }
};

Remote::Remote() {
  KeepGrpc();
  impl_ = std::make_unique<Impl>();
}

Remote::~Remote() { Shutdown(); }

std::unique_ptr<Connection> Remote::Connect(const Target& target) {
  return std::make_unique<GrpcConnection>(target, impl_->queue, impl_->registry);
}

void Remote::Shutdown() {
  if (!impl_->poller.joinable()) return;
  impl_->registry.Close();
  impl_->queue.Shutdown();
  impl_->poller.join();
}

Duration Remote::longest_poll_cycle() const {
  return Duration{impl_->longest_cycle_ns.load(std::memory_order_relaxed)};
}

void Remote::ForgetLongest() { impl_->longest_cycle_ns.store(0, std::memory_order_relaxed); }

}  // namespace hopgap::remote
