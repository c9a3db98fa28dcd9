#include "formats/scratch_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace hopgap::formats {
namespace {

class DiskFile : public trace::ScratchFile {
 public:
  DiskFile(int descriptor, std::string folder) : descriptor_(descriptor), folder_(std::move(folder)) {}
  ~DiskFile() override { ::close(descriptor_); }
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;

  absl::Status Append(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return Failed(errno);
      bytes.remove_prefix(static_cast<size_t>(written));
      size_ += static_cast<uint64_t>(written);
    }
    return absl::OkStatus();
  }

  absl::Status ReadAt(uint64_t offset, char* out, size_t size) override {
    while (size > 0) {
      const ssize_t read = ::pread(descriptor_, out, size, static_cast<off_t>(offset));
      if (read < 0 && errno == EINTR) continue;
      if (read < 0) return Failed(errno);
      if (read == 0) return absl::DataLossError(StrCat(folder_, ": a scratch file ends after ", offset, " bytes"));
      out += read;
      offset += static_cast<uint64_t>(read);
      size -= static_cast<size_t>(read);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Failed(int error) const {
    if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
      return absl::UnavailableError(
          StrCat(folder_, ": no room for spans that do not fit into memory (", std::strerror(error), " after ", size_,
                 " bytes of one scratch file): free some, or name another folder with --scratch"));
    }
    return absl::UnavailableError(StrCat(folder_, ": a scratch file failed: ", std::strerror(error)));
  }

  int descriptor_;
  std::string folder_;
  uint64_t size_ = 0;
};

// Where the file system knows no files without a name, one that loses it at once.
int OpenNameless(const std::string& folder) {
  const int nameless = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (nameless >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return nameless;
  std::string name = StrCat(folder, "/hopgap-scratch-XXXXXX");
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

absl::StatusOr<std::unique_ptr<trace::ScratchFile>> FileScratch::Create() {
  if (folder_.empty()) {
    std::error_code ignored;
    folder_ = std::filesystem::temp_directory_path(ignored).string();
    if (folder_.empty()) folder_ = ".";
  }
  const int descriptor = OpenNameless(folder_);
  if (descriptor >= 0) return std::make_unique<DiskFile>(descriptor, folder_);
  return absl::UnavailableError(StrCat(folder_, ": no file can be made here for spans that do not fit into memory (",
                                       std::strerror(errno), "); --scratch names another folder"));
}

}  // namespace hopgap::formats
