#include "remote/otlp_grpc.h"

#include <grpc/grpc.h>
#include <grpc/support/time.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <mutex>

#include "base/text.h"
#include "remote/keep_grpc.h"
#include "remote/operations.h"

namespace hopgap::remote {
namespace {

constexpr char kExport[] = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
constexpr int kExporterReconnectMostMs = 5'000;

absl::Status ReadFile(const std::string& path, std::string& to) {
  if (path.empty()) return absl::OkStatus();
  std::ifstream file(path, std::ios::binary);
  to.assign(std::istreambuf_iterator<char>(file), {});
  return file && !to.empty() ? absl::OkStatus()
                             : absl::NotFoundError(StrCat("'", path, "' cannot be read or is empty"));
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ExporterCredentials(const OtlpGrpc::Options& options) {
  if (!options.tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions pem;
  absl::Status status = ReadFile(options.ca_file, pem.pem_root_certs);
  status.Update(ReadFile(options.client_key_file, pem.pem_private_key));
  status.Update(ReadFile(options.client_certificate_file, pem.pem_cert_chain));
  if (!status.ok()) return status;
  return grpc::SslCredentials(pem);
}

// gRPC ends the process over a header that it cannot send.
absl::Status CheckHeaders(OtlpGrpc::Options& options) {
  for (auto& [name, value] : options.headers) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    const grpc_slice key = grpc_slice_from_static_buffer(name.data(), name.size());
    const grpc_slice content = grpc_slice_from_static_buffer(value.data(), value.size());
    if (grpc_header_key_is_legal(key) == 0 || name.ends_with("-bin") || name.starts_with("grpc-")) {
      return absl::InvalidArgumentError(StrCat("header '", name, "' cannot be sent over gRPC"));
    }
    if (grpc_header_nonbin_value_is_legal(content) == 0) {
      return absl::InvalidArgumentError(StrCat("the value of header '", name, "' is not printable ASCII"));
    }
  }
  return absl::OkStatus();
}

std::string Text(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  if (!buffer.DumpToSingleSlice(&slice).ok()) return {};
  return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

}  // namespace

class OtlpGrpc::Impl {
 public:
  Impl(Options options, const std::shared_ptr<grpc::ChannelCredentials>& credentials) : options_(std::move(options)) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectFirstMs);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kExporterReconnectMostMs);
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // retrying is the exporter's
    if (!options_.user_agent.empty()) arguments.SetUserAgentPrefix(options_.user_agent);
    stub_ = std::make_unique<grpc::GenericStub>(grpc::CreateCustomChannel(options_.target, credentials, arguments));
  }
  ~Impl() {
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) continue;
  }

  Result Export(const std::string& request, Duration timeout) {
    grpc::ClientContext context;
    context.set_deadline(
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(timeout.count(), GPR_TIMESPAN)));
    if (options_.gzip) context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    for (const auto& [name, value] : options_.headers) context.AddMetadata(name, value);
    const grpc::Slice slice(request.data(), request.size(), grpc::Slice::STATIC_SLICE);
    grpc::ByteBuffer payload(&slice, 1), response;
    grpc::Status status;
    const auto call = stub_->PrepareUnaryCall(&context, kExport, payload, &queue_);
    SetCurrent(&context);
    call->StartCall();
    call->Finish(&response, &status, this);
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);  // the one operation there is
    SetCurrent(nullptr);
    Result result{ToAbsl(status), status.error_details(), {}};
    if (status.ok()) result.response = Text(response);
    return result;
  }

  void Cancel() {
    const std::lock_guard lock(mu_);
    if (current_ != nullptr) current_->TryCancel();
  }

 private:
  void SetCurrent(grpc::ClientContext* context) {
    const std::lock_guard lock(mu_);
    current_ = context;
  }

  const Options options_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericStub> stub_;
  std::mutex mu_;
  grpc::ClientContext* current_ = nullptr;  // mu_
};

absl::StatusOr<std::unique_ptr<OtlpGrpc>> OtlpGrpc::Create(Options options) {
  KeepGrpc();
  if (absl::Status status = CheckHeaders(options); !status.ok()) return status;
  const auto credentials = ExporterCredentials(options);
  if (!credentials.ok()) return credentials.status();
  return std::unique_ptr<OtlpGrpc>(new OtlpGrpc(std::make_unique<Impl>(std::move(options), *credentials)));
}

OtlpGrpc::OtlpGrpc(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OtlpGrpc::~OtlpGrpc() = default;
OtlpGrpc::Result OtlpGrpc::Export(const std::string& request, Duration timeout) {
  return impl_->Export(request, timeout);
}
void OtlpGrpc::Cancel() { impl_->Cancel(); }

}  // namespace hopgap::remote
