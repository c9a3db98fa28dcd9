#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hopgap::server {

// What a connection turns out to be, by the first bytes its client sends.
enum class FirstBytes {
  kMore,     // too few to tell
  kHttp2,    // HTTP/2 with prior knowledge: gRPC
  kHttp1,    // an HTTP/1 request line
  kUnknown,  // TLS, or nothing that is served here
};

// Enough to tell: "PRI" begins HTTP/2's preface and no HTTP/1 method that is in use.
inline constexpr size_t kFirstBytesNeeded = 3;
FirstBytes Classify(std::string_view first);

// 501 in the error form of Google's REST interface: its body, and the whole
// HTTP/1.1 answer.
std::string Http1RefusalBody();
std::string Http1Refusal();

}  // namespace hopgap::server
