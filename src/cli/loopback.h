#pragma once

#include <string_view>

namespace hopgap::cli {

// Nothing listens beyond this machine unless it asks who calls, or this flag says so.
inline constexpr char kInsecureFlag[] = "--insecure-listen-everywhere";

inline constexpr int kPortMax = 65535;  // 0: any free one

inline bool Loopback(std::string_view host) {
  return host == "localhost" || host == "::1" ||
         (host.substr(0, 4) == "127." && host.find_first_not_of("0123456789.") == host.npos);
}

}  // namespace hopgap::cli
