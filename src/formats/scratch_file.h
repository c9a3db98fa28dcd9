#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "trace/scratch.h"

namespace hopgap::formats {

// Scratch files in a folder of a disk. They have no name: whatever happens to the
// process, nothing of them stays.
//
// Not thread-safe.
class FileScratch : public trace::Scratch {
 public:
  // Empty: the system's folder for temporary files, which TMPDIR names.
  explicit FileScratch(std::string folder) : folder_(std::move(folder)) {}

  // Unavailable names the folder and why no file can be made in it.
  absl::StatusOr<std::unique_ptr<trace::ScratchFile>> Create() override;

 private:
  std::string folder_;
};

}  // namespace hopgap::formats
