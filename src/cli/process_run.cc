#include "cli/process_run.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace hopgap::cli {
namespace {

// A folder for logs, ledgers and ready files, which goes away unless kept.
class ProcessFolder {
 public:
  ProcessFolder() : path_((std::filesystem::temp_directory_path() / "hopgap-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ProcessFolder(const ProcessFolder&) = delete;
  ProcessFolder& operator=(const ProcessFolder&) = delete;
  ~ProcessFolder() {
    std::error_code ignored;
    if (!kept_ && !path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }  // empty: it could not be made
  void Keep() { kept_ = true; }

 private:
  std::string path_;
  bool kept_ = false;
};

}  // namespace

absl::StatusOr<live::Result> RunAsProcesses(
    live::Options run, const std::function<void(uint64_t slot, std::vector<trace::Span>&)>& message_spans) {
  ProcessFolder folder;
  if (folder.path().empty()) return absl::PermissionDeniedError("no temporary folder can be made; set TMPDIR");
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return absl::InternalError("our own program cannot be found");
  live::ProcessesOptions options{.run = std::move(run), .program = program.string(), .folder = folder.path()};
  absl::StatusOr<live::Result> result = live::RunProcesses(std::move(options), message_spans);
  if (result.ok()) return result;
  folder.Keep();
  return absl::Status(result.status().code(),
                      StrCat(MessageOf(result.status()), "; the processes' logs are in ", folder.path()));
}

}  // namespace hopgap::cli
