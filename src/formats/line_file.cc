#include "formats/line_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "base/text.h"

namespace hopgap::formats {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 18;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

absl::Status CannotRead(const std::string& path, int error) {
  const std::string why = StrCat("cannot read '", path, "': ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(why) : absl::UnavailableError(why);
}

// Puts lines together from chunks.
class Lines {
 public:
  Lines(size_t bytes_max, const TakeLine& take) : bytes_max_(bytes_max), take_(take) {}

  absl::Status Add(std::string_view chunk) {
    while (!chunk.empty()) {
      const size_t end = chunk.find('\n');
      Gather(chunk.substr(0, end));
      if (end == std::string_view::npos) break;
      if (absl::Status status = Finish(); !status.ok()) return status;
      chunk.remove_prefix(end + 1);
    }
    return absl::OkStatus();
  }

  // The last line may have no line end.
  absl::Status End() { return line_.empty() && !too_long_ ? absl::OkStatus() : Finish(); }

 private:
  void Gather(std::string_view part) {
    too_long_ = too_long_ || line_.size() + part.size() > bytes_max_;
    if (too_long_) {
      line_.clear();
    } else {
      line_.append(part);
    }
  }

  absl::Status Finish() {
    if (line_.ends_with('\r')) line_.pop_back();
    const absl::Status status = take_(++number_, line_, too_long_);
    line_.clear();
    too_long_ = false;
    return status;
  }

  size_t bytes_max_;
  const TakeLine& take_;
  std::string line_;
  bool too_long_ = false;
  uint64_t number_ = 0;
};

}  // namespace

absl::Status ForEachLine(const std::string& path, size_t bytes_max, const TakeLine& take) {
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return CannotRead(path, errno);
  std::vector<char> chunk(kChunkBytes);
  Lines lines(bytes_max, take);
  for (;;) {
    const size_t size = std::fread(chunk.data(), 1, chunk.size(), file.get());
    if (size == 0 && std::ferror(file.get())) return CannotRead(path, errno);
    if (size == 0) return lines.End();
    if (absl::Status status = lines.Add({chunk.data(), size}); !status.ok()) return status;
  }
}

}  // namespace hopgap::formats
