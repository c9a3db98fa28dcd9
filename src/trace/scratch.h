#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace hopgap::trace {

// Bytes that do not fit into memory. An adapter puts them into a file
// (formats/scratch_file.h), a test wherever it likes; nobody else sees them, and
// they are gone with this object.
class ScratchFile {
 public:
  virtual ~ScratchFile() = default;

  // At the end. Unavailable, with what to do, if there is no room.
  virtual absl::Status Append(std::string_view bytes) = 0;

  // Fills [out, out + size) from `offset` on. DataLoss if so much is not there.
  virtual absl::Status ReadAt(uint64_t offset, char* out, size_t size) = 0;
};

// Where such files are made.
class Scratch {
 public:
  virtual ~Scratch() = default;
  virtual absl::StatusOr<std::unique_ptr<ScratchFile>> Create() = 0;
};

}  // namespace hopgap::trace
