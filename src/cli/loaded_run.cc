#include "cli/loaded_run.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "formats/otlp_json.h"
#include "formats/run_folder.h"
#include "formats/run_json.h"
#include "formats/trace_file.h"
#include "report/from_spans.h"
#include "trace/build.h"
#include "trace/trace_set.h"

namespace hopgap::cli {
namespace {

using SpansByTrace = std::map<std::pair<uint64_t, uint64_t>, std::vector<trace::Span>>;

absl::StatusOr<uint64_t> ReadSpansOf(const std::string& path, SpansByTrace& traces) {
  absl::StatusOr<formats::OtlpFileSummary> read = formats::ReadOtlpFile(path, [&](std::vector<trace::Span>& spans) {
    for (trace::Span& span : spans) {
      if (span.parent == 0 && span.kind == trace::SpanKind::kInternal && !span.links.empty()) continue;
      traces[{span.trace_hi, span.trace_lo}].push_back(std::move(span));
    }
    return absl::OkStatus();
  });
  if (!read.ok()) return read.status();
  for (const std::string& warning : read->warnings) std::fprintf(stderr, "hopgap: %s\n", warning.c_str());
  return read->spans;
}

// Spans of any form that `analyze` reads, joined as it joins them.
absl::StatusOr<report::Run> LoadSpans(const std::vector<std::string>& paths, const std::string& name) {
  absl::StatusOr<std::vector<std::string>> files = formats::ExpandTraceFiles(paths);
  if (!files.ok()) return files.status();
  trace::TraceSet set;
  for (const std::string& file : *files) {
    absl::StatusOr<formats::TraceSource> source =
        formats::ReadTraceFile(file, [&](std::vector<trace::Span>& spans) { return set.Add(spans); });
    if (!source.ok()) return source.status();
    for (const std::string& warning : source->warnings) std::fprintf(stderr, "hopgap: %s\n", warning.c_str());
  }
  set.Finish();
  report::FromSpans from_spans;
  set.ForEachTrace([&](std::span<const trace::Span> spans) { from_spans.AddTrace(spans); });
  report::Run run = from_spans.Finish(name, set.quality().spans);
  if (!run.arms.empty()) return run;
  std::string why =
      StrCat(name, ": ", set.quality().spans, " spans, and no message in them from its publish to its last ack");
  for (const std::string& note : run.spans_only->notes) why += "; " + note;
  return absl::InvalidArgumentError(why);
}

absl::StatusOr<report::Run> LoadFolder(const std::string& folder) {
  const std::string run_file = folder + "/run.json", spans_file = StrCat(folder, "/", formats::kSpansFile);
  std::ifstream file(run_file, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return absl::NotFoundError(StrCat(run_file, ": cannot be read"));
  absl::StatusOr<report::Run> run = formats::ReadRunJson(text.str(), run_file);
  if (!run.ok()) return run.status();
  if (run->spans_only) return LoadSpans({spans_file}, folder);
  if (run->configuration.spans_of == 0) {
    return absl::InvalidArgumentError(
        StrCat(folder, ": this run wrote no spans (--spans none), and its delays are read from them"));
  }
  SpansByTrace traces;
  if (absl::StatusOr<uint64_t> read = ReadSpansOf(spans_file, traces); !read.ok()) return read.status();
  std::map<std::string, report::ArmRun*> arms;
  for (report::ArmRun& arm : run->arms) arms[arm.name] = &arm;
  for (const auto& [id, spans] : traces) {
    for (trace::Path& path : trace::BuildPaths(spans, run->configuration.hops)) {
      if (const auto arm = arms.find(path.arm); arm != arms.end()) arm->second->paths.push_back(std::move(path));
    }
  }
  for (report::ArmRun& arm : run->arms) {
    std::sort(arm.paths.begin(), arm.paths.end(),
              [](const trace::Path& a, const trace::Path& b) { return a.slot < b.slot; });
  }
  return run;
}

}  // namespace

std::string NameOfRun(const std::vector<std::string>& paths) {
  return paths.size() == 1 ? paths[0] : StrCat(paths[0], " and ", paths.size() - 1, " more");
}

absl::StatusOr<report::Run> LoadRun(const std::vector<std::string>& paths) {
  std::error_code ignored;
  if (paths.size() == 1 && std::filesystem::exists(paths[0] + "/run.json", ignored)) return LoadFolder(paths[0]);
  return LoadSpans(paths, NameOfRun(paths));
}

}  // namespace hopgap::cli
