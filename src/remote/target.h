#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"

namespace hopgap::remote {

class Access;

// Cloud Pub/Sub, whatever the region. Exactly-once holds within a region, so its
// users want REGION-pubsub.googleapis.com.
inline constexpr std::string_view kGlobalEndpoint = "pubsub.googleapis.com:443";

// Who answers, and how to talk to it.
//
//   HOST:PORT       plaintext: hopgap serve, any emulator
//   tls:HOST:PORT   TLS: hopgap serve --tls-cert …
//   gcp:PROJECT     Cloud Pub/Sub: TLS and application default credentials
struct Target {
  Target() = default;
  // "HOST:PORT", in plaintext. Implicit: most targets are just that.
  Target(std::string plaintext) : text(std::move(plaintext)), address(text) {}  // NOLINT(google-explicit-constructor)

  std::string text;     // as it was given
  std::string address;  // "HOST:PORT" of the connection
  std::string project;  // of gcp:PROJECT, else empty
  bool tls = false;
  // PEM files; empty: the system's roots, no client certificate.
  std::string ca_file, certificate_file, key_file;
  std::string token_file;  // a bearer token for tls:HOST:PORT; empty: none
  // Certificates and credentials, once Authorize() has run. Shared with the
  // connections, which use them as long as they live.
  std::shared_ptr<const Access> access;

  bool service() const { return !project.empty(); }
  bool global_endpoint() const { return service() && address == kGlobalEndpoint; }
};

// What flags say beside the target itself. Empty: not given.
struct TargetSettings {
  std::string endpoint = {};  // HOST:PORT instead of Google's, for gcp:PROJECT
  std::string ca_file = {}, certificate_file = {}, key_file = {}, token_file = {};
};

// InvalidArgument names what is wrong, also a setting that this kind of target
// has no use for. Reads no file, opens no connection.
absl::StatusOr<Target> ParseTarget(std::string_view text, const TargetSettings& settings = {});

// Reads the certificates and, for the service, finds the credentials and waits
// for the first token. Does nothing for a plaintext target. Blocks.
//
// Unauthenticated for credentials that are missing or refused, Unavailable if
// the token endpoint does not answer, NotFound for a file; the messages say
// what to do.
absl::Status Authorize(Target& target, Duration timeout = std::chrono::seconds{20});

// "service account a@b (FILE)", "a token from FILE", or empty.
std::string DescribeAccess(const Target& target);

// An error of a call to the target, with what to do about it where the service
// said only a code: credentials, rights, quota.
absl::Status Explain(const absl::Status& status, const Target& target);

// Unauthenticated, with why, when the token has expired and could not be
// renewed: calls would fail with words of gRPC's instead. Does not block.
absl::Status CheckAccess(const Target& target);

// Whether a call's error means that going on is of no use: refused credentials
// or rights, and a quota of the service that is used up.
bool EndsARun(const absl::Status& status, const Target& target);

}  // namespace hopgap::remote
