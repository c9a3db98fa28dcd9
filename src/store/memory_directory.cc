#include "store/memory_directory.h"

#include <atomic>
#include <cstring>

#include "base/check.h"
#include "base/text.h"

namespace hopgap::store {
namespace {

class MemoryFile final : public File {
 public:
  MemoryFile(std::shared_ptr<MemoryDirectory::Contents> contents, std::shared_ptr<std::string> bytes)
      : contents_(std::move(contents)), bytes_(std::move(bytes)) {}

  absl::Status Write(uint64_t offset, std::string_view bytes) override {
    HOPGAP_CHECK(offset + bytes.size() <= bytes_->size(), "a write beyond the end of the file");
    std::memcpy(bytes_->data() + offset, bytes.data(), bytes.size());  // its size is read by other threads
    return absl::OkStatus();
  }
  absl::Status Sync() override {
    std::atomic_ref(contents_->syncs).fetch_add(1);  // a journal has two threads
    return absl::OkStatus();
  }
  absl::StatusOr<pubsub::Bytes> Map() override { return pubsub::Bytes(bytes_, *bytes_); }
  uint64_t size() const override { return bytes_->size(); }

 private:
  const std::shared_ptr<MemoryDirectory::Contents> contents_;
  const std::shared_ptr<std::string> bytes_;
};

}  // namespace

MemoryDirectory::~MemoryDirectory() {
  if (holds_lock_) contents_->locked = false;
}

uint64_t MemoryDirectory::Used() const {
  uint64_t used = 0;
  for (const auto& [name, bytes] : contents_->files) used += bytes->size();
  return used;
}

absl::StatusOr<std::unique_ptr<File>> MemoryDirectory::Create(std::string_view name, uint64_t size, Fill) {
  if (contents_->files.contains(name)) return absl::AlreadyExistsError(StrCat("memory/", name, ": exists already"));
  if (Used() + size > contents_->bytes_max) {
    return absl::ResourceExhaustedError(StrCat("reserving ", size, " bytes for memory/", name, ": No space left"));
  }
  auto bytes = std::make_shared<std::string>(size, '\0');
  contents_->files.emplace(name, bytes);
  return std::make_unique<MemoryFile>(contents_, std::move(bytes));
}

absl::StatusOr<std::unique_ptr<File>> MemoryDirectory::Open(std::string_view name) {
  const auto found = contents_->files.find(name);
  if (found == contents_->files.end()) return absl::NotFoundError(StrCat("memory/", name, ": there is no such file"));
  return std::make_unique<MemoryFile>(contents_, found->second);
}

absl::StatusOr<std::vector<std::string>> MemoryDirectory::List() {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : contents_->files) names.push_back(name);
  return names;
}

absl::Status MemoryDirectory::Rename(std::string_view from, std::string_view to) {
  const auto found = contents_->files.find(from);
  if (found == contents_->files.end()) return absl::InternalError(StrCat("renaming memory/", from, ": No such file"));
  std::shared_ptr<std::string> bytes = found->second;
  contents_->files.erase(found);
  contents_->files.insert_or_assign(std::string(to), std::move(bytes));
  return absl::OkStatus();
}

absl::Status MemoryDirectory::Remove(std::string_view name) {
  const auto found = contents_->files.find(name);
  if (found == contents_->files.end()) return absl::InternalError(StrCat("removing memory/", name, ": No such file"));
  contents_->files.erase(found);
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> MemoryDirectory::FreeBytes() { return contents_->bytes_max - Used(); }

absl::Status MemoryDirectory::Lock() {
  if (contents_->locked) return absl::FailedPreconditionError("memory: another hopgap uses this directory");
  contents_->locked = holds_lock_ = true;
  return absl::OkStatus();
}

}  // namespace hopgap::store
