#include "cli/foreign_traces.h"

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/folder.h"
#include "cli/run_files.h"
#include "cli/setup.h"
#include "formats/analysis_json.h"
#include "formats/otlp_json.h"
#include "formats/paths_file.h"
#include "formats/run_folder.h"
#include "formats/run_json.h"
#include "formats/scratch_file.h"
#include "formats/span_builder.h"
#include "formats/summary_json.h"
#include "report/foreign.h"
#include "report/from_spans.h"
#include "report/layout.h"
#include "report/paste.h"
#include "report/summary.h"
#include "report/text.h"
#include "report/trace_text.h"
#include "trace/trace_set.h"

namespace hopgap::cli {
namespace {

struct Analysis {
  explicit Analysis(const ForeignOptions& options)
      : scratch(options.scratch),
        set({.memory_max = options.spans_memory_mib ? static_cast<size_t>(*options.spans_memory_mib) << 20
                                                    : trace::TraceSet::kMemoryMax,
             .scratch = &scratch}) {}

  formats::FileScratch scratch;
  trace::TraceSet set;
  std::vector<formats::TraceSource> sources;
  std::vector<std::string> refused;  // files of a folder or a list in which nothing could be read
  report::Run run;
  report::Foreign foreign;
  bool partial = false, scratch_failed = false;
};

void PutOut(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// "run.json: Jaeger JSON, gzip, 120 spans, 2 left out".
std::string SourceLine(const formats::TraceSource& source) {
  std::string forms;
  for (const formats::SpanForm form : source.forms)
    forms += StrCat(forms.empty() ? "" : " and ", formats::FactsOf(form).name);
  const std::string name = source.file == "-" ? "standard input" : Printable(source.file);
  if (source.forms.empty() && source.bad_parts > 0) return name + ": nothing could be read";
  return StrCat(name, ": read as ", forms.empty() ? "JSON without spans" : forms,
                source.packing.empty() ? "" : ", " + source.packing, ", ", report::Counted(source.spans, "span"),
                source.bad_spans == 0 ? "" : StrCat(", ", report::Counted(source.bad_spans, "span"), " left out"),
                source.bad_parts == 0 ? "" : StrCat(", ", report::Counted(source.bad_parts, "part"), " unreadable"));
}

// One unreadable file of several does not end it; an only one does.
absl::Status ReadFiles(const ForeignOptions& options, Analysis& analysis) {
  absl::StatusOr<std::vector<std::string>> files = formats::ExpandTraceFiles(options.paths);
  if (!files.ok()) return files.status();
  absl::Status full = absl::OkStatus();
  std::vector<std::string> lost;
  for (const std::string& file : *files) {
    absl::StatusOr<formats::TraceSource> source = formats::ReadTraceFile(file, [&](std::vector<trace::Span>& spans) {
      full = analysis.set.Add(spans);
      return full;
    });
    if (!full.ok()) {
      analysis.scratch_failed = !absl::IsResourceExhausted(full);  // that is too many spans
      return full;
    }
    if (!source.ok()) {
      if (files->size() == 1) return source.status();
      analysis.refused.emplace_back(MessageOf(source.status()));
      // Other files may lie in a folder; what was named by name is missed, and what is damaged or closed to us.
      const bool named = std::find(options.paths.begin(), options.paths.end(), file) != options.paths.end();
      if (named || !absl::IsInvalidArgument(source.status())) lost.push_back(file);
      continue;
    }
    for (const std::string& warning : source->warnings) {
      std::fprintf(stderr, "hopgap: %s\n", Printable(warning).c_str());
    }
    analysis.partial = analysis.partial || source->partial();
    analysis.sources.push_back(*std::move(source));
  }
  for (const std::string& why : analysis.refused) {
    std::fprintf(stderr, "hopgap: left out: %s\n", Printable(why).c_str());
  }
  if (analysis.sources.empty()) {
    return absl::InvalidArgumentError(
        StrCat(options.name, ": no file with spans in it",
               analysis.refused.empty() ? "" : StrCat("; the first: ", analysis.refused.front())));
  }
  for (std::string& file : lost) {
    formats::TraceSource& source = analysis.sources.emplace_back();
    source.file = std::move(file);
    source.bad_parts = 1;
    analysis.partial = true;
  }
  return absl::OkStatus();
}

absl::Status Compute(const ForeignOptions& options, Analysis& analysis) {
  report::FromSpans from_spans;
  report::ForeignBuilder builder;
  const auto take = [&](std::span<const trace::Span> spans) {
    const trace::TraceView view = trace::ViewFromSpans(spans);
    from_spans.AddTrace(spans, view);
    builder.AddTrace(view);
  };
  absl::Status status = analysis.set.Finish({.join_message_ids = options.join_message_ids}, take);
  if (!status.ok()) return status;
  const trace::SpanQuality& quality = analysis.set.quality();
  analysis.partial = analysis.partial || quality.overlong > 0;
  analysis.foreign = builder.Finish(quality);  // first, for what it lets go of
  analysis.run = from_spans.Finish(options.name, quality.spans);
  bool any_events = false, any_links = false;
  for (const formats::TraceSource& source : analysis.sources) {
    for (const formats::SpanForm form : source.forms) {
      const formats::FormFacts& facts = formats::FactsOf(form);
      analysis.foreign.precision = std::max(analysis.foreign.precision, facts.precision);
      any_events = any_events || facts.events;
      any_links = any_links || facts.links;
    }
  }
  analysis.foreign.events = any_events;
  analysis.foreign.links = any_links;
  if (options.collected) {
    std::vector<std::string>& notes = analysis.run.spans_only->notes;
    notes.insert(notes.begin(), options.collected->notes.begin(), options.collected->notes.end());
  }
  return absl::OkStatus();
}

std::string Overlong(const trace::SpanQuality& quality) {
  if (quality.overlong == 0) return "";
  return StrCat("\n  ", report::Counted(quality.overlong, "span"), " left out, of ",
                report::Counted(quality.overlong_traces, "trace"),
                " that would last longer than 40 days: there a clock or a unit is wrong");
}

std::string NothingText(const ForeignOptions& options, const Analysis& analysis) {
  std::string why;
  for (const std::string& note : analysis.run.spans_only->notes) why += StrCat("\n  ", note);
  return StrCat(options.name, ": ", analysis.set.quality().spans,
                " spans, and no message in them from its publish to its last ack", why,
                Overlong(analysis.set.quality()));
}

int PrintTrace(const ForeignOptions& options, const Analysis& analysis) {
  uint64_t hi = 0, lo = 0;
  if (!formats::ParseTraceId(options.trace, hi, lo)) {
    return Fail(kBadConfiguration,
                StrCat("--trace: '", options.trace, "' is no trace id (up to 32 hexadecimal digits)"));
  }
  std::string text;
  const absl::Status read = analysis.set.ForEachTrace([&](std::span<const trace::Span> spans) {
    if (spans[0].trace_hi == hi && spans[0].trace_lo == lo) text = report::TraceText(spans);
  });
  if (!read.ok()) return Fail(kOutputUnwritable, MessageOf(read));
  if (text.empty())
    return Fail(kBadConfiguration,
                StrCat("--trace: ", options.trace, " is not in ", options.name, Overlong(analysis.set.quality())));
  PutOut(text);
  return kOk;
}

absl::Status Save(const ForeignOptions& options, Analysis& analysis, const report::Summary& summary,
                  const std::string& json) {
  absl::StatusOr<formats::RunFolder> folder = formats::RunFolder::Create(options.out);
  if (!folder.ok()) return folder.status();
  absl::Status status = absl::OkStatus();
  const absl::Status read = analysis.set.ForEachTrace([&](std::span<const trace::Span> spans) {
    std::string line;
    formats::AppendOtlpLine(spans, line);
    if (status.ok()) status = folder->Append(formats::kSpansFile, line);
  });
  if (!read.ok()) return read;
  const formats::Machine machine = ReadMachine();
  const auto add = [&](std::string_view file, const std::string& text) {
    if (status.ok()) status = folder->Append(file, text);
  };
  add("run.json", formats::WriteRunJson(analysis.run, machine));
  add("summary.json", json);
  add(kReportFile, PageOf(BaseName(options.out), analysis.run, summary, machine));
  if (MessagesOf(analysis.run) <= formats::kPathsMax) add(formats::kPathsFile, formats::WritePaths(analysis.run));
  if (!status.ok()) return status;
  absl::StatusOr<std::vector<std::pair<std::string, uint64_t>>> files = folder->Commit();
  return files.status();
}

std::string AllText(const ForeignOptions& options, const Analysis& analysis, const report::Summary& summary) {
  std::vector<std::string> lines;
  for (const formats::TraceSource& source : analysis.sources) lines.push_back(SourceLine(source));
  constexpr size_t kLinesMax = 10;
  if (lines.size() > kLinesMax) {
    const size_t more = lines.size() - kLinesMax;
    lines.resize(kLinesMax);
    lines.push_back(StrCat(more, " more files"));
  }
  const std::string in_short = report::ShortText(analysis.foreign, options.streams);
  std::string out = in_short.empty() ? "" : in_short + "\n";
  out += report::QualityText(analysis.foreign, lines) + "\n";
  if (!analysis.run.arms.empty()) {
    out += report::RenderText(summary, {.per_hop = options.presentation.per_hop,
                                        .width = report::kWidthMin,
                                        .waterfall_arm = options.presentation.waterfall}) +
           "\n" + report::CompositionText(analysis.run) + "\n";
  } else {
    out += StrCat(NothingText(options, analysis), "\n\n");
  }
  return out + report::DeliveriesText(analysis.foreign) + "\n" +
         report::FindingsText(analysis.foreign, options.streams);
}

// What was laid out for a terminal stands in it as code: nothing in it is markup.
std::string AsCode(const std::string& text) {
  std::string out;
  for (const std::string_view line : Split(text, '\n')) out += StrCat(line.empty() ? "" : "    ", line, "\n");
  return out;
}

std::string PastedText(const ForeignOptions& options, const Analysis& analysis, const report::Summary& summary) {
  const std::string tables =
      analysis.run.arms.empty() ? AsCode(NothingText(options, analysis)) : report::RenderMarkdown(summary);
  return StrCat(tables, "\n", AsCode(report::FindingsText(analysis.foreign, options.streams)));
}

std::string ShownText(const ForeignOptions& options, const Analysis& analysis, const report::Summary& summary) {
  if (options.presentation.markdown) return PastedText(options, analysis, summary);
  return AllText(options, analysis, summary) + RenderJudgements(summary);
}

}  // namespace

int AnalyzeForeign(const ForeignOptions& options) {
  for (const std::string& path : options.paths) {
    std::error_code ignored;
    const std::string& report = options.presentation.report;
    if (!report.empty() && std::filesystem::equivalent(path, report, ignored)) {
      return Fail(kBadConfiguration, StrCat("--report ", report, ": is one of the files that are to be read"));
    }
  }
  Analysis analysis(options);
  if (absl::Status status = ReadFiles(options, analysis); !status.ok()) {
    return Fail(analysis.scratch_failed ? kOutputUnwritable : kBadConfiguration, MessageOf(status));
  }
  if (absl::Status status = Compute(options, analysis); !status.ok()) {
    return Fail(kOutputUnwritable, MessageOf(status));
  }
  if (!options.trace.empty()) return PrintTrace(options, analysis);
  if (analysis.run.arms.empty() && analysis.foreign.rows.empty()) {
    return Fail(kBadConfiguration, NothingText(options, analysis));
  }
  std::vector<std::string> arms;
  for (const report::ArmRun& arm : analysis.run.arms) arms.push_back(arm.name);
  absl::Status fits = CheckWaterfall(options.presentation.waterfall, arms);
  if (fits.ok()) fits = CheckThresholds(options.thresholds, arms);
  if (!fits.ok()) return Fail(kBadConfiguration, MessageOf(fits));
  analysis.run.configuration.thresholds = options.thresholds;
  const report::Summary summary = report::Summarize(analysis.run);
  const std::string json =
      formats::SummaryJson(summary, formats::AnalysisJson(analysis.foreign, analysis.sources, options.streams));
  if (!options.out.empty()) {
    if (absl::Status status = Save(options, analysis, summary, json); !status.ok())
      return Fail(kOutputUnwritable, MessageOf(status));
  }
  if (options.csv) {
    PutOut(formats::DeliveriesCsv(analysis.foreign));
  } else {
    PutOut(options.presentation.json ? json : ShownText(options, analysis, summary));
  }
  if (!options.presentation.report.empty()) {
    const std::string page = PageOf(options.name, analysis.run, summary, std::nullopt);
    if (absl::Status status = WriteReport(options.presentation, page); !status.ok()) {
      return Fail(kOutputUnwritable, MessageOf(status));
    }
  }
  return analysis.partial ? kPartial : ThresholdCode(summary);
}

}  // namespace hopgap::cli
