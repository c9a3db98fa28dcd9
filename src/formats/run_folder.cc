#include "formats/run_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/check.h"
#include "base/text.h"

namespace hopgap::formats {
namespace {

namespace fs = std::filesystem;

absl::Status CannotWrite(std::string_view what, int error) {
  const std::string why = StrCat("cannot write '", what, "': ", std::strerror(error));
  return error == EACCES || error == EPERM || error == EROFS ? absl::PermissionDeniedError(why)
                                                             : absl::UnavailableError(why);
}

}  // namespace

absl::StatusOr<RunFolder> RunFolder::Create(const std::string& path) {
  std::error_code error;
  fs::path target = fs::path(path).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();  // "runs/x/" is "runs/x"
  if (target.filename().empty() || target.filename() == "." || target.filename() == "..") {
    return absl::InvalidArgumentError(StrCat("'", path, "' is no name for a new folder"));
  }
  if (fs::exists(fs::symlink_status(target, error))) {
    return absl::AlreadyExistsError(StrCat("'", target.string(), "' exists already: name another folder"));
  }
  const fs::path parent = target.has_parent_path() ? target.parent_path() : fs::path(".");
  fs::create_directories(parent, error);
  if (error) return CannotWrite(parent.string(), error.value());
  std::string temporary = (parent / StrCat(".", target.filename().string(), ".partial-XXXXXX")).string();
  if (::mkdtemp(temporary.data()) == nullptr) return CannotWrite(parent.string(), errno);
  return RunFolder(target.string(), std::move(temporary));
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})), files_(std::move(other.files_)) {}

RunFolder::~RunFolder() { Remove(); }

absl::Status RunFolder::Append(std::string_view name, std::string_view bytes) {
  HOPGAP_CHECK(!temporary_.empty(), "a committed run folder is written to");
  HOPGAP_CHECK(!name.empty() && name.find('/') == std::string_view::npos, "no plain file name");
  auto found = files_.find(name);
  if (found == files_.end()) {
    const std::string file = StrCat(temporary_, "/", name);
    File opened{.handle = std::unique_ptr<std::FILE, Close>(std::fopen(file.c_str(), "wbx"))};
    if (opened.handle == nullptr) return CannotWrite(file, errno);
    found = files_.emplace(std::string(name), std::move(opened)).first;
  }
  File& file = found->second;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.handle.get()) != bytes.size()) {
    return CannotWrite(StrCat(path_, "/", name), errno);
  }
  file.bytes += bytes.size();
  return absl::OkStatus();
}

absl::Status RunFolder::Flush() {
  for (const auto& [name, file] : files_) {
    if (std::fflush(file.handle.get()) != 0) return CannotWrite(StrCat(path_, "/", name), errno);
  }
  return absl::OkStatus();
}

std::string RunFolder::Keep() {
  files_.clear();
  return std::exchange(temporary_, {});
}

absl::Status RunFolder::CloseAll() {
  for (auto& [name, file] : files_) {
    // A full disk may show only now.
    if (std::FILE* handle = file.handle.release(); handle != nullptr && std::fclose(handle) != 0) {
      return CannotWrite(StrCat(path_, "/", name), errno);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::pair<std::string, uint64_t>>> RunFolder::Commit() {
  HOPGAP_CHECK(!temporary_.empty(), "a run folder is committed twice");
  absl::Status status = CloseAll();
  std::error_code error;
  if (status.ok() && fs::exists(fs::symlink_status(path_, error))) {
    status = absl::AlreadyExistsError(StrCat("'", path_, "' was made by somebody else meanwhile"));
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (status.ok() &&
      (::chmod(temporary_.c_str(), 0777 & ~mask) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0)) {
    status = CannotWrite(path_, errno);
  }
  if (!status.ok()) {
    Remove();
    return status;
  }
  temporary_.clear();
  std::vector<std::pair<std::string, uint64_t>> written;
  for (const auto& [name, file] : files_) written.emplace_back(name, file.bytes);
  return written;
}

void RunFolder::Remove() {
  if (temporary_.empty()) return;
  files_.clear();
  std::error_code ignored;  // nothing to be done: the name says "partial"
  fs::remove_all(temporary_, ignored);
  temporary_.clear();
}

}  // namespace hopgap::formats
