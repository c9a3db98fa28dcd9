#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/time.h"
#include "server/otlp_intake.h"

namespace hopgap::server {

// OTLP's TraceService over gRPC without TLS, in front of an intake. One thread
// accepts, one polls.
//
// Stop() and the destructor are for one thread.
class OtlpGrpcServer {
 public:
  struct Options {
    std::string host;
    uint16_t port = 0;  // 0: any free one
    int message_bytes_max = 0;
    Duration retry_after{0};  // told to whom there is no room for
    Duration stop_wait{0};    // for clients to take their last answers
  };
  // The intake outlives the server's Stop(). AlreadyExists if the port is in use.
  static absl::StatusOr<std::unique_ptr<OtlpGrpcServer>> Start(const Options& options, OtlpIntake& intake);
  ~OtlpGrpcServer();

  uint16_t port() const;

  // Takes no further connections or calls and returns when all calls are over.
  // Requires: the intake answers what it holds, or has. Idempotent, implied by
  // the destructor.
  void Stop();

 private:
  class Impl;
  explicit OtlpGrpcServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hopgap::server
