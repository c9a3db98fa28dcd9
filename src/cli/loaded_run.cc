#include "cli/loaded_run.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "cli/run_files.h"
#include "formats/otlp_json.h"
#include "formats/run_folder.h"
#include "formats/run_json.h"
#include "formats/scratch_file.h"
#include "formats/trace_file.h"
#include "report/from_spans.h"
#include "trace/build.h"
#include "trace/trace_set.h"

namespace hopgap::cli {
namespace {

std::string SpansFileOf(const std::string& folder) { return StrCat(folder, "/", formats::kSpansFile); }

// Spans of any form that `analyze` reads, joined as it joins them.
absl::StatusOr<report::Run> LoadSpans(const std::vector<std::string>& paths, const std::string& name) {
  absl::StatusOr<std::vector<std::string>> files = formats::ExpandTraceFiles(paths);
  if (!files.ok()) return files.status();
  formats::FileScratch scratch("");
  trace::TraceSet set({.scratch = &scratch});
  for (const std::string& file : *files) {
    absl::StatusOr<formats::TraceSource> source =
        formats::ReadTraceFile(file, [&](std::vector<trace::Span>& spans) { return set.Add(spans); });
    if (!source.ok()) return source.status();
    for (const std::string& warning : source->warnings) std::fprintf(stderr, "hopgap: %s\n", warning.c_str());
  }
  report::FromSpans from_spans;
  const absl::Status joined = set.Finish({}, [&](std::span<const trace::Span> spans) { from_spans.AddTrace(spans); });
  if (!joined.ok()) return joined;
  report::Run run = from_spans.Finish(name, set.quality().spans);
  if (!run.arms.empty()) return run;
  std::string why =
      StrCat(name, ": ", set.quality().spans, " spans, and no message in them from its publish to its last ack");
  for (const std::string& note : run.spans_only->notes) why += "; " + note;
  return absl::InvalidArgumentError(why);
}

absl::StatusOr<report::Run> LoadFolder(const std::string& folder) {
  absl::StatusOr<report::Run> run = ReadPlannedRun(folder);
  if (!run.ok()) return run.status();
  if (run->spans_only) return LoadSpans({SpansFileOf(folder)}, folder);
  if (run->configuration.spans_of == 0) {
    return absl::InvalidArgumentError(
        StrCat(folder, ": this run wrote no spans (--spans none), and its delays are read from them"));
  }
  if (const absl::StatusOr<bool> whole = AddPathsOf(folder, *run); !whole.ok()) return whole.status();
  return run;
}

// Of a run that wrote the spans of all its messages; a sample's share is not known exactly.
uint64_t LackingPaths(const report::Run& run) {
  if (run.configuration.spans_of < run.configuration.spans_total) return 0;
  uint64_t lacking = 0;
  for (const report::ArmRun& arm : run.arms)
    lacking += arm.completed - std::min<uint64_t>(arm.completed, arm.paths.size());
  return lacking;
}

}  // namespace

absl::StatusOr<report::Run> ReadPlannedRun(const std::string& folder) {
  const std::string file = folder + "/run.json";
  absl::StatusOr<std::string> text = ReadWhole(file);
  if (!text.ok()) {
    return absl::NotFoundError(StrCat(MessageOf(text.status()), "; is '", folder, "' a folder that hopgap wrote?"));
  }
  return formats::ReadRunJson(*text, file);
}

absl::StatusOr<bool> AddPathsOf(const std::string& folder, report::Run& run) {
  // Spans of one message may stand on any line: nothing is folded before the end.
  std::map<std::pair<uint64_t, uint64_t>, std::vector<trace::Span>> traces;
  const std::string file = SpansFileOf(folder);
  absl::StatusOr<formats::OtlpFileSummary> read = formats::ReadOtlpFile(file, [&](std::vector<trace::Span>& spans) {
    for (trace::Span& span : spans) {
      // RPC spans (internal, with links) root traces of their own and are no part of a path.
      if (span.parent == 0 && span.kind == trace::SpanKind::kInternal && !span.links.empty()) continue;
      traces[{span.trace_hi, span.trace_lo}].push_back(std::move(span));
    }
    return absl::OkStatus();
  });
  if (!read.ok()) return read.status();
  for (const std::string& warning : read->warnings) std::fprintf(stderr, "hopgap: %s\n", warning.c_str());
  std::map<std::string, report::ArmRun*> arms;
  for (report::ArmRun& arm : run.arms) arms[arm.name] = &arm;
  for (const auto& [id, spans] : traces) {
    for (trace::Path& path : trace::BuildPaths(spans, run.configuration.hops)) {
      if (const auto arm = arms.find(path.arm); arm != arms.end()) arm->second->paths.push_back(std::move(path));
    }
  }
  for (report::ArmRun& arm : run.arms) {
    std::sort(arm.paths.begin(), arm.paths.end(),
              [](const trace::Path& a, const trace::Path& b) { return a.slot < b.slot; });
  }
  const uint64_t lacking = LackingPaths(run);
  if (lacking > 0) {
    const std::string text = StrCat(file, ": the spans of ", lacking,
                                    " messages that this run completed are not there; the figures are of the rest");
    std::fprintf(stderr, "hopgap: %s\n", text.c_str());
  }
  return lacking == 0 && read->warnings.empty();
}

std::string NameOfRun(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return paths[0] == "-" ? "standard input" : paths[0];
  return StrCat(paths[0], " and ", paths.size() - 1, " more");
}

absl::StatusOr<report::Run> LoadRun(const std::vector<std::string>& paths) {
  std::error_code ignored;
  if (paths.size() == 1 && std::filesystem::exists(paths[0] + "/run.json", ignored)) return LoadFolder(paths[0]);
  return LoadSpans(paths, NameOfRun(paths));
}

}  // namespace hopgap::cli
