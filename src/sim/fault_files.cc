#include "sim/fault_files.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/text.h"

namespace hopgap::sim {
namespace {

constexpr uint64_t kSectorBytes = 512;

}  // namespace

class FaultFiles::File final : public store::File {
 public:
  File(FaultFiles& files, std::shared_ptr<Content> content) : files_(files), content_(std::move(content)) {}

  absl::Status Write(uint64_t offset, std::string_view bytes) override {
    HOPGAP_CHECK(offset + bytes.size() <= content_->seen->size(), "a write beyond the end of the file");
    if (files_.dead_) return files_.Operate();
    absl::Status operated = files_.Operate();
    // A write that the loss of power comes into may have been done, or begun.
    std::memcpy(content_->seen->data() + offset, bytes.data(), bytes.size());
    content_->unsynced.emplace_back(offset, offset + bytes.size());
    files_.written_ += bytes.size();
    return operated;
  }
  absl::Status Sync() override {
    if (absl::Status operated = files_.Operate(); !operated.ok()) return operated;
    for (const auto& [begin, end] : content_->unsynced) {
      std::memcpy(content_->kept.data() + begin, content_->seen->data() + begin, end - begin);
    }
    content_->unsynced.clear();
    return absl::OkStatus();
  }
  absl::StatusOr<pubsub::Bytes> Map() override { return pubsub::Bytes(content_->seen, *content_->seen); }
  uint64_t size() const override { return content_->seen->size(); }

 private:
  FaultFiles& files_;
  const std::shared_ptr<Content> content_;
};

class FaultFiles::Directory final : public store::Directory {
 public:
  explicit Directory(FaultFiles& files) : files_(files) {}

  absl::StatusOr<std::unique_ptr<store::File>> Create(std::string_view name, uint64_t size, Fill) override {
    if (absl::Status operated = files_.Operate(); !operated.ok()) return operated;
    if (files_.seen_.contains(name)) return absl::AlreadyExistsError(StrCat("disk/", name, ": exists already"));
    const bool full = files_.Used() + size > files_.bytes_max_;
    if (!full) files_.full_at_.reset();
    if (full) {
      files_.full_at_ = files_.full_at_.value_or(files_.written_);
      return absl::ResourceExhaustedError(StrCat("reserving ", size, " bytes for disk/", name, ": No space left"));
    }
    auto content = std::make_shared<Content>();
    content->seen = std::make_shared<std::string>(size, '\0');
    content->kept = *content->seen;
    Change({{std::string(name), content}});
    return std::make_unique<File>(files_, std::move(content));
  }
  absl::StatusOr<std::unique_ptr<store::File>> Open(std::string_view name) override {
    const auto found = files_.seen_.find(name);
    if (found == files_.seen_.end()) return absl::NotFoundError(StrCat("disk/", name, ": there is no such file"));
    return std::make_unique<File>(files_, found->second);
  }
  absl::StatusOr<std::vector<std::string>> List() override {
    std::vector<std::string> names;
    for (const auto& [name, content] : files_.seen_) names.push_back(name);
    return names;
  }
  absl::Status Rename(std::string_view from, std::string_view to) override {
    if (absl::Status operated = files_.Operate(); !operated.ok()) return operated;
    const auto found = files_.seen_.find(from);
    if (found == files_.seen_.end()) return absl::InternalError(StrCat("renaming disk/", from, ": No such file"));
    Change({{std::string(to), found->second}, {std::string(from), nullptr}});
    return absl::OkStatus();
  }
  absl::Status Remove(std::string_view name) override {
    if (absl::Status operated = files_.Operate(); !operated.ok()) return operated;
    if (!files_.seen_.contains(name)) return absl::InternalError(StrCat("removing disk/", name, ": No such file"));
    Change({{std::string(name), nullptr}});
    return absl::OkStatus();
  }
  absl::Status Sync() override {
    if (absl::Status operated = files_.Operate(); !operated.ok()) return operated;
    files_.kept_ = files_.seen_;
    files_.unsynced_.clear();
    return absl::OkStatus();
  }
  absl::StatusOr<uint64_t> FreeBytes() override { return files_.bytes_max_ - files_.Used(); }
  absl::Status Lock() override { return absl::OkStatus(); }  // one process at a time: the world sees to it
  std::string name() const override { return "disk"; }

 private:
  void Change(std::vector<FaultFiles::Change> changes) {
    for (const auto& [name, content] : changes) {
      if (content == nullptr) {
        files_.seen_.erase(name);
      } else {
        files_.seen_.insert_or_assign(name, content);
      }
    }
    files_.unsynced_.push_back(std::move(changes));
  }

  FaultFiles& files_;
};

std::unique_ptr<store::Directory> FaultFiles::Open() { return std::make_unique<Directory>(*this); }

absl::Status FaultFiles::Operate() {
  dead_ = dead_ || operations_left_ == 0 || (dies_ > 0 && dice_.Below(10'000) < dies_);
  if (dead_) return absl::InternalError("disk: Input/output error");
  --operations_left_;
  return absl::OkStatus();
}

uint64_t FaultFiles::Used() const {
  uint64_t used = 0;
  for (const auto& [name, content] : seen_) used += content->seen->size();
  return used;
}

void FaultFiles::KeepSome(Content& content, const Range& range) {
  const auto keep = [&](uint64_t begin, uint64_t end) {
    std::memcpy(content.kept.data() + begin, content.seen->data() + begin, end - begin);
  };
  const auto [begin, end] = range;
  switch (dice_.Below(4)) {
    case 0: return;
    case 1: return keep(begin, end);
    case 2: return keep(begin, begin + dice_.Below(end - begin + 1));
    default: break;
  }
  for (uint64_t at = begin; at < end;) {
    const uint64_t next = std::min(end, (at / kSectorBytes + 1) * kSectorBytes);
    if (dice_.Chance(500)) keep(at, next);
    at = next;
  }
}

void FaultFiles::Crash() {
  dead_ = false;
  operations_left_ = ~uint64_t{0};
  size_t done = dice_.Below(unsynced_.size() + 1);
  for (const std::vector<Change>& changes : unsynced_) {
    if (done-- == 0) break;
    for (const auto& [name, content] : changes) {
      if (content == nullptr) {
        kept_.erase(name);
      } else {
        kept_.insert_or_assign(name, content);
      }
    }
  }
  unsynced_.clear();
  seen_ = kept_;
  for (const auto& [name, content] : seen_) {
    if (content->unsynced.empty()) continue;
    for (const Range& range : content->unsynced) KeepSome(*content, range);
    content->unsynced.clear();
    // A new one: what the dead process had mapped may still be looked at.
    content->seen = std::make_shared<std::string>(content->kept);
  }
}

void FaultFiles::CalmDown() {
  dies_ = 0;
  bytes_max_ = uint64_t{1} << 40;
}

}  // namespace hopgap::sim
