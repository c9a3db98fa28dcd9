#include "server/grpc_server.h"

#include <grpc/grpc.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "base/system_clock.h"
#include "base/text.h"
#include "server/acceptor.h"
#include "server/call.h"
#include "server/dispatcher.h"
#include "server/http_connections.h"
#include "server/http_front.h"
#include "server/listen.h"

namespace hopgap::server {
namespace {

// A peer that vanished without a word is found out within about this time, so
// that no messages are given to its streams for ever.
constexpr int kKeepaliveMs = 60'000;
constexpr int kKeepaliveTimeoutMs = 20'000;
constexpr uint64_t kFirstCallId = 1;

struct GrpcParts {
  std::unique_ptr<grpc::AsyncGenericService> service;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  std::unique_ptr<grpc::Server> server;
  int tls_port = 0;
};

// gRPC's last user would shut the library down and wait for its threads, one of
// which may sit in a poll of 10 s (after a write that filled its socket). So the
// process stays a user of it until it ends.
void KeepGrpc() {
  static const bool kept = [] {
    grpc_init();
    return true;
  }();
  static_cast<void>(kept);
}

std::string HostAndPort(const std::string& host, uint16_t port) {
  return host.find(':') != std::string::npos ? StrCat("[", host, "]:", port) : StrCat(host, ":", port);
}

std::shared_ptr<grpc::ServerCredentials> CredentialsOf(const GrpcServer::Tls& tls) {
  grpc::SslServerCredentialsOptions options(tls.client_ca.empty()
                                                ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                                : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = tls.client_ca;
  options.pem_key_cert_pairs.push_back({tls.key, tls.certificate});
  return grpc::SslServerCredentials(options);
}

// gRPC says only that it could not: opening the port ourselves says why.
absl::Status TryPort(const std::string& host, uint16_t port) { return OpenListener(host, port).status(); }

GrpcParts BuildGrpc(const GrpcServer::Options& options) {
  KeepGrpc();
  GrpcParts parts;
  parts.service = std::make_unique<grpc::AsyncGenericService>();
  grpc::ServerBuilder builder;
  builder.RegisterAsyncGenericService(parts.service.get());
  builder.SetMaxReceiveMessageSize(GrpcServer::kReceivedBytesMax);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, GrpcServer::kMetadataBytesMax);
  // Client libraries ping idle connections, and streams must outlive that.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // two brokers would share the port silently
  parts.queue = builder.AddCompletionQueue();
  if (options.tls) {
    builder.AddListeningPort(HostAndPort(options.host, options.port), CredentialsOf(*options.tls), &parts.tls_port);
  }
  parts.server = builder.BuildAndStart();
  return parts;
}

// From the moment at which gRPC takes no more RPCs until it has written so to every connection; it says when the former
// is, and does the latter at once.
constexpr Duration kGoAwayLead = std::chrono::milliseconds{2};

}  // namespace

class GrpcServer::Impl {
 public:
  Impl(const Options& options, std::unique_ptr<Acceptor> listening, GrpcParts parts, broker::Journal& journal,
       trace::EventSink& sink, loop::Timer& timer)
      : host(options.host),
        port(listening ? listening->port() : static_cast<uint16_t>(parts.tls_port)),
        stop_wait(options.stop_wait),
        acceptor(std::move(listening)),
        rpc(std::move(parts)),
        dispatcher({.broker = options.broker,
                    .planted_wire_delay = options.planted_wire_delay,
                    .queued_requests_max = options.queued_requests_max,
                    .admission = options.admission,
                    .test_clock = options.test_clock,
                    .failure_line = options.failure_line},
                   journal, sink, timer),
        front(options.admin ? &dispatcher : nullptr, options.admission),
        http({}, [this](const HttpCall& call) { return front.Answer(call); }) {}
  ~Impl() { Stop(); }

  void Run() {
    Call::Expect({*rpc.service, *rpc.queue, dispatcher, gauge}, kFirstCallId);
    poller = std::thread([this] { Poll(); });
    if (!acceptor) return;
    acceptor->Start([server = rpc.server.get()](int fd) { grpc::AddInsecureChannelFromFd(server, fd); },
                    [this](int fd) { http.Serve(fd); });
  }

  // Of a server that never ran.
  void Abandon() {
    dispatcher.StopBroker();
    rpc.server->Shutdown();
    rpc.queue->Shutdown();
    void* tag = nullptr;
    for (bool ok = false; rpc.queue->Next(&tag, &ok);) continue;
    dispatcher.Close();
  }

