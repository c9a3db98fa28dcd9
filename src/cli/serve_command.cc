#include <absl/status/status.h>
#include <absl/strings/ascii.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>

#include "base/system_clock.h"
#include "base/text.h"
#include "cli/broker_spans.h"
#include "cli/commands.h"
#include "cli/data_directory.h"
#include "cli/exit_codes.h"
#include "cli/loopback.h"
#include "cli/setup.h"
#include "cli/signals.h"
#include "formats/seed_file.h"
#include "loop/timer.h"
#include "server/grpc_server.h"
#include "server/seeding.h"
#include "store/memory_journal.h"

namespace hopgap::cli {
namespace {

struct ServeOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8085;
  std::string profile = "none";
  std::string policy = "eager";
  uint64_t delay_seed = kBuiltinSeed;
  std::string seed;
  std::string tls_cert, tls_key, client_ca, auth_token_file;
  std::string data;  // empty: in memory
  std::string backlog_limit = "4GiB";
  bool memory = false;  // says what is the default
  bool insecure = false;
  bool admin = false;
  bool test_clock = false;
};

constexpr size_t kTokenBytesMin = 16;

absl::StatusOr<std::string> ReadPart(std::string_view flag, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || text.str().empty()) {
    return absl::InvalidArgumentError(StrCat(flag, " ", path, ": cannot be read, or is empty"));
  }
  return text.str();
}

// Everybody who reaches the port may read, write and delete everything, unless
// they are asked who they are.
absl::Status CheckWhoMayCall(const ServeOptions& options) {
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key: give both or neither");
  }
  if (!options.client_ca.empty() && options.tls_cert.empty()) {
    return absl::InvalidArgumentError("--client-ca: needs --tls-cert and --tls-key");
  }
  const bool asks = !options.client_ca.empty() || !options.auth_token_file.empty();
  if (Loopback(options.host) || asks || options.insecure) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat(
      "--host ", options.host,
      ": beyond this machine callers must be asked who they are. Give "
      "--auth-token-file, or --tls-cert, --tls-key and --client-ca; or, where everybody who reaches the port may "
      "read and delete everything, ",
      kInsecureFlag));
}

absl::Status AddSecurity(const ServeOptions& options, server::GrpcServer::Options& server) {
  if (absl::Status status = CheckWhoMayCall(options); !status.ok()) return status;
  if (!options.tls_cert.empty()) {
    server.tls.emplace();
    for (const auto& [flag, path, text] : {std::tuple{"--tls-cert", &options.tls_cert, &server.tls->certificate},
                                           std::tuple{"--tls-key", &options.tls_key, &server.tls->key},
                                           std::tuple{"--client-ca", &options.client_ca, &server.tls->client_ca}}) {
      if (path->empty()) continue;
      absl::StatusOr<std::string> read = ReadPart(flag, *path);
      if (!read.ok()) return read.status();
      *text = *std::move(read);
    }
  }
  if (options.auth_token_file.empty()) return absl::OkStatus();
  absl::StatusOr<std::string> text = ReadPart("--auth-token-file", options.auth_token_file);
  if (!text.ok()) return text.status();
  const std::string token(ToStd(absl::StripAsciiWhitespace(*text)));
  if (token.size() < kTokenBytesMin) {
    return absl::InvalidArgumentError(StrCat("--auth-token-file ", options.auth_token_file, ": a token of ",
                                             token.size(), " bytes can be guessed; use at least ", kTokenBytesMin,
                                             ", for example from: openssl rand -hex 32"));
  }
  server.admission = server::RequireBearerToken(token);
  return absl::OkStatus();
}

