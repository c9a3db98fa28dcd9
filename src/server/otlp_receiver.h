#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/time.h"
#include "server/http_server.h"
#include "server/otlp_grpc_server.h"
#include "server/otlp_intake.h"

namespace hopgap::server {

// Receives spans by OTLP: gRPC on one port, HTTP (protobuf and JSON) on another,
// gzip on both, no TLS. A sender has its answer when its spans were taken.
//
// Stop() and the destructor are for one thread; figures() for any.
class OtlpReceiver {
 public:
  struct Options {
    std::string host = "127.0.0.1";
    uint16_t grpc_port = 4317, http_port = 4318;  // 0: any free one
    // Of one message, unpacked; beyond: RESOURCE_EXHAUSTED without a delay, or 413.
    size_t message_bytes_max = 16 << 20;
    // Of all that wait; beyond: RESOURCE_EXHAUSTED with RetryInfo, or 429.
    size_t queued_bytes_max = 128 << 20;
    // HTTP connections at once; a further one waits until one is given up. Each may
    // hold a message.
    size_t http_connections_max = 128;
    Duration retry_after = std::chrono::seconds{1};
    Duration stop_wait = std::chrono::seconds{1};
  };

  // `take` is called on one thread, a request at a time; what it returns is what
  // the sender is told. AlreadyExists if a port is in use. Senders can connect
  // when it returns.
  static absl::StatusOr<std::unique_ptr<OtlpReceiver>> Start(const Options& options, OtlpIntake::Take take);
  ~OtlpReceiver();

  uint16_t grpc_port() const { return grpc_->port(); }
  uint16_t http_port() const { return http_->port(); }

  // Takes and answers what has come, then closes. Idempotent, implied by the
  // destructor.
  void Stop();

  OtlpIntake::Figures figures() const { return intake_->figures(); }

 private:
  OtlpReceiver() = default;

  std::unique_ptr<OtlpIntake> intake_;  // outlives both
  std::unique_ptr<OtlpGrpcServer> grpc_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace hopgap::server
