#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "cli/cloud_trace.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/foreign_traces.h"
#include "cli/loaded_run.h"
#include "cli/present.h"
#include "cli/setup.h"
#include "cli/what_if.h"
#include "formats/run_folder.h"
#include "report/how_to.h"
#include "trace/trace_set.h"

namespace hopgap::cli {
namespace {

struct AnalyzeOptions {
  std::vector<std::string> paths;
  bool json = false, markdown = false, per_hop = false, csv = false, join_message_ids = false;
  std::string waterfall, trace, out, how, report;
  std::optional<int> streams, spans_memory_mib;
  std::string scratch;
  std::vector<std::string> thresholds;
  CloudTraceFlags cloud_trace;
  WhatIfFlags what_if;
};

Presentation ShownAs(const AnalyzeOptions& options) {
  return {.json = options.json,
          .markdown = options.markdown,
          .per_hop = options.per_hop,
          .waterfall = options.waterfall,
          .report = options.report};
}

int Print(report::Run run, const AnalyzeOptions& options) {
  if (!options.thresholds.empty()) run.configuration.thresholds = options.thresholds;
  return PrintRun(run, options.paths[0], ShownAs(options));
}

absl::Status CheckWaterfallOf(const report::Run& run, const AnalyzeOptions& options) {
  std::vector<std::string> arms;
  for (const report::ArmRun& arm : run.arms) arms.push_back(arm.name);
  if (absl::Status status = CheckThresholds(options.thresholds, arms); !status.ok()) return status;
  return CheckWaterfall(options.waterfall, arms);
}

// Spans of processes that had no common plan; `collected` is what the folder's
// run.json knows beside them.
int AnalyzeSpans(std::vector<std::string> files, std::string name, const AnalyzeOptions& options,
                 const std::optional<report::SpansOnly>& collected) {
  return AnalyzeForeign({.paths = std::move(files),
                         .name = std::move(name),
                         .collected = collected,
                         .presentation = ShownAs(options),
                         .thresholds = options.thresholds,
                         .csv = options.csv,
                         .join_message_ids = options.join_message_ids,
                         .trace = options.trace,
                         .out = options.out,
                         .streams = options.streams,
                         .scratch = options.scratch,
                         .spans_memory_mib = options.spans_memory_mib});
}

// Of a run with a plan these say nothing, or not the same.
absl::Status CheckRunFlags(const AnalyzeOptions& options) {
  const std::pair<bool, const char*> given[] = {{options.csv, "--csv"},
                                                {options.join_message_ids, "--join-message-ids"},
                                                {!options.out.empty(), "--out"},
                                                {!options.trace.empty(), "--trace"},
                                                {options.streams.has_value(), "--streams"}};
  for (const auto& [is_given, flag] : given) {
    if (!is_given) continue;
    return absl::InvalidArgumentError(StrCat(flag,
                                             ": only for spans that no run of ours planned; name the folder's file ",
                                             formats::kSpansFile, " to read it as such"));
  }
  return absl::OkStatus();
}

int AnalyzeFolder(const std::string& path, const AnalyzeOptions& options) {
  absl::StatusOr<report::Run> run = ReadPlannedRun(path);
  if (!run.ok()) return Fail(kBadConfiguration, MessageOf(run.status()));
  if (run->spans_only) return AnalyzeSpans({StrCat(path, "/", formats::kSpansFile)}, path, options, run->spans_only);
  if (absl::Status status = CheckRunFlags(options); !status.ok()) {
    return Fail(kBadConfiguration, MessageOf(status));
  }
  if (absl::Status status = CheckWaterfallOf(*run, options); !status.ok()) {
    return Fail(kBadConfiguration, MessageOf(status));
  }
  if (run->configuration.spans_of == 0) {
    return Fail(kBadConfiguration,
                StrCat(path, ": this run wrote no spans (--spans none); its result is in summary.json"));
  }
  const absl::StatusOr<bool> whole = AddPathsOf(path, *run);
  if (!whole.ok()) return Fail(kBadConfiguration, MessageOf(whole.status()));
  const int code = Print(*std::move(run), options);
  return code == kOk && !*whole ? kPartial : code;
}

int AnalyzeCommand(AnalyzeOptions options) {
  if (!options.how.empty()) {
    const std::string text = report::HowToText(options.how);
    if (text.empty()) {
      return Fail(kBadConfiguration, StrCat("--how: '", options.how, "' is none of ", report::kHowToClients));
    }
    std::fputs(text.c_str(), stdout);
    return kOk;
  }
  if (options.paths.empty())
    return Fail(kBadConfiguration, "PATH: what is to be read? A file, a folder, or - for standard input");
  for (std::string& path : options.paths) {
    if (!IsCloudTrace(path)) continue;
    absl::StatusOr<std::string> file = FetchCloudTrace(path, options.cloud_trace);
    if (!file.ok()) return Fail(CodeOfTarget(file.status()), MessageOf(file.status()));
    path = *std::move(file);
  }
  if (!options.what_if.changes.empty()) return AnswerWhatIf(options.paths, options.streams, options.what_if);
  std::error_code ignored;
  if (options.paths.size() == 1 && std::filesystem::exists(options.paths[0] + "/run.json", ignored)) {
    return AnalyzeFolder(options.paths[0], options);
  }
  return AnalyzeSpans(options.paths, NameOfRun(options.paths), options, std::nullopt);
}

}  // namespace

void AddAnalyze(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<AnalyzeOptions>();
  CLI::App* command =
      app.add_subcommand("analyze", "explain a run folder, or traces that other people's services wrote");
  command->group("Explain");
  command->add_option(
      "PATH", options->paths,
      "a folder that `hopgap run`, `simulate` or `collect` wrote; or files and folders of spans (OTLP, "
      "Jaeger, Zipkin, Tempo, Cloud Trace, _AllSpans, ClickHouse; packed or not), - for standard input; "
      "or cloudtrace:PROJECT");
  CLI::Option* json = command->add_flag("--json", options->json, "print one JSON document (docs/json.md)");
  CLI::Option* markdown =
      command->add_flag("--markdown", options->markdown, "print the answer, its tables and findings as Markdown")
          ->excludes(json);
  CLI::Option* csv = command->add_flag("--csv", options->csv, "print a line a delivery: instants and stages")
                         ->excludes(json)
                         ->excludes(markdown);
  command->add_flag("--per-hop", options->per_hop, "tables per hop as well")->excludes(markdown)->excludes(csv);
  command->add_option("--waterfall", options->waterfall, "the arm whose median message is drawn")
      ->excludes(markdown)
      ->excludes(csv);
  command->add_option("--trace", options->trace, "take one trace apart: which span gave which instant")
      ->check([](const std::string& text) { return std::string(text.empty() ? "an empty trace id" : ""); });
  command->add_option("--out", options->out, "write a run folder, for reports and comparisons");
  command->add_option("--report", options->report, "write the page here, one HTML file");
  command->add_option("--threshold", options->thresholds,
                      "a promise, judged on its interval; exit code 11 if broken, 12 if undecided");
  command->add_option("--streams", options->streams, "streams that each exactly-once subscription has open")
      ->check(CLI::Range(1, 10'000));
  command->add_flag("--join-message-ids", options->join_message_ids,
                    "join deliveries whose trace context was lost to the publish with their message id");
  command
      ->add_option("--spans-memory-mib", options->spans_memory_mib,
                   StrCat("MiB of packed spans in memory before they go to scratch files (",
                          trace::TraceSet::kMemoryMax >> 20, "); links may have half as much again"))
      ->check(CLI::Range(4, 1 << 20));
  command->add_option("--scratch", options->scratch,
                      "folder for spans that do not fit into memory (the system's, TMPDIR), about 0.2 kB a span");
  command->add_option("--how", options->how, StrCat("how to switch tracing on in a client: ", report::kHowToClients));
  AddCloudTraceFlags(*command, options->cloud_trace);
  AddWhatIfFlags(*command, options->what_if);
  // It only reads: a signal just ends it.
  commands.push_back({command, [options] { return AnalyzeCommand(*options); }, false});
}

}  // namespace hopgap::cli