void PrintStarted(const ServeOptions& options, const server::GrpcServer& server) {
  if (!Loopback(options.host) && !options.auth_token_file.empty() && options.tls_cert.empty()) {
    std::fprintf(stderr, "hopgap: without --tls-cert the token goes over the network in the clear\n");
  }
  if (!Loopback(options.host) && options.client_ca.empty() && options.auth_token_file.empty()) {
    std::fprintf(stderr, "hopgap: listening on %s without asking who calls\n", options.host.c_str());
  }
  std::printf("Server started, listening on %d\n", server.port());
  if (options.tls_cert.empty()) {
    std::printf("  export PUBSUB_EMULATOR_HOST=%s\n", server.target().c_str());
  } else {
    std::printf("  gRPC over TLS; for hopgap: --target tls:%s --ca-file FILE\n", server.target().c_str());
  }
  const std::string where = options.data.empty() ? "in memory" : StrCat("data in ", options.data);
  std::printf("  %s; stop with Ctrl-C; added delays: %s\n", where.c_str(), options.profile.c_str());
  std::fflush(stdout);
}

absl::Status AddProfile(const ServeOptions& options, broker::Broker::Options& broker) {
  absl::StatusOr<broker::Profile> profile = LoadProfile(options.profile);
  if (!profile.ok()) return profile.status();
  if (options.profile != "none") {
    broker.every_project = std::make_shared<broker::Delays>(
        broker::Delays::Options{.profile = *std::move(profile), .seed = options.delay_seed});
  }
  return absl::OkStatus();
}

// The file is read before anything begins; it is applied once the broker is there.
absl::Status AddSeed(const ServeOptions& options, server::GrpcServer::Options& server) {
  if (options.seed.empty()) return absl::OkStatus();
  const std::string about = StrCat("--seed ", options.seed, ": ");
  std::ifstream file(options.seed, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) return absl::InvalidArgumentError(about + "cannot be read, or is empty");
  absl::StatusOr<formats::Seed> seed = formats::ParseSeed(text.str());
  if (!seed.ok()) return absl::InvalidArgumentError(StrCat(about, MessageOf(seed.status())));
  server.prepare = [about, seed = *std::move(seed)](server::LocalCalls& broker) {
    const absl::Status status = server::ApplySeed(seed, broker).status();
    return status.ok() ? status : absl::InvalidArgumentError(StrCat(about, MessageOf(status)));
  };
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
  const absl::StatusOr<uint64_t> backlog = ParseSize("--backlog-limit", options.backlog_limit);
  if (!backlog.ok()) return Fail(kBadConfiguration, MessageOf(backlog.status()));
  server_options.broker.retained_bytes_max = *backlog;
  if (absl::Status status = AddProfile(options, server_options.broker); !status.ok()) {
    return Fail(kBadConfiguration, MessageOf(status));
  }
  if ((options.admin || options.test_clock) && !options.tls_cert.empty()) {
    return Fail(kBadConfiguration,
                "--admin, --test-clock: they are asked over HTTP/1.1, which --tls-cert leaves no port for");
  }
  server_options.test_clock = options.test_clock;
  server_options.admin = options.admin || options.test_clock;
  server_options.failure_line = [](const std::string& line) { std::fprintf(stderr, "hopgap: %s\n", line.c_str()); };
  if (absl::Status status = AddSeed(options, server_options); !status.ok()) {
    return Fail(kBadConfiguration, MessageOf(status));
  }
  if (absl::Status status = AddSecurity(options, server_options); !status.ok()) {
    return Fail(kBadConfiguration, MessageOf(status));
  }
  std::unique_ptr<store::DiskJournal> disk;
  if (!options.data.empty()) {
    absl::StatusOr<std::unique_ptr<store::DiskJournal>> opened =
        OpenData(options.data, server_options.broker.ack_id_key);
    if (!opened.ok()) return Fail(kBadConfiguration, MessageOf(opened.status()));
    disk = *std::move(opened);
    server_options.broker.ack_id_key = disk->key();
  }
  loop::Timer timer;
  store::MemoryJournal memory;
  broker::Journal& journal = disk ? static_cast<broker::Journal&>(*disk) : memory;
  absl::StatusOr<std::unique_ptr<BrokerSpans>> spans = BrokerSpans::FromEnvironment(server_options.broker.anchor);
  if (!spans.ok()) return Fail(kBadConfiguration, MessageOf(spans.status()));
  absl::StatusOr<std::unique_ptr<server::GrpcServer>> server =
      server::GrpcServer::Start(std::move(server_options), journal, (*spans)->sink(), timer);
  if (!server.ok()) return Fail(CodeOf(server.status()), MessageOf(server.status()));
  (*spans)->Start([&broker = **server](const std::function<void()>& task) { broker.RunOnStrand(task); });
  PrintStarted(options, **server);
  WaitForStopSignal();
  (*spans)->Stop();
  (*server)->Stop();
  if (disk) {
    const std::string text = DescribeJournal(disk->figures(), (*server)->counters());
    std::fprintf(stderr, "hopgap: %s\n", text.c_str());
    disk->Close();
  }
  return kOk;
}

}  // namespace

