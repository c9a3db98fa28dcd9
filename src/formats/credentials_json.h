#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace hopgap::formats {

// An application default credentials file of Google Cloud, as far as it is used.
struct CredentialsFile {
  enum class Kind : uint8_t { kServiceAccount, kAuthorizedUser };
  Kind kind = Kind::kServiceAccount;
  std::string client_email, private_key, private_key_id;  // a service account's; the key is PEM
  std::string client_id, client_secret, refresh_token;    // an authorised user's
  std::string token_uri;                                  // where tokens come from
  std::string quota_project;                              // whose quota a user's calls count for; may be empty
};

// InvalidArgument names `where`, the field and what to do: also for the kinds
// that are not supported (external accounts, impersonation), by their names.
absl::StatusOr<CredentialsFile> ReadCredentialsJson(std::string_view text, std::string_view where);

// What a token endpoint answers, be it good or bad.
struct TokenAnswer {
  std::string access_token;  // empty: refused, and why is in `error`
  int64_t expires_in_s = 0;
  std::string error, error_description;
};

// InvalidArgument if it is neither a token nor an error.
absl::StatusOr<TokenAnswer> ReadTokenJson(std::string_view text);

// What a service account signs to get a token, as JSON: the JWT's header and its claims.
std::string ServiceAccountHeader(std::string_view private_key_id);
std::string ServiceAccountClaims(const CredentialsFile& file, std::string_view scope, int64_t issued_at_s,
                                 int64_t expires_at_s);

}  // namespace hopgap::formats
