#include <absl/status/status.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <string>

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

struct ServeOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8085;
  std::string profile = "none";
  std::string policy = "eager";
  uint64_t seed = kBuiltinSeed;
};

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

int ServeCommand(const ServeOptions& options) {
  server::GrpcServer::Options server_options;
  server_options.host = options.host;
  server_options.port = options.port;
  server_options.broker.anchor = ReadAnchor();
  server_options.broker.ack_id_key = RandomKey();
  // Ids that no earlier start of this broker gave: microseconds since 1970.
  server_options.broker.first_message_id = static_cast<uint64_t>(ToNanos(server_options.broker.anchor.wall)) / 1000;
  server_options.broker.response_policy =
      options.policy == "gated" ? broker::ResponsePolicy::kGated : broker::ResponsePolicy::kEager;
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

}  // namespace

void AddServe(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand("serve", "run the broker alone: Pub/Sub for tests, exactly-once included");
  command->group("Serve");
  command->add_option("--port", options->port, "port to listen on; 0: any free one")->capture_default_str();
  command->add_option("--host", options->host, "address to listen on; anything beyond loopback is not asked who it is")
      ->capture_default_str();
  command->add_option("--profile", options->profile, "delays to add for every project: none, cloud-replay, or a FILE")
      ->capture_default_str();
  command->add_option("--response-policy", options->policy, "eager or gated")
      ->capture_default_str()
      ->check(CLI::IsMember({"eager", "gated"}));
  command->add_option("--seed", options->seed, "of the added delays")->capture_default_str();
  commands.push_back({command, [options] { return ServeCommand(*options); }});
}

}  // namespace hopgap::cli
