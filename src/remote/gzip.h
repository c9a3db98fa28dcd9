#pragma once

#include <string>
#include <string_view>

namespace hopgap::remote {

// `bytes` as one gzip member, for `Content-Encoding: gzip`.
std::string Gzip(std::string_view bytes);

}  // namespace hopgap::remote
