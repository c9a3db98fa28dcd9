#include "cli/data_directory.h"

#include <absl/strings/str_format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "cli/exit_codes.h"

namespace hopgap::cli {
namespace {

void EndAtOnce(const absl::Status& status) {
  std::fprintf(
      stderr,
      "hopgap: the journal cannot be written: %s\n"
      "hopgap: ending at once; everything that was answered is on the disk. Start again when it is repaired.\n",
      std::string(status.message()).c_str());
  std::fflush(stderr);
  std::_Exit(kOutputUnwritable);
}

}  // namespace

absl::StatusOr<std::unique_ptr<store::DiskJournal>> OpenData(const std::string& path, HashKey fresh_key) {
  absl::StatusOr<std::unique_ptr<store::Directory>> directory = store::OpenDirectory(path);
  if (!directory.ok()) return directory.status();
  return store::DiskJournal::Open(*std::move(directory),
                                  {.log = {.fresh_key = fresh_key, .segment_bytes = 0}, .on_failure = EndAtOnce});
}

std::string DescribeJournal(const store::DiskJournal::Figures& figures, const broker::Counters& counters) {
  const double longest_ms = std::chrono::duration<double, std::milli>(figures.longest_write).count();
  return absl::StrFormat(
      "journal: %d groups in %d writes, %.1f MB, longest %.1f ms, %d checkpoints, %d files; receipt modacks %d, of "
      "which "
      "%d waited for the disk",
      figures.groups, figures.writes, static_cast<double>(figures.bytes) / 1e6, longest_ms, figures.checkpoints,
      figures.files, counters.receipt_modacks, counters.modacks_that_waited_for_the_journal);
}

}  // namespace hopgap::cli
