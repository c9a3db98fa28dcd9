#include <absl/container/flat_hash_map.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/present.h"
#include "formats/otlp_json.h"
#include "formats/run_json.h"
#include "trace/build.h"

namespace hopgap::cli {
namespace {

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

}  // namespace

int AnalyzeCommand(const AnalyzeOptions& options) {
  const std::string run_file = StrCat(options.folder, "/run.json");
  absl::StatusOr<std::string> text = ReadText(run_file);
  if (!text.ok()) return Fail(kBadConfiguration, MessageOf(text.status()));
  absl::StatusOr<report::Run> run = formats::ReadRunJson(*text, run_file);
  if (!run.ok()) return Fail(kBadConfiguration, MessageOf(run.status()));
  if (run->configuration.spans_of == 0) {
    return Fail(kBadConfiguration,
                StrCat(options.folder, ": this run wrote no spans (--spans none); its result is in summary.json"));
  }
  absl::StatusOr<Traces> traces = ReadTraces(StrCat(options.folder, "/spans.otlp.jsonl"));
  if (!traces.ok()) return Fail(kBadConfiguration, MessageOf(traces.status()));
  AddPaths(*traces, *run);
  return PrintRun(*run, {.json = options.json, .per_hop = options.per_hop, .waterfall = options.waterfall});
}

}  // namespace hopgap::cli
