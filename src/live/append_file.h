#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <string_view>

namespace hopgap::live {

// A file that lines are appended to, each by one system call and at once: what
// was appended outlives a SIGKILL of the process.
//
// Not thread-safe.
class AppendFile {
 public:
  // Opens or makes the file; a new one begins with `header`. PermissionDenied,
  // naming it, if that fails.
  static absl::StatusOr<std::unique_ptr<AppendFile>> Open(const std::string& path, std::string_view header);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // False if it could not be written whole (a full disk).
  bool Append(std::string_view line);

 private:
  explicit AppendFile(int fd) : fd_(fd) {}
  const int fd_;
};

}  // namespace hopgap::live
