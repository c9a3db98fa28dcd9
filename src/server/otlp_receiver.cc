#include "server/otlp_receiver.h"

#include <utility>

#include "server/otlp_http.h"

namespace hopgap::server {

absl::StatusOr<std::unique_ptr<OtlpReceiver>> OtlpReceiver::Start(const Options& options, OtlpIntake::Take take) {
  std::unique_ptr<OtlpReceiver> receiver(new OtlpReceiver());
  receiver->intake_ = std::make_unique<OtlpIntake>(options.queued_bytes_max, std::move(take));
  auto grpc = OtlpGrpcServer::Start({.host = options.host,
                                     .port = options.grpc_port,
                                     .message_bytes_max = static_cast<int>(options.message_bytes_max),
                                     .retry_after = options.retry_after,
                                     .stop_wait = options.stop_wait},
                                    *receiver->intake_);
  if (!grpc.ok()) return grpc.status();
  receiver->grpc_ = *std::move(grpc);
  auto http = HttpServer::Start({.host = options.host,
                                 .port = options.http_port,
                                 .threads = options.http_connections_max,
                                 .body_bytes_max = options.message_bytes_max},
                                [intake = receiver->intake_.get(), retry_after = options.retry_after](
                                    const HttpCall& call) { return AnswerOtlpHttp(call, *intake, retry_after); });
  if (!http.ok()) return http.status();
  receiver->http_ = *std::move(http);
  return receiver;
}

OtlpReceiver::~OtlpReceiver() { Stop(); }

void OtlpReceiver::Stop() {
  if (http_ != nullptr) http_->Stop();
  if (grpc_ != nullptr) grpc_->Stop();
  if (intake_ != nullptr) intake_->Stop();
}

}  // namespace hopgap::server
