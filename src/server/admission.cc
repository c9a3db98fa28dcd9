#include "server/admission.h"

#include <cstdint>
#include <utility>

#include "base/check.h"

namespace hopgap::server {
namespace {

// Looks at every byte whatever the others were.
bool SameSecret(std::string_view secret, std::string_view offered) {
  volatile uint8_t difference = secret.size() == offered.size() ? 0 : 1;
  for (size_t i = 0; i < offered.size(); ++i) {
    difference = static_cast<uint8_t>(difference | (secret[i % secret.size()] ^ offered[i]));
  }
  return difference == 0;
}

}  // namespace

Admission RequireBearerToken(std::string token) {
  HOPGAP_CHECK(!token.empty(), "an empty token would admit everybody who says nothing");
  return [token = std::move(token)](std::string_view, std::string_view authorization) {
    constexpr std::string_view kScheme = "Bearer ";
    if (authorization.empty()) {
      return absl::UnauthenticatedError("this broker asks for a token: send the header 'authorization: Bearer TOKEN'");
    }
    const bool bearer = authorization.substr(0, kScheme.size()) == kScheme;
    if (bearer && SameSecret(token, authorization.substr(kScheme.size()))) return absl::OkStatus();
    return absl::UnauthenticatedError("the token in 'authorization' is not this broker's");
  };
}

}  // namespace hopgap::server
