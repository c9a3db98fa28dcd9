#include <absl/status/status.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/system_clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/options.h"
#include "remote/http_client.h"
#include "remote/remote.h"

namespace hopgap::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = 2s;      // of one question
constexpr Duration kBetween = 200ms;    // two questions
constexpr size_t kShownBytesMax = 200;  // of a reply that says no
constexpr int kAnsweredWell = 200;

struct HealthOptions {
  std::string target = "127.0.0.1:8085";
  std::string wait = "0s";
};

absl::Status AskUrl(const remote::Url& url) {
  remote::HttpClient::Options options;
  options.origin = url.origin;
  options.connect_timeout = options.timeout = kPatience;
  remote::HttpRequest request;
  request.path = url.path.empty() ? "/readyz" : url.path;
  const absl::StatusOr<remote::HttpResponse> response = remote::HttpClient(std::move(options)).Send(request);
  if (!response.ok()) return response.status();
  if (response->status == kAnsweredWell) return absl::OkStatus();
  return absl::UnavailableError(StrCat(url.origin, " answers ", response->status, ": ",
                                       std::string_view(response->body).substr(0, kShownBytesMax)));
}

// A connection of its own each time: what is asked is whether a new client gets one.
absl::Status AskBroker(const std::string& target) {
  remote::Remote remote;
  return remote.Connect(target)->WaitReady(kPatience);
}

absl::Status Ask(const std::string& target) {
  if (target.find("://") == std::string::npos) return AskBroker(target);
  const absl::StatusOr<remote::Url> url = remote::ParseUrl(target);
  return url.ok() ? AskUrl(*url) : url.status();
}

int HealthCommand(const HealthOptions& options) {
  const absl::StatusOr<Duration> wait = ParseDuration("--wait", options.wait);
  if (!wait.ok()) return Fail(kBadConfiguration, MessageOf(wait.status()));
  const Instant until = SteadyNow() + *wait;
  absl::Status status;
  while (!(status = Ask(options.target)).ok() && !absl::IsInvalidArgument(status) && SteadyNow() < until) {
    std::this_thread::sleep_for(kBetween);
  }
  if (absl::IsInvalidArgument(status)) return Fail(kBadConfiguration, MessageOf(status));
  if (!status.ok()) return Fail(kUnreachable, MessageOf(status));
  std::printf("%s is well\n", options.target.c_str());
  return kOk;
}

}  // namespace

void AddHealth(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<HealthOptions>();
  CLI::App* command =
      app.add_subcommand("health", "ask a running hopgap whether it is well; for health checks of containers");
  command->group("Serve");
  command
      ->add_option("TARGET", options->target,
                   "a broker's HOST:PORT, or http://HOST:PORT of an api or a worker (asks /readyz, or the path given)")
      ->capture_default_str();
  command->add_option("--wait", options->wait, "ask again until it is well, at most for this long (7 days at most)")
      ->capture_default_str();
  // It waits and holds nothing, so a signal just ends it.
  commands.push_back({command, [options] { return HealthCommand(*options); }, false});
}

}  // namespace hopgap::cli
