#pragma once

#include <map>
#include <memory>
#include <string>

#include "store/file.h"

namespace hopgap::store {

// A directory in memory with a budget of bytes, for tests and simulated worlds:
// nothing is ever lost, everything is durable when it is written. What it holds
// is shared by every directory made from the same Contents, so that a test can
// "restart" on it.
class MemoryDirectory final : public Directory {
 public:
  struct Contents {
    std::map<std::string, std::shared_ptr<std::string>, std::less<>> files;
    uint64_t bytes_max = uint64_t{1} << 40;
    bool locked = false;
    uint64_t syncs = 0;
  };
  explicit MemoryDirectory(std::shared_ptr<Contents> contents) : contents_(std::move(contents)) {}
  ~MemoryDirectory() override;

  absl::StatusOr<std::unique_ptr<File>> Create(std::string_view name, uint64_t size, Fill fill) override;
  absl::StatusOr<std::unique_ptr<File>> Open(std::string_view name) override;
  absl::StatusOr<std::vector<std::string>> List() override;
  absl::Status Rename(std::string_view from, std::string_view to) override;
  absl::Status Remove(std::string_view name) override;
  absl::Status Sync() override { return absl::OkStatus(); }
  absl::StatusOr<uint64_t> FreeBytes() override;
  absl::Status Lock() override;
  std::string name() const override { return "memory"; }

 private:
  uint64_t Used() const;

  const std::shared_ptr<Contents> contents_;
  bool holds_lock_ = false;
};

}  // namespace hopgap::store
