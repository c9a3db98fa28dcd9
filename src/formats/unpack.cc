#include "formats/unpack.h"

#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace hopgap::formats {
namespace {

constexpr std::string_view kGzipMagic("\x1f\x8b", 2);
constexpr std::string_view kZstdMagic("\x28\xb5\x2f\xfd", 4);

// Where packed bytes come from: a file, or memory.
class Bytes {
 public:
  virtual ~Bytes() = default;
  virtual absl::Status Next(std::string& out) = 0;  // empty at the end
};

class FileBytes : public Bytes {
 public:
  FileBytes(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}
  ~FileBytes() override {
    if (file_ != stdin) std::fclose(file_);
  }
  absl::Status Next(std::string& out) override {
    out.resize(kUnpackChunkBytes);
    const size_t size = std::fread(out.data(), 1, out.size(), file_);
    out.resize(size);
    if (size == 0 && std::ferror(file_) != 0) {
      return absl::UnavailableError(StrCat("cannot read '", path_, "': ", std::strerror(errno)));
    }
    return absl::OkStatus();
  }

 private:
  std::FILE* file_;
  std::string path_;
};

class TextBytes : public Bytes {
 public:
  explicit TextBytes(std::string_view text) : text_(text) {}
  absl::Status Next(std::string& out) override {
    out.assign(text_.substr(0, kUnpackChunkBytes));
    text_.remove_prefix(out.size());
    return absl::OkStatus();
  }

 private:
  std::string_view text_;
};

class PlainInput : public UnpackedInput {
 public:
  PlainInput(std::unique_ptr<Bytes> bytes, std::string first) : bytes_(std::move(bytes)), first_(std::move(first)) {}
  absl::Status Read(std::string& out) override {
    if (first_.empty()) return bytes_->Next(out);
    out = std::exchange(first_, {});
    return absl::OkStatus();
  }
  std::string_view packing() const override { return ""; }

 private:
  std::unique_ptr<Bytes> bytes_;
  std::string first_;
};

// What both packings share: input is asked for when the last was used up, and
// output is handed on as soon as there is some.
class PackedInput : public UnpackedInput {
 public:
  PackedInput(std::unique_ptr<Bytes> bytes, std::string first) : bytes_(std::move(bytes)), packed_(std::move(first)) {}

  absl::Status Read(std::string& out) override {
    out.clear();
    while (out.empty()) {
      if (at_ == packed_.size()) {
        at_ = 0;
        if (absl::Status status = bytes_->Next(packed_); !status.ok()) return status;
        if (packed_.empty()) return InMember() ? Damaged("end in the middle") : absl::OkStatus();
      }
      out.resize(kUnpackChunkBytes);
      size_t made = 0;
      const absl::Status status = Step(std::string_view(packed_).substr(at_), out, made);
      out.resize(made);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 protected:
  // Takes from `in` (says how much through Took) and fills `out`.
  virtual absl::Status Step(std::string_view in, std::string& out, size_t& made) = 0;
  virtual bool InMember() const = 0;
  void Took(size_t bytes) { at_ += bytes; }
  // What follows the end: zeros, as of a tape or a block device, are nothing.
  absl::Status Behind(std::string_view in) {
    if (in.find_first_not_of('\0') != std::string_view::npos) return Damaged("are followed by something else");
    Took(in.size());
    return absl::OkStatus();
  }
  absl::Status Damaged(std::string_view why) const {
    return absl::DataLossError(StrCat("the ", packing(), " data ", why));
  }

 private:
  std::unique_ptr<Bytes> bytes_;
  std::string packed_;
  size_t at_ = 0;
};

class GzipInput : public PackedInput {
 public:
  using PackedInput::PackedInput;
  ~GzipInput() override {
    if (open_) inflateEnd(&stream_);
  }
  std::string_view packing() const override { return "gzip"; }

 private:
  absl::Status Step(std::string_view in, std::string& out, size_t& made) override {
    if (!open_ && members_++ > 0 && !in.starts_with(kGzipMagic[0])) {
      return Behind(in);
    }
    if (!open_) {
      stream_ = {};
      if (inflateInit2(&stream_, 15 + 16) != Z_OK) return absl::ResourceExhaustedError("no memory to unpack gzip");
      open_ = true;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    Took(in.size() - stream_.avail_in);
    made = out.size() - stream_.avail_out;
    if (result == Z_STREAM_END) {
      inflateEnd(&stream_);
      open_ = false;
      return absl::OkStatus();
    }
    return result == Z_OK || result == Z_BUF_ERROR ? absl::OkStatus() : Damaged("are damaged");
  }
  bool InMember() const override { return open_; }

  z_stream stream_{};
  bool open_ = false;
  uint64_t members_ = 0;
};

class ZstdInput : public PackedInput {
 public:
  ZstdInput(std::unique_ptr<Bytes> bytes, std::string first)
      : PackedInput(std::move(bytes), std::move(first)), stream_(ZSTD_createDStream()) {}
  ~ZstdInput() override { ZSTD_freeDStream(stream_); }
  std::string_view packing() const override { return "zstd"; }

 private:
  absl::Status Step(std::string_view in, std::string& out, size_t& made) override {
    if (!in_member_ && members_ > 0 && !in.starts_with(kZstdMagic[0])) return Behind(in);
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const size_t left = ZSTD_decompressStream(stream_, &to, &from);
    Took(from.pos);
    made = to.pos;
    in_member_ = left != 0;
    if (!in_member_) ++members_;
    return ZSTD_isError(left) == 0 ? absl::OkStatus() : Damaged("are damaged");
  }
  bool InMember() const override { return in_member_; }

  ZSTD_DStream* stream_;
  bool in_member_ = false;
  uint64_t members_ = 0;
};

absl::StatusOr<std::unique_ptr<UnpackedInput>> Make(std::unique_ptr<Bytes> bytes) {
  std::string first;
  if (absl::Status status = bytes->Next(first); !status.ok()) return status;
  if (first.starts_with(kGzipMagic)) return std::make_unique<GzipInput>(std::move(bytes), std::move(first));
  if (first.starts_with(kZstdMagic)) return std::make_unique<ZstdInput>(std::move(bytes), std::move(first));
  return std::make_unique<PlainInput>(std::move(bytes), std::move(first));
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnpackedInput>> UnpackedInput::Open(const std::string& path) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    const std::string why = StrCat("cannot read '", path, "': ", std::strerror(errno));
    return errno == ENOENT ? absl::NotFoundError(why) : absl::UnavailableError(why);
  }
  return Make(std::make_unique<FileBytes>(file, path));
}

absl::StatusOr<std::unique_ptr<UnpackedInput>> UnpackedInput::OfBytes(std::string_view bytes) {
  return Make(std::make_unique<TextBytes>(bytes));
}

absl::StatusOr<std::string> Unpack(std::string_view bytes, size_t bytes_max) {
  absl::StatusOr<std::unique_ptr<UnpackedInput>> input = UnpackedInput::OfBytes(bytes);
  if (!input.ok()) return input.status();
  std::string all, chunk;
  do {
    if (absl::Status status = (*input)->Read(chunk); !status.ok()) return status;
    if (all.size() + chunk.size() > bytes_max) {
      return absl::ResourceExhaustedError(StrCat("unpacks to more than ", bytes_max, " bytes"));
    }
    all += chunk;
  } while (!chunk.empty());
  return all;
}

}  // namespace hopgap::formats
