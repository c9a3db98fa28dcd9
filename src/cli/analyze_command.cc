#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/present.h"
#include "cli/setup.h"
#include "formats/otlp_json.h"
#include "formats/run_json.h"
#include "trace/build.h"

namespace hopgap::cli {
namespace {

struct AnalyzeOptions {
  std::string folder;
  bool json = false, per_hop = false;
  std::string waterfall;
};

using TraceId = std::pair<uint64_t, uint64_t>;
using Traces = std::map<TraceId, std::vector<trace::Span>>;

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(StrCat(path, ": cannot be read; is this a folder that hopgap run wrote?"));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Spans of one message may stand on any line: nothing is folded before the end.
// RPC spans (internal, with links) root traces of their own and are no part of a path.
absl::StatusOr<Traces> ReadTraces(const std::string& path) {
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

int AnalyzeCommand(const AnalyzeOptions& options) {
  const std::string run_file = StrCat(options.folder, "/run.json");
  absl::StatusOr<std::string> text = ReadText(run_file);
  if (!text.ok()) return Fail(kBadConfiguration, MessageOf(text.status()));
  absl::StatusOr<report::Run> run = formats::ReadRunJson(*text, run_file);
  if (!run.ok()) return Fail(kBadConfiguration, MessageOf(run.status()));
  std::vector<std::string> arms;
  for (const report::ArmRun& arm : run->arms) arms.push_back(arm.name);
  if (absl::Status status = CheckWaterfall(options.waterfall, arms); !status.ok()) {
    return Fail(kBadConfiguration, MessageOf(status));
  }
  if (run->configuration.spans_of == 0) {
    return Fail(kBadConfiguration,
                StrCat(options.folder, ": this run wrote no spans (--spans none); its result is in summary.json"));
  }
  absl::StatusOr<Traces> traces = ReadTraces(StrCat(options.folder, "/spans.otlp.jsonl"));
  if (!traces.ok()) return Fail(kBadConfiguration, MessageOf(traces.status()));
  AddPaths(*traces, *run);
  return PrintRun(*run, {.json = options.json, .per_hop = options.per_hop, .waterfall = options.waterfall});
}

}  // namespace

void AddAnalyze(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<AnalyzeOptions>();
  CLI::App* command = app.add_subcommand("analyze", "explain a run folder again, from its spans and run.json alone");
  command->group("Explain");
  command->add_option("RUN_DIR", options->folder, "a folder that `hopgap run` or `simulate` wrote")->required();
  command->add_flag("--json", options->json, "print one JSON document (docs/json.md)");
  command->add_flag("--per-hop", options->per_hop, "tables per hop as well");
  command->add_option("--waterfall", options->waterfall, "the arm whose median message is drawn");
  // It only reads: a signal just ends it.
  commands.push_back({command, [options] { return AnalyzeCommand(*options); }, false});
}

}  // namespace hopgap::cli