  void Stop() {
    if (!poller.joinable()) return;
    if (acceptor) acceptor->Stop();
    // Connections are told to go away before their streams end. A client whose stream ended first would open the next
    // one on the same connection, and gRPC ends that with CANCELLED, which is no reason for anybody to try again: the
    // Python library gives up its subscriber.
    std::future<void> ending = std::async(std::launch::async, [this] { rpc.server->Shutdown(); });
    gauge.WaitForClosed();
    std::this_thread::sleep_for(kGoAwayLead);
    dispatcher.StopBroker();
    http.Stop();
    // The wait, for clients to take their last answers and go, begins when the journal is done.
    if (ending.wait_for(stop_wait) != std::future_status::ready) grpc_server_cancel_all_calls(rpc.server->c_server());
    ending.get();
    // No operation may be begun on a queue that is shut down; without calls
    // there is nobody left to begin one.
    gauge.WaitForNone();
    rpc.queue->Shutdown();
    poller.join();
    dispatcher.Close();
  }

  const std::string host;
  const uint16_t port;
  const Duration stop_wait;
  std::unique_ptr<Acceptor> acceptor;  // null under TLS
  GrpcParts rpc;
  CallGauge gauge;
  Dispatcher dispatcher;
  HttpFront front;
  HttpConnections http;
  std::atomic<int64_t> longest_cycle_ns{0};
  std::thread poller;

 private:
  // Stops when the queue is shut down and empty.
  void Poll() {
    void* tag = nullptr;
    bool ok = false;
    while (rpc.queue->Next(&tag, &ok)) {
      const Instant woken = SteadyNow();
      static_cast<Call::Op*>(tag)->Complete(ok);
      const int64_t cycle_ns = (SteadyNow() - woken).count();
      if (cycle_ns > longest_cycle_ns.load(std::memory_order_relaxed)) {
        longest_cycle_ns.store(cycle_ns, std::memory_order_relaxed);
      }
    }
  }
};

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(Options options, broker::Journal& journal,
                                                              trace::EventSink& sink, loop::Timer& timer) {
  std::unique_ptr<Acceptor> acceptor;
  if (options.tls) {
    if (absl::Status status = TryPort(options.host, options.port); !status.ok()) return status;
  } else {
    absl::StatusOr<std::unique_ptr<Acceptor>> listening = Acceptor::Listen(options.host, options.port, {});
    if (!listening.ok()) return listening.status();
    acceptor = *std::move(listening);
  }
  GrpcParts parts = BuildGrpc(options);
  if (parts.server == nullptr || (options.tls && parts.tls_port == 0)) {
    if (options.tls) {
      return absl::InvalidArgumentError(
          "TLS cannot be served with this certificate and key: are they PEM, a pair, and is the key not encrypted?");
    }
    return absl::InternalError("gRPC could not build a server; its own log says why");
  }
  auto impl = std::make_unique<Impl>(options, std::move(acceptor), std::move(parts), journal, sink, timer);
  if (const absl::Status replayed = impl->dispatcher.Replay(options.journal_records); !replayed.ok()) return replayed;
  if (options.prepare) {
    if (absl::Status prepared = options.prepare(impl->dispatcher); !prepared.ok()) {
      impl->Abandon();
      return prepared;
    }
  }
  impl->Run();
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(impl)));
}

GrpcServer::GrpcServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

GrpcServer::~GrpcServer() = default;

uint16_t GrpcServer::port() const { return impl_->port; }

std::string GrpcServer::target() const {
  // "Every address" is none to connect to.
  if (impl_->host.empty() || impl_->host == "0.0.0.0") return StrCat("127.0.0.1:", port());
  if (impl_->host == "::") return StrCat("[::1]:", port());
  return HostAndPort(impl_->host, port());
}

void GrpcServer::Stop() { impl_->Stop(); }

void GrpcServer::RunOnStrand(const std::function<void()>& task) { impl_->dispatcher.strand().Run(task); }

absl::Status GrpcServer::AdvanceClock(Duration length) { return impl_->dispatcher.AdvanceClock(length).status(); }

broker::Counters GrpcServer::counters() { return impl_->dispatcher.counters(); }

GrpcServer::Figures GrpcServer::figures() const {
  Figures figures;
  figures.longest_poll_cycle = Duration{impl_->longest_cycle_ns.load(std::memory_order_relaxed)};
  figures.strand = impl_->dispatcher.strand().figures();
  // One call waits for the next RPC, until the server is stopped.
  const size_t calls = impl_->gauge.calls();
  figures.open_rpcs = calls == 0 ? 0 : calls - 1;
  if (!impl_->acceptor) return figures;
  figures.connections = impl_->acceptor->handed_over();
  figures.http1_refused = impl_->front.refused();
  figures.dropped = impl_->acceptor->dropped();
  return figures;
}

void GrpcServer::ForgetLongest() {
  impl_->longest_cycle_ns.store(0, std::memory_order_relaxed);
  impl_->dispatcher.strand().ForgetLongest();
}

}  // namespace hopgap::server
