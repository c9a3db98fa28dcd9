#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

namespace hopgap::remote {

// base64url without padding (RFC 7515).
std::string Base64Url(std::string_view bytes);

// HEADER.CLAIMS.SIGNATURE, each in base64url, signed RS256 with the PEM private
// key. InvalidArgument if that is no unencrypted RSA key.
absl::StatusOr<std::string> SignJwt(std::string_view header_json, std::string_view claims_json,
                                    const std::string& private_key_pem);

}  // namespace hopgap::remote
