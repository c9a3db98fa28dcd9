#include "cli/cloud_trace.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "base/system_clock.h"
#include "base/text.h"
#include "cli/options.h"
#include "formats/cloud_trace.h"
#include "formats/otlp_json.h"
#include "remote/cloud_trace.h"
#include "remote/http_client.h"

namespace hopgap::cli {
namespace {

namespace fs = std::filesystem;
using formats::CloudTracePage;
using formats::CloudTraceProgress;

constexpr std::string_view kPrefix = "cloudtrace:";
constexpr size_t kSpansPerLine = 1'000;

// A token goes over TLS, or stays on this machine.
absl::Status CheckEndpoint(const std::string& endpoint) {
  const absl::StatusOr<remote::Url> url = remote::ParseUrl(endpoint);
  if (!url.ok()) return absl::InvalidArgumentError(StrCat("--cloudtrace-endpoint: ", MessageOf(url.status())));
  if (endpoint.rfind("https://", 0) == 0 || endpoint.rfind("http://127.0.0.1:", 0) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("--cloudtrace-endpoint ", endpoint, ": is not https, and a token would go over it"));
}

// A trace is kept whole, or not at all.
void KeepOnlyTracesOf(const std::string& service, CloudTracePage& page) {
  std::vector<trace::Span> kept;
  page.traces = 0;
  for (auto begin = page.spans.begin(); begin != page.spans.end();) {
    const auto end = std::find_if(begin, page.spans.end(), [&](const trace::Span& span) {
      return span.trace_hi != begin->trace_hi || span.trace_lo != begin->trace_lo;
    });
    if (std::any_of(begin, end, [&](const trace::Span& span) { return span.service == service; })) {
      std::move(begin, end, std::back_inserter(kept));
      ++page.traces;
    }
    begin = end;
  }
  page.spans = std::move(kept);
}

// The spans that were saved, and up to where they are whole.
class Spool {
 public:
  explicit Spool(std::string file)
      : file_(std::move(file)), part_(StrCat(file_, ".part")), state_(StrCat(part_, ".json")) {}

  // What to list: what an earlier call began, or `wanted`.
  absl::StatusOr<CloudTraceProgress> Open(const CloudTraceProgress& wanted) {
    if (fs::exists(file_)) {
      return absl::InvalidArgumentError(StrCat("--save ", file_, ": exists; hopgap analyze ", file_, " reads it"));
    }
    progress_ = wanted;
    std::ifstream state(state_);
    if (state) {
      std::ostringstream text;
      text << state.rdbuf();
      absl::StatusOr<CloudTraceProgress> read = formats::ReadCloudTraceProgress(text.str());
      if (!read.ok()) return absl::InvalidArgumentError(StrCat(state_, ": ", MessageOf(read.status()), "; remove it"));
      if (read->project != wanted.project || read->service != wanted.service) {
        return absl::InvalidArgumentError(StrCat(state_, ": is of another project or service; choose another --save"));
      }
      progress_ = *std::move(read);
      std::fprintf(stderr, "hopgap: going on after %llu traces\n", static_cast<unsigned long long>(progress_.traces));
    }
    std::error_code error;
    if (fs::exists(part_, error)) fs::resize_file(part_, progress_.saved_bytes, error);
    out_.open(part_, std::ios::binary | std::ios::app);
    if (!out_ || error) return absl::PermissionDeniedError(StrCat("--save ", file_, ": cannot be written"));
    return progress_;
  }

  absl::Status Add(const CloudTracePage& page, const std::string& next_page_token) {
    std::string text;
    for (size_t at = 0; at < page.spans.size(); at += kSpansPerLine) {
      formats::AppendOtlpLine(std::span(page.spans).subspan(at, std::min(kSpansPerLine, page.spans.size() - at)), text);
    }
    out_ << text << std::flush;
    progress_.page_token = next_page_token;
    progress_.saved_bytes += text.size();
    progress_.traces += page.traces;
    progress_.spans += page.spans.size();
    progress_.bad_spans += page.bad_spans;
    // The state is replaced after what it speaks of is written.
    const std::string next = state_ + ".new";
    std::ofstream state(next);
    state << formats::WriteCloudTraceProgress(progress_) << std::flush;
    state.close();
    if (!out_ || !state || std::rename(next.c_str(), state_.c_str()) != 0) {
      return absl::PermissionDeniedError(StrCat("--save ", file_, ": cannot be written (is the disk full?)"));
    }
    return absl::OkStatus();
  }

