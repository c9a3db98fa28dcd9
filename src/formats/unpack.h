#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace hopgap::formats {

// The bytes of a file or of standard input ("-"), unpacked if they are gzip or
// zstd (by their first bytes, never by the name); packed parts one after another
// are read as one. Memory is bounded whatever a file unpacks to.
//
// Not thread-safe.
class UnpackedInput {
 public:
  // NotFound or Unavailable, naming the file, if it cannot be opened.
  static absl::StatusOr<std::unique_ptr<UnpackedInput>> Open(const std::string& path);
  // `bytes` must outlive it.
  static absl::StatusOr<std::unique_ptr<UnpackedInput>> OfBytes(std::string_view bytes);
  virtual ~UnpackedInput() = default;

  // The next bytes in `out` (replaced); empty at the end. DataLoss if the packed
  // data end in the middle or are no such data: what came before was good.
  virtual absl::Status Read(std::string& out) = 0;
  virtual std::string_view packing() const = 0;  // "", "gzip" or "zstd"
};

inline constexpr size_t kUnpackChunkBytes = size_t{1} << 18;

// `bytes` unpacked if they are gzip or zstd, else as they are. ResourceExhausted
// beyond `bytes_max`; DataLoss if they are cut off or damaged.
absl::StatusOr<std::string> Unpack(std::string_view bytes, size_t bytes_max);

}  // namespace hopgap::formats
