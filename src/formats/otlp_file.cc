#include "base/text.h"
#include "formats/line_file.h"
#include "formats/otlp_json.h"

namespace hopgap::formats {
namespace {

void Warn(OtlpFileSummary& summary, std::string warning) {
  if (summary.warnings.size() < kWarningsMax) summary.warnings.push_back(std::move(warning));
}

}  // namespace

absl::StatusOr<OtlpFileSummary> ReadOtlpFile(const std::string& path,
                                             const std::function<absl::Status(std::vector<trace::Span>&)>& sink) {
  OtlpFileSummary summary;
  OtlpLineReader reader;
  std::vector<trace::Span> spans;
  const auto take = [&](uint64_t number, std::string_view line, bool too_long) -> absl::Status {
    if (!too_long && line.find_first_not_of(" \t") == std::string_view::npos) return absl::OkStatus();
    spans.clear();
    const absl::Status status = too_long
                                    ? absl::InvalidArgumentError(StrCat("longer than ", kOtlpLineBytesMax, " bytes"))
                                    : reader.Read(line, spans);
    if (!status.ok()) {
      ++summary.bad_lines;
      Warn(summary, StrCat(path, ":", number, ": ", MessageOf(status)));
      return absl::OkStatus();
    }
    ++summary.lines;
    summary.spans += spans.size();
    return sink(spans);
  };
  if (absl::Status status = ForEachLine(path, kOtlpLineBytesMax, take); !status.ok()) return status;
  if (summary.lines == 0 && summary.bad_lines > 0) {
    return absl::InvalidArgumentError(StrCat("no OTLP JSON lines: ", summary.warnings.front()));
  }
  if (reader.snake_case_seen()) Warn(summary, StrCat(path, ": snake_case field names, which OTLP JSON does not have"));
  return summary;
}

}  // namespace hopgap::formats
