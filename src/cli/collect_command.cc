#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/system_clock.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/collection.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/folder.h"
#include "cli/loopback.h"
#include "cli/options.h"
#include "cli/signals.h"
#include "formats/run_json.h"
#include "server/otlp_receiver.h"

namespace hopgap::cli {
namespace {

constexpr Duration kPoll{std::chrono::milliseconds{100}};
constexpr Duration kProgressEvery{std::chrono::seconds{1}};
constexpr size_t kServicesNamed = 20;

struct CollectOptions {
  uint16_t otlp_port = 4317, http_port = 4318;
  std::string host = "127.0.0.1";
  std::string out, duration;
  bool insecure = false;
};

std::string Counts(const Collection::Figures& figures, const server::OtlpIntake::Figures& intake) {
  std::string text =
      StrCat(figures.spans, " spans, ", figures.more_traces ? "more than " : "", figures.traces, " traces, ",
             figures.more_services ? "more than " : "", figures.spans_by_service.size(), " services");
  if (intake.rejected > 0) text += StrCat(", ", intake.rejected, " spans rejected");
  if (intake.malformed > 0) text += StrCat(", ", intake.malformed, " requests that are no OTLP");
  if (intake.turned_away > 0) text += StrCat(", ", intake.turned_away, " requests turned away for want of room");
  return text;
}

// Until a signal asks, the time is over, or the folder cannot be written.
void Wait(const Collection& collection, const server::OtlpReceiver& receiver, std::optional<Duration> length) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const Instant begin = SteadyNow();
  std::string shown;
  for (Instant next = begin + kProgressEvery; StopSignal() == 0; std::this_thread::sleep_for(kPoll)) {
    const Instant now = SteadyNow();
    if (length && now >= begin + *length) break;
    if (now < next) continue;
    next += kProgressEvery;
    const Collection::Figures figures = collection.figures();
    if (!figures.status.ok()) break;
    const std::string counts = Counts(figures, receiver.figures());
    if (counts == shown) continue;
    std::fprintf(stderr, terminal ? "\r\x1b[K  %s" : "  %s\n", counts.c_str());
    std::fflush(stderr);
    shown = counts;
  }
  if (terminal && !shown.empty()) std::fputs("\n", stderr);
}

// What analyze should say besides what it finds in the spans.
std::vector<std::string> NotesOf(const server::OtlpIntake::Figures& intake) {
  std::vector<std::string> notes;
  if (intake.rejected > 0)
    notes.push_back(StrCat(intake.rejected, " spans were rejected on receipt: no spans by OTLP"));
  if (intake.malformed > 0) notes.push_back(StrCat(intake.malformed, " requests were no OTLP and were refused"));
  if (intake.turned_away > 0) {
    notes.push_back(StrCat(intake.turned_away,
                           " requests were turned away for want of room: whoever did not try again lost spans"));
  }
  return notes;
}

// The folder in its final place, or where its spans are kept.
int Finish(Collection& collection, const server::OtlpIntake::Figures& intake, Duration elapsed) {
  const Collection::Figures figures = collection.figures();
  if (figures.spans == 0 && figures.status.ok()) {
    return Fail(kInvalidRun, StrCat("no span came, so no folder was written",
                                    intake.malformed > 0 ? " (requests came that are no OTLP)" : ""));
  }
  report::Run run;
  run.version = std::string(kVersion);
  run.configuration.command = "collect";
  run.configuration.hops = 0;  // analyze finds it in the spans
  run.elapsed = elapsed;
  run.spans_only.emplace();
  run.spans_only->spans = figures.spans;
  run.spans_only->notes = NotesOf(intake);
  formats::RunFolder& folder = collection.folder();
  absl::Status status = figures.status;
  status.Update(folder.Append("run.json", formats::WriteRunJson(run, ReadMachine())));
  if (!status.ok()) {
    return Fail(kOutputUnwritable, StrCat(MessageOf(status), "; what came before is kept in ", folder.Keep()));
  }
  const auto files = folder.Commit();
  if (!files.ok()) return Fail(kOutputUnwritable, MessageOf(files.status()));
  std::printf("Collected %s\n", Counts(figures, intake).c_str());
  size_t named = 0;
  for (const auto& [service, spans] : figures.spans_by_service) {
    if (named++ == kServicesNamed) {
      std::printf("  … and %zu more\n", figures.spans_by_service.size() - kServicesNamed);
      break;
    }
    std::printf("  %s: %s spans\n", service.empty() ? "(no service name)" : service.c_str(), StrCat(spans).c_str());
  }
  std::printf("Saved %s\nNext  hopgap analyze %s\n", folder.path().c_str(), folder.path().c_str());
  return kOk;
}

int CollectCommand(const CollectOptions& options) {
  if (!Loopback(options.host) && !options.insecure) {
    return Fail(kBadConfiguration,
                StrCat("--host ", options.host,
                       ": whoever reaches it could write spans to this machine's disk. Listen on 127.0.0.1, or say ",
                       kInsecureFlag));
  }
  std::optional<Duration> length;
  if (!options.duration.empty()) {
    absl::StatusOr<Duration> parsed = ParseDuration("--for", options.duration);
    if (!parsed.ok()) return Fail(kBadConfiguration, MessageOf(parsed.status()));
    length = *parsed;
  }
  absl::StatusOr<formats::RunFolder> folder =
      formats::RunFolder::Create(options.out.empty() ? DefaultFolder() : options.out);
  if (!folder.ok()) return Fail(kOutputUnwritable, MessageOf(folder.status()));
  Collection collection(*std::move(folder), {});
  auto receiver = server::OtlpReceiver::Start(
      {.host = options.host, .grpc_port = options.otlp_port, .http_port = options.http_port},
      [&collection](std::vector<trace::Span>& spans) { return collection.Take(spans); });
  if (!receiver.ok()) return Fail(CodeOf(receiver.status()), MessageOf(receiver.status()));
  std::fprintf(stderr, "Collecting spans by OTLP: gRPC on %s:%d, HTTP on http://%s:%d/v1/traces; stop with Ctrl-C\n",
               options.host.c_str(), (*receiver)->grpc_port(), options.host.c_str(), (*receiver)->http_port());
  const Instant begin = SteadyNow();
  Wait(collection, **receiver, length);
  (*receiver)->Stop();
  return Finish(collection, (*receiver)->figures(), SteadyNow() - begin);
}

}  // namespace

void AddCollect(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<CollectOptions>();
  CLI::App* command = app.add_subcommand("collect", "receive spans by OTLP from anything, for `hopgap analyze`");
  command->group("Explain");
  command->add_option("--otlp-port", options->otlp_port, "OTLP over gRPC; 0: any free one")
      ->capture_default_str()
      ->check(CLI::Range(0, kPortMax));
  command->add_option("--http-port", options->http_port, "OTLP over HTTP, protobuf or JSON; 0: any free one")
      ->check(CLI::Range(0, kPortMax))
      ->capture_default_str();
  command->add_option("--host", options->host, "address to listen on")->capture_default_str();
  command->add_flag(kInsecureFlag, options->insecure,
                    "listen beyond this machine although nobody is asked who they are");
  command->add_option("--out", options->out, "folder to write (default: runs/TIME)");
  command->add_option("--for", options->duration, "how long (default: until a signal)");
  commands.push_back({command, [options] { return CollectCommand(*options); }});
}

}  // namespace hopgap::cli
