#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "store/file.h"

namespace hopgap::store {
namespace {

constexpr size_t kZerosAtOnce = 1 << 20;

absl::Status SystemError(std::string_view what, std::string_view path, int error) {
  const std::string text = StrCat(what, " ", path, ": ", std::strerror(error));
  if (error == ENOSPC || error == EDQUOT) return absl::ResourceExhaustedError(text);
  return absl::InternalError(text);
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }

 private:
  int number_;
};

struct Mapping {
  void* address = nullptr;
  size_t size = 0;
  ~Mapping() { ::munmap(address, size); }
};

class PosixFile final : public File {
 public:
  PosixFile(std::string path, Descriptor descriptor, uint64_t size)
      : path_(std::move(path)), descriptor_(std::move(descriptor)), size_(size) {}

  absl::Status Write(uint64_t offset, std::string_view bytes) override {
    HOPGAP_CHECK(offset + bytes.size() <= size_, "a write beyond the end of the file");
    while (!bytes.empty()) {
      const ssize_t written = ::pwrite(descriptor_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return SystemError("writing", path_, errno);
      offset += static_cast<uint64_t>(written);
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return absl::OkStatus();
  }

  absl::Status Sync() override {
    if (::fdatasync(descriptor_.get()) != 0) return SystemError("fdatasync of", path_, errno);
    return absl::OkStatus();
  }

  absl::StatusOr<pubsub::Bytes> Map() override {
    if (size_ == 0) return pubsub::Bytes();
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor_.get(), 0);
    if (address == MAP_FAILED) return SystemError("mapping", path_, errno);
    auto owner = std::make_shared<Mapping>();
    owner->address = address;
    owner->size = size_;
    const std::string_view view(static_cast<const char*>(address), size_);
    return pubsub::Bytes(std::move(owner), view);
  }

  uint64_t size() const override { return size_; }

  absl::Status Fill(Directory::Fill fill) {
    const int error = ::posix_fallocate(descriptor_.get(), 0, static_cast<off_t>(size_));
    if (error != 0) return SystemError(StrCat("reserving ", size_, " bytes for"), path_, error);
    if (fill == Directory::Fill::kZeroed) {
      const std::string zeros(std::min<uint64_t>(kZerosAtOnce, size_), '\0');
      for (uint64_t at = 0; at < size_; at += zeros.size()) {
        const std::string_view part = std::string_view(zeros).substr(0, std::min<uint64_t>(zeros.size(), size_ - at));
        if (absl::Status status = Write(at, part); !status.ok()) return status;
      }
    }
    if (::fsync(descriptor_.get()) != 0) return SystemError("fsync of", path_, errno);
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  const Descriptor descriptor_;
  const uint64_t size_;
};

class PosixDirectory final : public Directory {
 public:
  PosixDirectory(std::string path, Descriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

  absl::StatusOr<std::unique_ptr<File>> Create(std::string_view name, uint64_t size, Fill fill) override {
    const std::string path = PathOf(name);
    Descriptor opened(
        ::openat(descriptor_.get(), std::string(name).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (opened.get() < 0 && errno == EEXIST) return absl::AlreadyExistsError(StrCat(path, ": exists already"));
    if (opened.get() < 0) return SystemError("creating", path, errno);
    auto file = std::make_unique<PosixFile>(path, std::move(opened), size);
    if (size == 0) return file;
    if (absl::Status filled = file->Fill(fill); !filled.ok()) {
      ::unlinkat(descriptor_.get(), std::string(name).c_str(), 0);
      return filled;
    }
    return file;
  }

  absl::StatusOr<std::unique_ptr<File>> Open(std::string_view name) override {
    const std::string path = PathOf(name);
    Descriptor opened(::openat(descriptor_.get(), std::string(name).c_str(), O_RDWR | O_CLOEXEC));
    if (opened.get() < 0 && errno == ENOENT) return absl::NotFoundError(StrCat(path, ": there is no such file"));
    struct stat about {};
    if (opened.get() < 0 || ::fstat(opened.get(), &about) != 0) return SystemError("opening", path, errno);
    return std::make_unique<PosixFile>(path, std::move(opened), static_cast<uint64_t>(about.st_size));
  }

  absl::StatusOr<std::vector<std::string>> List() override {
    DIR* listing = ::opendir(path_.c_str());
    if (listing == nullptr) return SystemError("listing", path_, errno);
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(listing)) {
      if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    }
    ::closedir(listing);
    std::sort(names.begin(), names.end());
    return names;
  }

  absl::Status Rename(std::string_view from, std::string_view to) override {
    if (::renameat(descriptor_.get(), std::string(from).c_str(), descriptor_.get(), std::string(to).c_str()) == 0) {
      return absl::OkStatus();
    }
    return SystemError(StrCat("renaming to ", to, ":"), PathOf(from), errno);
  }

  absl::Status Remove(std::string_view name) override {
    if (::unlinkat(descriptor_.get(), std::string(name).c_str(), 0) == 0) return absl::OkStatus();
    return SystemError("removing", PathOf(name), errno);
  }

  absl::Status Sync() override {
    if (::fsync(descriptor_.get()) != 0) return SystemError("fsync of", path_, errno);
    return absl::OkStatus();
  }

  absl::StatusOr<uint64_t> FreeBytes() override {
    struct statvfs about {};
    if (::fstatvfs(descriptor_.get(), &about) != 0) return SystemError("asking for the free space of", path_, errno);
    return uint64_t{about.f_bavail} * about.f_frsize;
  }

  // On the directory itself: there is no lock file that a crash could leave.
  absl::Status Lock() override {
    if (::flock(descriptor_.get(), LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
    if (errno != EWOULDBLOCK) return SystemError("locking", path_, errno);
    return absl::FailedPreconditionError(
        StrCat(path_, ": another hopgap uses this directory; stop it first, or give another directory"));
  }

  std::string name() const override { return path_; }

 private:
  std::string PathOf(std::string_view name) const { return StrCat(path_, "/", name); }

  const std::string path_;
  const Descriptor descriptor_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return SystemError("making the directory", path, errno);
  Descriptor opened(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0) return SystemError("opening the directory", path, errno);
  return std::make_unique<PosixDirectory>(path, std::move(opened));
}

}  // namespace hopgap::store
