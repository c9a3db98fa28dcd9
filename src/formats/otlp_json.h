#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/span.h"

namespace hopgap::formats {

// OTLP JSON lines as the OpenTelemetry Collector's file exporter writes them
// and its otlpjsonfile receiver reads them: one TracesData object a line, ids
// in hex, enums as integers, 64-bit integers as decimal text.

// Appends `spans` as one line, grouped by service and scope in the order in
// which these first appear. Nothing for no spans. Text that is not UTF-8 has
// its bad bytes replaced (U+FFFD), so that every line is JSON.
void AppendOtlpLine(std::span<const trace::Span> spans, std::string& out);

// Reads such lines, and what others make of them: numbers bare or quoted, enums
// by name, ids in either case, snake_case names, old instrumentationLibrary
// names, every spelling of "no parent". Unknown names are skipped. Arrays,
// nested values and bytes become their JSON text.
//
// Not thread-safe.
class OtlpLineReader {
 public:
  OtlpLineReader();
  ~OtlpLineReader();

  // Appends the spans of one line. InvalidArgument, naming the field, if it is
  // no TracesData; then `out` is as it was.
  absl::Status Read(std::string_view line, std::vector<trace::Span>& out);
  // A snake_case name was met: readable here, though not OTLP.
  bool snake_case_seen() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

struct OtlpFileSummary {
  uint64_t lines = 0;  // that held spans
  uint64_t spans = 0;
  uint64_t bad_lines = 0;             // skipped; > 0: the result is partial
  std::vector<std::string> warnings;  // "FILE:LINE: why", at most kWarningsMax
};

inline constexpr size_t kOtlpLineBytesMax = size_t{64} << 20;  // a longer line is skipped and named
inline constexpr size_t kWarningsMax = 20;

// Hands the spans to `sink`, line by line; memory is bounded by the longest
// line. A line that cannot be read is skipped and named in the warnings (a file
// may end in the middle of one). NotFound or Unavailable if the file cannot be
// read, InvalidArgument if none of its lines can; a failure of `sink` ends the
// reading and is returned.
absl::StatusOr<OtlpFileSummary> ReadOtlpFile(const std::string& path,
                                             const std::function<absl::Status(std::vector<trace::Span>&)>& sink);

}  // namespace hopgap::formats
