#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "cli/cloud_trace.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/present.h"
#include "cli/setup.h"
#include "formats/otlp_json.h"
#include "formats/run_json.h"
#include "report/from_spans.h"
#include "trace/build.h"

namespace hopgap::cli {
namespace {

struct AnalyzeOptions {
  std::string path;
  bool json = false, per_hop = false;
  std::string waterfall;
  CloudTraceFlags cloud_trace;
};

using TraceId = std::pair<uint64_t, uint64_t>;
using Traces = std::map<TraceId, std::vector<trace::Span>>;

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return absl::NotFoundError(StrCat(path, ": cannot be read; is this a folder that hopgap run or collect wrote?"));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Spans of one message may stand on any line: nothing is folded before the end.
// RPC spans (internal, with links) root traces of their own and are no part of a path.
absl::StatusOr<Traces> ReadTraces(const std::string& path, uint64_t& count) {
  Traces traces;
  absl::StatusOr<formats::OtlpFileSummary> read = formats::ReadOtlpFile(path, [&](std::vector<trace::Span>& spans) {
    for (trace::Span& span : spans) {
      if (span.parent == 0 && span.kind == trace::SpanKind::kInternal && !span.links.empty()) continue;
      std::vector<trace::Span>& trace = traces[{span.trace_hi, span.trace_lo}];
      trace.push_back(std::move(span));
    }
    return absl::OkStatus();
  });
  if (!read.ok()) return read.status();
  count = read->spans;
  for (const std::string& warning : read->warnings) std::fprintf(stderr, "hopgap: %s\n", warning.c_str());
  return traces;
}

void AddPaths(const Traces& traces, report::Run& run) {
  std::map<std::string, report::ArmRun*> arms;
  for (report::ArmRun& arm : run.arms) arms[arm.name] = &arm;
  for (const auto& [id, spans] : traces) {
    for (trace::Path& path : trace::BuildPaths(spans, run.configuration.hops)) {
      const auto arm = arms.find(path.arm);
      if (arm != arms.end()) arm->second->paths.push_back(std::move(path));
    }
  }
  for (report::ArmRun& arm : run.arms) {
    std::sort(arm.paths.begin(), arm.paths.end(),
              [](const trace::Path& a, const trace::Path& b) { return a.slot < b.slot; });
  }
}

int Print(const report::Run& run, const AnalyzeOptions& options) {
  return PrintRun(run, {.json = options.json, .per_hop = options.per_hop, .waterfall = options.waterfall});
}

absl::Status CheckWaterfallOf(const report::Run& run, const AnalyzeOptions& options) {
  std::vector<std::string> arms;
  for (const report::ArmRun& arm : run.arms) arms.push_back(arm.name);
  return CheckWaterfall(options.waterfall, arms);
}

// Spans of processes that had no common plan; `collected` is what the folder's
// run.json knows beside them.
int AnalyzeSpans(const std::string& file, const AnalyzeOptions& options,
                 const std::optional<report::SpansOnly>& collected) {
  uint64_t spans = 0;
  absl::StatusOr<Traces> traces = ReadTraces(file, spans);
  if (!traces.ok()) return Fail(kBadConfiguration, MessageOf(traces.status()));
  report::FromSpans from_spans;
  for (const auto& [id, trace] : *traces) from_spans.AddTrace(trace);
  report::Run run = from_spans.Finish(options.path, spans);
  if (collected) {
    std::vector<std::string>& notes = run.spans_only->notes;
    notes.insert(notes.begin(), collected->notes.begin(), collected->notes.end());
  }
  if (run.arms.empty()) {
    std::string why;
    for (const std::string& note : run.spans_only->notes) why += StrCat("\n  ", note);
    return Fail(kBadConfiguration, StrCat(options.path, ": ", spans,
                                          " spans, and no message in them from its publish to its last ack", why));
  }
  if (absl::Status status = CheckWaterfallOf(run, options); !status.ok()) {
    return Fail(kBadConfiguration, MessageOf(status));
  }
  return Print(run, options);
}

int AnalyzeFolder(const AnalyzeOptions& options) {
  const std::string run_file = StrCat(options.path, "/run.json"),
                    spans_file = StrCat(options.path, "/", formats::kSpansFile);
  absl::StatusOr<std::string> text = ReadText(run_file);
  if (!text.ok()) {
    return Fail(kBadConfiguration, StrCat(MessageOf(text.status()),
                                          "; if its spans are there, name their file: hopgap analyze ", spans_file));
  }
  absl::StatusOr<report::Run> run = formats::ReadRunJson(*text, run_file);
  if (!run.ok()) return Fail(kBadConfiguration, MessageOf(run.status()));
  if (run->spans_only) return AnalyzeSpans(spans_file, options, run->spans_only);
  if (absl::Status status = CheckWaterfallOf(*run, options); !status.ok()) {
    return Fail(kBadConfiguration, MessageOf(status));
  }
  if (run->configuration.spans_of == 0) {
    return Fail(kBadConfiguration,
                StrCat(options.path, ": this run wrote no spans (--spans none); its result is in summary.json"));
  }
  uint64_t spans = 0;
  absl::StatusOr<Traces> traces = ReadTraces(spans_file, spans);
  if (!traces.ok()) return Fail(kBadConfiguration, MessageOf(traces.status()));
  AddPaths(*traces, *run);
  return Print(*run, options);
}

int AnalyzeCommand(AnalyzeOptions options) {
  if (IsCloudTrace(options.path)) {
    absl::StatusOr<std::string> file = FetchCloudTrace(options.path, options.cloud_trace);
    if (!file.ok()) return Fail(CodeOfTarget(file.status()), MessageOf(file.status()));
    options.path = *std::move(file);
  }
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(options.path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_directory(status)) {
    return AnalyzeSpans(options.path, options, std::nullopt);
  }
  return AnalyzeFolder(options);
}

}  // namespace

void AddAnalyze(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<AnalyzeOptions>();
  CLI::App* command = app.add_subcommand("analyze", "explain a run folder, or a file of spans that others wrote");
  command->group("Explain");
  command
      ->add_option("PATH", options->path,
                   "a folder that `hopgap run`, `simulate` or `collect` wrote, or a file of OTLP JSON lines, or "
                   "cloudtrace:PROJECT")
      ->required();
  command->add_flag("--json", options->json, "print one JSON document (docs/json.md)");
  command->add_flag("--per-hop", options->per_hop, "tables per hop as well");
  command->add_option("--waterfall", options->waterfall, "the arm whose median message is drawn");
  AddCloudTraceFlags(*command, options->cloud_trace);
  // It only reads: a signal just ends it.
  commands.push_back({command, [options] { return AnalyzeCommand(*options); }, false});
}

}  // namespace hopgap::cli
