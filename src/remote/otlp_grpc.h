#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace hopgap::remote {

// Calls OTLP's TraceService/Export on one connection, over plaintext or TLS.
// Blocks: never for a thread that measures.
//
// One thread, but Cancel() is for any.
class OtlpGrpc {
 public:
  struct Options {
    std::string target;  // "host:4317"
    bool tls = false;
    // PEM files; empty: the system's roots, no client certificate.
    std::string ca_file = {}, client_key_file = {}, client_certificate_file = {};
    std::vector<std::pair<std::string, std::string>> headers = {};  // names in any case
    bool gzip = false;
    std::string user_agent = {};  // before gRPC's own
  };
  // NotFound if a file cannot be read, InvalidArgument for a header that HTTP/2
  // cannot carry. Nothing is connected yet.
  static absl::StatusOr<std::unique_ptr<OtlpGrpc>> Create(Options options);
  ~OtlpGrpc();

  struct Result {
    absl::Status status;
    std::string details;   // google.rpc.Status bytes of the trailer, if any
    std::string response;  // ExportTraceServiceResponse bytes, if OK
  };
  // `request` is an ExportTraceServiceRequest. Unavailable at once when there is
  // no connection, DeadlineExceeded after `timeout`.
  Result Export(const std::string& request, Duration timeout);

  // Ends the call under way, if there is one, with Cancelled.
  void Cancel();

 private:
  class Impl;
  explicit OtlpGrpc(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hopgap::remote
