#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/scratch.h"

namespace hopgap::trace {

// For tests: scratch files that are texts, and that can be looked into and damaged.
class ScratchFake : public Scratch {
 public:
  explicit ScratchFake(size_t room = SIZE_MAX) : room_(room) {}
  absl::StatusOr<std::unique_ptr<ScratchFile>> Create() override {
    files.push_back(std::make_shared<std::string>());
    return std::make_unique<File>(*this, files.back());
  }

  std::vector<std::shared_ptr<std::string>> files;

 private:
  class File : public ScratchFile {
   public:
    File(ScratchFake& of, std::shared_ptr<std::string> text) : of_(of), text_(std::move(text)) {}
    absl::Status Append(std::string_view bytes) override {
      if (of_.room_ < bytes.size()) return absl::UnavailableError("the disk is full");
      of_.room_ -= bytes.size();
      text_->append(bytes);
      return absl::OkStatus();
    }
    absl::Status ReadAt(uint64_t offset, char* out, size_t size) override {
      if (offset + size > text_->size()) return absl::DataLossError("the file is short");
      std::memcpy(out, text_->data() + offset, size);
      return absl::OkStatus();
    }

   private:
    ScratchFake& of_;
    std::shared_ptr<std::string> text_;  // shared with the test, which looks at it when this is gone
  };
  size_t room_;
};

}  // namespace hopgap::trace
