#include "remote/gzip.h"

#include <zlib.h>

#include "base/check.h"

namespace hopgap::remote {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's way to say gzip and not zlib framing
constexpr int kMemoryLevel = 8;       // zlib's default

}  // namespace

std::string Gzip(std::string_view bytes) {
  z_stream stream{};
  const int begun =
      deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY);
  HOPGAP_CHECK(begun == Z_OK, "zlib has memory");
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  // zlib takes a mutable pointer but never writes through it.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int ended = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  HOPGAP_CHECK(ended == Z_STREAM_END, "the bound is enough for everything");
  return out;
}

}  // namespace hopgap::remote
