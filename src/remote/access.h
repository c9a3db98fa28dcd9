#pragma once

#include <grpcpp/security/credentials.h>

#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "remote/credentials.h"

namespace hopgap::remote {

// Certificates and a token in memory: what a secure connection is opened with.
// Immutable, but for the token, which renews itself. Thread-safe.
class Access {
 public:
  struct Certificates {
    std::string roots, certificate, key;  // PEM; empty: the system's, none
  };
  // `credentials` may be null; then `fixed_token` (may be empty) is sent.
  Access(Certificates certificates, std::shared_ptr<Credentials> credentials, std::string fixed_token);

  // What a call carries. Does not block. Unauthenticated if the token has expired.
  absl::StatusOr<std::vector<std::pair<std::string, std::string>>> Headers() const;
  std::string Describe() const;

  // TLS, and the headers on every call.
  static std::shared_ptr<grpc::ChannelCredentials> ForChannel(const std::shared_ptr<const Access>& access);

 private:
  const Certificates certificates_;
  const std::shared_ptr<Credentials> credentials_;
  const std::string fixed_token_;
};

}  // namespace hopgap::remote