void AddServe(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand("serve", "run the broker alone: Pub/Sub for tests, exactly-once included");
  command->group("Serve");
  command->add_option("--port", options->port, "port to listen on; 0: any free one")
      ->capture_default_str()
      ->check(CLI::Range(0, kPortMax));
  command
      ->add_option("--host", options->host, "address to listen on; beyond loopback callers must be asked who they are")
      ->capture_default_str();
  auto* data = command->add_option("--data", options->data,
                                   "directory to keep everything in, made if it is not there: what was answered "
                                   "survives a crash (docs/reliability.md)");
  command->add_flag("--memory", options->memory, "keep everything in memory, and forget it at the end (the default)")
      ->excludes(data);
  command
      ->add_option("--backlog-limit", options->backlog_limit,
                   "bytes of messages that subscriptions, snapshots and retention may keep, such as 512MiB; beyond it "
                   "Publish is refused with RESOURCE_EXHAUSTED")
      ->capture_default_str();
  command->add_option("--profile", options->profile, "delays to add for every project: none, cloud-replay, or a FILE")
      ->capture_default_str();
  command->add_option("--response-policy", options->policy, "eager or gated")
      ->capture_default_str()
      ->check(CLI::IsMember({"eager", "gated"}));
  command->add_option("--delay-seed", options->delay_seed, "what the added delays are drawn from")
      ->capture_default_str();
  command->add_option(
      "--seed", options->seed,
      "YAML FILE of topics, subscriptions and messages to begin with (docs/seed.md); nobody is answered "
      "before they are there, and an entry that is refused ends the process with code 3");
  command
      ->add_flag("--admin", options->admin,
                 "answer calls for tests under /admin/v1/ (HTTP/1.1, this machine only): expire leases, fail acks, "
                 "pause or recycle streams, list leases; docs/admin.md")
      ->group("For tests");
  command
      ->add_flag("--test-clock", options->test_clock,
                 "like --admin, and POST /admin/v1/clock:advance {\"seconds\": 61} moves the broker's time on")
      ->group("For tests");
  const auto secure = [&](const char* flag, std::string& value, const char* help) {
    command->add_option(flag, value, help)->group("Who may call");
  };
  secure("--tls-cert", options->tls_cert, "certificate chain (PEM): serve gRPC over TLS, and nothing else");
  secure("--tls-key", options->tls_key, "its key (PEM, not encrypted)");
  secure("--client-ca", options->client_ca, "clients must show a certificate of this authority (PEM)");
  secure("--auth-token-file", options->auth_token_file,
         "every call must carry 'authorization: Bearer TOKEN' with the token in this file");
  command->add_flag(kInsecureFlag, options->insecure, "listen beyond loopback although nobody is asked who they are")
      ->group("Who may call");
  commands.push_back({command, [options] { return ServeCommand(*options); }});
}

}  // namespace hopgap::cli
