#include "server/otlp_grpc_server.h"

#include <grpc/grpc.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

#include <chrono>
#include <thread>
#include <utility>

#include "opentelemetry/proto/collector/trace/v1/trace_service.grpc.pb.h"

#include "base/text.h"
#include "formats/rpc_status.h"
#include "server/acceptor.h"
#include "server/call.h"

namespace hopgap::server {
namespace {

using TraceService = opentelemetry::proto::collector::trace::v1::TraceService;
// Raw: the request goes to the intake as bytes and is decoded there, once.
using Service = TraceService::WithRawMethod_Export<TraceService::Service>;

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string Text(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  if (!buffer.DumpToSingleSlice(&slice).ok()) return {};
  return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

struct Place {
  Service service;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  OtlpIntake& intake;
  Duration retry_after;
  CallGauge gauge;
};

// Waits for a call, answers it, and is gone. Another one waits meanwhile.
class ExportCall {
 public:
  static void Expect(Place& place) {
    auto* call = new ExportCall(place);  // freed by Complete()
    place.service.RequestExport(&call->context_, &call->request_, &call->writer_, place.queue.get(), place.queue.get(),
                                call);
  }

  // On the polling thread.
  void Complete(bool ok) {
    if (answering_ || !ok) {
      delete this;
      return;
    }
    Expect(place_);
    answering_ = true;
    std::string bytes = Text(request_);
    request_.Clear();
    const bool posted = place_.intake.Post(std::move(bytes), OtlpEncoding::kProtobuf,
                                           [this](const OtlpAnswer& answer) { Answer(answer, std::nullopt); });
    if (!posted) {
      Answer({absl::ResourceExhaustedError("the receiver has no room for spans now"), {}}, place_.retry_after);
    }
  }

 private:
  explicit ExportCall(Place& place) : place_(place), ticket_(place.gauge), writer_(&context_) {}

  void Answer(const OtlpAnswer& answer, std::optional<Duration> retry_after) {
    if (answer.status.ok()) {
      writer_.Finish(ToBuffer(formats::EncodeOtlpResponse(answer.partial)), grpc::Status::OK, this);
      return;
    }
    writer_.FinishWithError(
        grpc::Status(static_cast<grpc::StatusCode>(answer.status.code()), std::string(MessageOf(answer.status)),
                     formats::EncodeRpcStatus(answer.status, retry_after)),
        this);
  }

  Place& place_;
  const CallGauge::Ticket ticket_;  // goes last: the queue ends after it
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> writer_;
  bool answering_ = false;
};

}  // namespace

class OtlpGrpcServer::Impl {
 public:
  Impl(const Options& options, std::unique_ptr<Acceptor> acceptor, OtlpIntake& intake)
      : stop_wait_(options.stop_wait),
        acceptor_(std::move(acceptor)),
        place_{.service = {}, .queue = nullptr, .intake = intake, .retry_after = options.retry_after, .gauge = {}} {
    grpc_init();  // never shut down: see grpc_server.cc
    grpc::ServerBuilder builder;
    builder.RegisterService(&place_.service);
    builder.SetMaxReceiveMessageSize(options.message_bytes_max);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
    place_.queue = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
  }
  ~Impl() {
    Stop();
    if (server_ == nullptr) place_.queue->Shutdown();
  }

  bool built() const { return server_ != nullptr; }
  uint16_t port() const { return acceptor_->port(); }

  void Run() {
    ExportCall::Expect(place_);
    poller_ = std::thread([this] { Poll(); });
    acceptor_->Start([server = server_.get()](int fd) { grpc::AddInsecureChannelFromFd(server, fd); });
  }

  void Stop() {
    if (!poller_.joinable()) return;
    acceptor_->Stop();
    server_->Shutdown(std::chrono::system_clock::now() + stop_wait_);
    place_.gauge.WaitForNone();
    place_.queue->Shutdown();
    poller_.join();
  }

 private:
  // Stops when the queue is shut down and empty.
  void Poll() {
    void* tag = nullptr;
    bool ok = false;
    while (place_.queue->Next(&tag, &ok)) static_cast<ExportCall*>(tag)->Complete(ok);
  }

  const Duration stop_wait_;
  std::unique_ptr<Acceptor> acceptor_;
  Place place_;
  std::unique_ptr<grpc::Server> server_;
  std::thread poller_;
};

absl::StatusOr<std::unique_ptr<OtlpGrpcServer>> OtlpGrpcServer::Start(const Options& options, OtlpIntake& intake) {
  absl::StatusOr<std::unique_ptr<Acceptor>> acceptor = Acceptor::Listen(options.host, options.port, {});
  if (!acceptor.ok()) return acceptor.status();
  auto impl = std::make_unique<Impl>(options, *std::move(acceptor), intake);
  if (!impl->built()) return absl::InternalError("gRPC could not build a server; its own log says why");
  impl->Run();
  return std::unique_ptr<OtlpGrpcServer>(new OtlpGrpcServer(std::move(impl)));
}

OtlpGrpcServer::OtlpGrpcServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OtlpGrpcServer::~OtlpGrpcServer() = default;
uint16_t OtlpGrpcServer::port() const { return impl_->port(); }
void OtlpGrpcServer::Stop() { impl_->Stop(); }

}  // namespace hopgap::server
