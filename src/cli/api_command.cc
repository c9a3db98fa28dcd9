#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "base/system_clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/process_flags.h"
#include "cli/signals.h"
#include "cli/span_export.h"
#include "live/api.h"

namespace hopgap::cli {
namespace {

constexpr Duration kDrain{std::chrono::seconds{25}};

struct ApiFlags {
  ProcessFlags process;
  std::string topic, listen = "127.0.0.1:8080";
};

absl::StatusOr<live::Api::Options> Options(const ApiFlags& flags) {
  live::Api::Options options;
  absl::StatusOr<remote::Target> target = flags.process.target.Finish();
  if (!target.ok()) return target.status();
  options.target = *std::move(target);
  absl::StatusOr<std::string> topic = flags.process.FullName("--topic", "topics", flags.topic, options.target);
  if (!topic.ok()) return topic.status();
  options.topic = *std::move(topic);
  absl::StatusOr<Address> address = ParseAddress("--listen", flags.listen);
  if (!address.ok()) return address.status();
  options.host = address->host;
  options.port = address->port;
  options.client = flags.process.client;
  options.arm = flags.process.arm;
  options.seed = std::random_device{}();
  absl::StatusOr<ClockAnchor> anchor = live::SharedAnchor(std::getenv("HOPGAP_CLOCK_ANCHOR"));
  if (!anchor.ok()) return anchor.status();
  options.anchor = *anchor;
  return options;
}

int ApiCommand(const ApiFlags& flags) {
  Log log(flags.process.log());
  absl::StatusOr<live::Api::Options> options = Options(flags);
  if (!options.ok()) return Fail(kBadConfiguration, MessageOf(options.status()));
  absl::StatusOr<SpanExport> spans =
      SpanExport::FromEnvironment(flags.process.arm.empty() ? "hopgap-api" : StrCat(flags.process.arm, "-api"), log);
  if (!spans.ok()) return Fail(kBadConfiguration, MessageOf(spans.status()));
  if (!spans->why_not().empty()) log.Info("spans do not leave", {{"why", spans->why_not()}});
  options->spans = spans->sink();
  if (absl::Status status = remote::Authorize(options->target); !status.ok()) {
    return Fail(CodeOfTarget(status), MessageOf(status));
  }
  const std::string topic = options->topic, host = options->host;
  absl::StatusOr<std::unique_ptr<live::Api>> api = live::Api::Start(*std::move(options));
  if (!api.ok()) return Fail(CodeOf(api.status()), MessageOf(api.status()));
  if (absl::Status status = WriteReadyFile(flags.process.ready_file, StrCat((*api)->port())); !status.ok()) {
    return Fail(kOutputUnwritable, MessageOf(status));
  }
  log.Info("api listens", {{"address", StrCat(host, ":", (*api)->port())}, {"topic", topic}});
  WaitForStopSignal();
  const bool drained = (*api)->Stop(SteadyNow() + kDrain);
  spans->Flush();
  const live::Api::Figures figures = (*api)->figures();
  log.Info("api ends", {{"published", StrCat(figures.published)},
                        {"failed", StrCat(figures.failed)},
                        {"refused", StrCat(figures.refused)},
                        {"drained", drained ? "yes" : "no"}});
  return drained ? kOk : kUnfinished;
}

}  // namespace

void AddApi(CLI::App& app, Commands& commands) {
  auto flags = std::make_shared<ApiFlags>();
  CLI::App* command = app.add_subcommand("api", "the first process of a chain: POST /send publishes a message");
  command->group("Deploy");
  flags->process.Add(*command);
  command->add_option("--topic", flags->topic, "where to publish");
  command->add_option("--listen", flags->listen, "HOST:PORT; port 0: any free one")->capture_default_str();
  commands.push_back({command, [flags] { return ApiCommand(*flags); }});
}

}  // namespace hopgap::cli
