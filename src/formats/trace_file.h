#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "trace/span.h"

namespace hopgap::formats {

// Spans in every form that tracing systems hand out. What a file holds is found
// in its bytes, never in its name.

enum class SpanForm : uint8_t {
  kOtlpJson,
  kOtlpProtobuf,
  kCollectorFrames,
  kTempo,
  kJaeger,
  kZipkin,
  kCloudTraceV1,
  kCloudTraceV2,
  kAllSpans,
  kClickHouse,
};
inline constexpr int kSpanForms = 10;

// What a form can carry: the rest is "not available" in what is read from it.
struct FormFacts {
  std::string_view name;  // "Jaeger JSON"
  Duration precision;     // of its instants
  bool links = true, events = true;
};
const FormFacts& FactsOf(SpanForm form);

// A part of a file that was left out.
struct BadSpan {
  uint64_t line = 0;  // from 1; 0: not known
  std::string id;     // as the file spells it; may be empty
  std::string why;    // names the field
};

struct TraceSource {
  std::string file;     // "-": standard input
  std::string packing;  // "gzip", "zstd" or empty
  std::set<SpanForm> forms;
  uint64_t spans = 0;
  uint64_t bad_spans = 0;             // left out, one by one
  uint64_t bad_parts = 0;             // lines, frames or ends of files that could not be read at all
  bool snake_case = false;            // field names that OTLP JSON does not have
  std::vector<std::string> warnings;  // "FILE:LINE: why", at most kSourceWarningsMax
  bool partial() const { return bad_spans + bad_parts > 0; }
};
inline constexpr size_t kSourceWarningsMax = 20;
inline constexpr size_t kDocumentBytesMax = size_t{1} << 30;  // of one JSON document, line or protobuf file

using TakeSpans = std::function<absl::Status(std::vector<trace::Span>&)>;

// Reads one file ("-": standard input), plain, gzip or zstd, and hands its spans
// to `take`. JSON lines are read line by line; anything else is held whole.
//
// A span, line or frame that cannot be read is left out, counted and named in the
// warnings. NotFound or Unavailable if there is no such file; InvalidArgument, in
// one sentence, if nothing in it could be read. A failure of `take` ends the
// reading and is returned.
absl::StatusOr<TraceSource> ReadTraceFile(const std::string& path, const TakeSpans& take,
                                          size_t document_bytes_max = kDocumentBytesMax);

// The same of bytes in memory, for fuzzing and for captured bodies.
absl::StatusOr<TraceSource> ReadTraceBytes(std::string_view bytes, const std::string& name, const TakeSpans& take);

// The files that `paths` mean: files as they are, of a folder all files in it and
// below, by name, without hidden ones. NotFound names what is not there;
// ResourceExhausted beyond kTraceFilesMax.
absl::StatusOr<std::vector<std::string>> ExpandTraceFiles(const std::vector<std::string>& paths);
inline constexpr size_t kTraceFilesMax = 10'000;

}  // namespace hopgap::formats
