#include "live/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace hopgap::live {

absl::StatusOr<std::unique_ptr<AppendFile>> AppendFile::Open(const std::string& path, std::string_view header) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return absl::PermissionDeniedError(StrCat(path, ": cannot be written: ", std::strerror(errno)));
  std::unique_ptr<AppendFile> file(new AppendFile(fd));
  struct stat state {};
  const bool fresh = fstat(fd, &state) == 0 && state.st_size == 0;
  if (fresh && !file->Append(header)) {
    return absl::PermissionDeniedError(StrCat(path, ": cannot be written: ", std::strerror(errno)));
  }
  return file;
}

AppendFile::~AppendFile() { close(fd_); }

bool AppendFile::Append(std::string_view line) {
  ssize_t wrote = 0;
  do {
    wrote = write(fd_, line.data(), line.size());
  } while (wrote < 0 && errno == EINTR);
  return wrote == static_cast<ssize_t>(line.size());
}

}  // namespace hopgap::live
