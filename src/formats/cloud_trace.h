#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "trace/span.h"

namespace hopgap::formats {

// One answer of Cloud Trace's v1 API to a list of traces (view=COMPLETE).
//
// The format loses what spans had: links and events (so acks and modacks cannot
// be joined to their messages, and their times are those of spans alone), status,
// the kinds producer and consumer, and the types of attributes, which all come
// as text. Labels become attributes; service.name and otel.scope.name are where
// exporters leave service and scope.
//
// What span times say of the lost events is put back, marked with the attribute
// hopgap.inferred: a publish ends with its create span and starts where the
// batching in it ended; an ack or nack ends with its subscribe span.
struct CloudTracePage {
  std::vector<trace::Span> spans;  // trace by trace
  uint64_t traces = 0;
  uint64_t bad_spans = 0;       // left out: an id or a time that cannot be read
  std::string next_page_token;  // empty: the last page
};

// InvalidArgument, naming what is wrong, if it is no such answer.
absl::StatusOr<CloudTracePage> ReadCloudTracePage(std::string_view json);

// The "message" of Google's JSON errors; empty if it is none.
std::string GoogleErrorText(std::string_view json);

// "2026-01-02T03:04:05.123456789Z" with 0 to 9 digits after the dot; UTC only.
std::optional<WallTime> ParseRfc3339(std::string_view text);
std::string FormatRfc3339(WallTime time);

// Where a listing stands, so that it can go on after an error: what it lists,
// and up to where the saved spans are whole.
struct CloudTraceProgress {
  std::string project, service;
  WallTime from{}, to{};
  std::string page_token;
  uint64_t saved_bytes = 0, traces = 0, spans = 0, bad_spans = 0;
};
std::string WriteCloudTraceProgress(const CloudTraceProgress& progress);
absl::StatusOr<CloudTraceProgress> ReadCloudTraceProgress(std::string_view json);

}  // namespace hopgap::formats
