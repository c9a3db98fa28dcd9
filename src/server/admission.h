#pragma once

#include <absl/status/status.h>

#include <functional>
#include <string>
#include <string_view>

namespace hopgap::server {

// Whether a call may be served: OK, or what it ends with. Asked once a call,
// before its request is read, on the polling thread, so it must not block.
// `authorization` is the header of that name; empty if there is none.
using Admission = std::function<absl::Status(std::string_view path, std::string_view authorization)>;

// Admits who sends "Bearer TOKEN"; all others get UNAUTHENTICATED with a
// sentence. How long the comparison takes says nothing about the token but its
// length. Requires: token is not empty.
Admission RequireBearerToken(std::string token);

}  // namespace hopgap::server