  absl::Status Commit() {
    out_.close();
    if (std::rename(part_.c_str(), file_.c_str()) != 0) {
      return absl::PermissionDeniedError(StrCat("--save ", file_, ": cannot be written"));
    }
    std::remove(state_.c_str());
    return absl::OkStatus();
  }

  const CloudTraceProgress& progress() const { return progress_; }

 private:
  const std::string file_, part_, state_;
  CloudTraceProgress progress_;
  std::ofstream out_;
};

std::string DefaultFile(const std::string& project, WallTime now) {
  std::string name = StrCat("cloudtrace-", project, "-", formats::FormatRfc3339(now).substr(0, 19), ".otlp.jsonl");
  std::replace(name.begin(), name.end(), ':', '-');
  return name;
}

void Tell(const CloudTraceProgress& progress, const std::string& file) {
  std::fprintf(stderr,
               "hopgap: read as Cloud Trace v1: %llu spans of %llu traces, %llu left out (unreadable); saved to %s\n"
               "hopgap: the format has no links, events or status: stages come from the times of spans, and what a "
               "dispatch gap was "
               "spent on (lease, flow control) is not known\n",
               static_cast<unsigned long long>(progress.spans), static_cast<unsigned long long>(progress.traces),
               static_cast<unsigned long long>(progress.bad_spans), file.c_str());
}

absl::Status List(remote::Credentials& credentials, const CloudTraceFlags& flags, Spool& spool) {
  const CloudTraceProgress at = spool.progress();
  if (at.traces + at.bad_spans > 0 && at.page_token.empty()) return absl::OkStatus();  // all there, but not committed
  remote::CloudTrace service(
      {.endpoint = flags.endpoint, .pause = [](Duration length) { std::this_thread::sleep_for(length); }}, credentials);
  return service.List(at.project, at.from, at.to, at.page_token,
                      [&](CloudTracePage& page, const std::string& next_page_token) {
                        if (!flags.service.empty()) KeepOnlyTracesOf(flags.service, page);
                        return spool.Add(page, next_page_token);
                      });
}

}  // namespace

void AddCloudTraceFlags(CLI::App& command, CloudTraceFlags& flags) {
  const std::string group = "cloudtrace:PROJECT, the traces of a project (application default credentials)";
  command.add_option("--since", flags.since, "how far back")->group(group)->capture_default_str();
  command.add_option("--service", flags.service, "only traces in which this service.name takes part")->group(group);
  command.add_option("--save", flags.save, "file for the spans; given again, it goes on where an error ended it")
      ->group(group);
  command.add_option("--cloudtrace-endpoint", flags.endpoint, "whom to ask instead of Google")
      ->group(group)
      ->capture_default_str();
}

bool IsCloudTrace(std::string_view source) { return source.substr(0, kPrefix.size()) == kPrefix; }

absl::StatusOr<std::string> FetchCloudTrace(std::string_view source, const CloudTraceFlags& flags) {
  const std::string project(source.substr(kPrefix.size()));
  if (project.empty()) return absl::InvalidArgumentError("cloudtrace: has no project after it");
  const absl::StatusOr<Duration> since = ParseDuration("--since", flags.since);
  if (!since.ok()) return since.status();
  if (*since <= Duration{0}) return absl::InvalidArgumentError(StrCat("--since ", flags.since, ": is no time at all"));
  if (absl::Status status = CheckEndpoint(flags.endpoint); !status.ok()) return status;
  const WallTime now = WallNow();
  const std::string file = flags.save.empty() ? DefaultFile(project, now) : flags.save;
  CloudTraceProgress wanted;
  wanted.project = project;
  wanted.service = flags.service;
  wanted.from = now - *since;
  wanted.to = now;
  absl::StatusOr<std::shared_ptr<remote::Credentials>> credentials = remote::Credentials::Default();
  if (!credentials.ok()) return credentials.status();
  Spool spool(file);
  if (absl::StatusOr<CloudTraceProgress> opened = spool.Open(wanted); !opened.ok()) return opened.status();
  absl::Status status = List(**credentials, flags, spool);
  if (!status.ok()) {
    return absl::Status(status.code(), StrCat(MessageOf(status), "; ", spool.progress().traces,
                                              " traces are kept: the same command with --save ", file, " goes on"));
  }
  if (status = spool.Commit(); !status.ok()) return status;
  Tell(spool.progress(), file);
  if (spool.progress().spans == 0) {
    return absl::NotFoundError(StrCat("project ", project, " has no such traces in the last ", flags.since,
                                      flags.service.empty() ? "" : StrCat(" of the service ", flags.service)));
  }
  return file;
}

}  // namespace hopgap::cli
