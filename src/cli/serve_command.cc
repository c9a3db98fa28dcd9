#include <absl/status/status.h>

#include <cstdio>

#include "base/system_clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/setup.h"
#include "cli/signals.h"
#include "loop/timer.h"
#include "server/grpc_server.h"
#include "store/memory_journal.h"

namespace hopgap::cli {
namespace {

bool Loopback(std::string_view host) { return host == "127.0.0.1" || host == "::1" || host == "localhost"; }

absl::Status AddProfile(const ServeOptions& options, broker::Broker::Options& broker) {
  absl::StatusOr<broker::Profile> profile = LoadProfile(options.profile);
  if (!profile.ok()) return profile.status();
  if (options.profile != "none") {
    broker.every_project =
        std::make_shared<broker::Delays>(broker::Delays::Options{.profile = *std::move(profile), .seed = options.seed});
  }
  return absl::OkStatus();
}

}  // namespace

int Fail(int code, std::string_view text) {
  std::fprintf(stderr, "hopgap: %.*s\n", static_cast<int>(text.size()), text.data());
  return code;
}

int CodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kAlreadyExists: return kPortInUse;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded: return kUnreachable;
    case absl::StatusCode::kInternal: return kInternal;
    default: return kBadConfiguration;
  }
}

int ServeCommand(const ServeOptions& options) {
  server::GrpcServer::Options server_options;
  server_options.host = options.host;
  server_options.port = options.port;
  server_options.broker.anchor = ReadAnchor();
  server_options.broker.ack_id_key = RandomKey();
  // Ids that no earlier start of this broker gave: microseconds since 1970.
  server_options.broker.first_message_id = static_cast<uint64_t>(ToNanos(server_options.broker.anchor.wall)) / 1000;
  server_options.broker.response_policy =
      options.gated ? broker::ResponsePolicy::kGated : broker::ResponsePolicy::kEager;
  if (absl::Status status = AddProfile(options, server_options.broker); !status.ok()) {
    return Fail(kBadConfiguration, MessageOf(status));
  }
  loop::Timer timer;
  store::MemoryJournal journal;
  trace::NullSink sink;
  absl::StatusOr<std::unique_ptr<server::GrpcServer>> server =
      server::GrpcServer::Start(std::move(server_options), journal, sink, timer);
  if (!server.ok()) return Fail(CodeOf(server.status()), MessageOf(server.status()));
  if (!Loopback(options.host)) {
    std::fprintf(stderr, "hopgap: listening on %s without TLS and without asking who calls\n", options.host.c_str());
  }
  std::printf("Server started, listening on %d\n", (*server)->port());
  std::printf("  export PUBSUB_EMULATOR_HOST=%s\n", (*server)->target().c_str());
  std::printf("  in memory; stop with Ctrl-C; added delays: %s\n", options.profile.c_str());
  std::fflush(stdout);
  WaitForStopSignal();
  (*server)->Stop();
  return kOk;
}

}  // namespace hopgap::cli
