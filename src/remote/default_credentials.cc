// Where application default credentials are found, and how each kind gets its token.
#include <fstream>
#include <sstream>
#include <utility>

#include "base/system_clock.h"
#include "base/text.h"
#include "formats/credentials_json.h"
#include "remote/credentials.h"
#include "remote/http_client.h"
#include "remote/jwt.h"
#include "remote/metadata_server.h"

namespace hopgap::remote {
namespace {

using formats::CredentialsFile;
using formats::TokenAnswer;

constexpr char kScope[] = "https://www.googleapis.com/auth/cloud-platform";
constexpr int64_t kAssertionSeconds = 3'600;  // the most that Google takes
constexpr char kLogin[] = "gcloud auth application-default login";
constexpr char kMetadataToken[] = "instance/service-accounts/default/token";

std::string FormEncode(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    if (plain) {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

std::string WhatToDo(CredentialsFile::Kind kind) {
  if (kind == CredentialsFile::Kind::kAuthorizedUser) return StrCat("log in again: ", kLogin);
  return "is the key still valid, and the clock of this machine right? Make a new key: gcloud iam service-accounts "
         "keys create FILE --iam-account ACCOUNT";
}

// A secret goes over TLS, or stays on this machine.
absl::StatusOr<Url> TokenUrl(const CredentialsFile& file, std::string_view where) {
  absl::StatusOr<Url> url = ParseUrl(file.token_uri);
  if (!url.ok()) return absl::InvalidArgumentError(StrCat(where, ": token_uri: ", MessageOf(url.status())));
  const std::string_view origin = url->origin;
  const bool local = origin.rfind("http://127.0.0.1:", 0) == 0 || origin.rfind("http://localhost:", 0) == 0;
  if (origin.rfind("https://", 0) != 0 && !local) {
    return absl::InvalidArgumentError(
        StrCat(where, ": token_uri ", file.token_uri, ": is not https, and a secret would go over it"));
  }
  return url;
}

absl::StatusOr<AccessToken> ReadAnswer(const absl::StatusOr<HttpResponse>& response, std::string_view description,
                                       std::string_view what_to_do) {
  if (!response.ok()) {
    return absl::UnavailableError(StrCat("no token for the ", description, ": ", MessageOf(response.status())));
  }
  absl::StatusOr<TokenAnswer> answer = formats::ReadTokenJson(response->body);
  if (response->status >= 500 || response->status == 429) {
    return absl::UnavailableError(
        StrCat("no token for the ", description, ": the token endpoint answers HTTP ", response->status));
  }
  if (answer.ok() && !answer->access_token.empty()) {
    return AccessToken{std::move(answer->access_token), std::chrono::seconds{answer->expires_in_s}};
  }
  std::string why = StrCat("HTTP ", response->status);
  if (answer.ok()) why = answer->error;
  if (answer.ok() && !answer->error_description.empty()) why += StrCat(": ", answer->error_description);
  return absl::UnauthenticatedError(StrCat("the ", description, " was refused (", why, "): ", what_to_do));
}

// A token from the file's own endpoint: a signed statement for a service
// account, the refresh token for a user.
absl::StatusOr<AccessToken> FetchFor(const CredentialsFile& file, const Url& url, const std::string& description) {
  std::string body;
  if (file.kind == CredentialsFile::Kind::kServiceAccount) {
    const int64_t now_s = ToNanos(WallNow()) / 1'000'000'000;
    const absl::StatusOr<std::string> assertion =
        SignJwt(formats::ServiceAccountHeader(file.private_key_id),
                formats::ServiceAccountClaims(file, kScope, now_s, now_s + kAssertionSeconds), file.private_key);
    if (!assertion.ok()) {
      return absl::InvalidArgumentError(StrCat("the ", description, ": ", MessageOf(assertion.status())));
    }
    body = StrCat("grant_type=", FormEncode("urn:ietf:params:oauth:grant-type:jwt-bearer"), "&assertion=", *assertion);
  } else {
    body = StrCat("grant_type=refresh_token&client_id=", FormEncode(file.client_id),
                  "&client_secret=", FormEncode(file.client_secret), "&refresh_token=", FormEncode(file.refresh_token));
  }
  HttpClient client({.origin = url.origin});
  HttpRequest request;
  request.method = "POST";
  if (!url.path.empty()) request.path = url.path;
  request.body = std::move(body);
  request.content_type = "application/x-www-form-urlencoded";
  return ReadAnswer(client.Send(request), description, WhatToDo(file.kind));
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(StrCat(path, ": cannot be read"));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

absl::StatusOr<std::shared_ptr<Credentials>> FromFile(const std::string& path, const std::string& text,
                                                      const std::string& quota_project) {
  absl::StatusOr<CredentialsFile> file = formats::ReadCredentialsJson(text, path);
  if (!file.ok()) return file.status();
  absl::StatusOr<Url> url = TokenUrl(*file, path);
  if (!url.ok()) return url.status();
  std::string description = file->kind == CredentialsFile::Kind::kServiceAccount
                                ? StrCat("service account ", file->client_email, " (", path, ")")
                                : StrCat("user credentials (", path, ")");
  std::string quota = quota_project.empty() ? file->quota_project : quota_project;
  return std::make_shared<Credentials>(
      description, std::move(quota),
      [file = *std::move(file), url = *std::move(url), description] { return FetchFor(file, url, description); });
}

absl::StatusOr<AccessToken> FetchFromMetadataServer(const std::string& host, bool named) {
  const absl::StatusOr<HttpResponse> response = AskMetadataServer(host, kMetadataToken);
  const bool google = response.ok() && response->Header("Metadata-Flavor") == "Google";
  if (!google && !named) {
    return absl::UnauthenticatedError(
        StrCat("no Google Cloud credentials found: GOOGLE_APPLICATION_CREDENTIALS is not set, gcloud has no "
               "application_default_credentials.json, and no metadata server answers. Run: ",
               kLogin));
  }
  if (response.ok() && !google) {
    return absl::UnauthenticatedError(
        StrCat("GCE_METADATA_HOST ", host, ": what answers there is no metadata server (Metadata-Flavor is missing)"));
  }
  if (response.ok() && response->status == 404) {
    return absl::UnauthenticatedError(
        StrCat("the metadata server ", host, " has no service account for this machine: attach one to it"));
  }
  return ReadAnswer(response, StrCat("service account of the metadata server ", host),
                    "may this machine's service account be used, and has it the scope cloud-platform?");
}

std::string WellKnownFile(const Credentials::Environment& environment) {
  constexpr char kName[] = "application_default_credentials.json";
  if (const std::string folder = environment("CLOUDSDK_CONFIG"); !folder.empty()) return StrCat(folder, "/", kName);
  const std::string home = environment("HOME");
  return home.empty() ? std::string() : StrCat(home, "/.config/gcloud/", kName);
}

}  // namespace

absl::StatusOr<std::shared_ptr<Credentials>> Credentials::Default(const Environment& environment) {
  const std::string quota_project = environment("GOOGLE_CLOUD_QUOTA_PROJECT");
  if (const std::string path = environment("GOOGLE_APPLICATION_CREDENTIALS"); !path.empty()) {
    const absl::StatusOr<std::string> text = ReadFile(path);
    if (!text.ok()) {
      return absl::UnauthenticatedError(StrCat("GOOGLE_APPLICATION_CREDENTIALS: ", MessageOf(text.status()),
                                               "; set it to a credentials file, or unset it and run: ", kLogin));
    }
    return FromFile(path, *text, quota_project);
  }
  if (const std::string path = WellKnownFile(environment); !path.empty()) {
    if (const absl::StatusOr<std::string> text = ReadFile(path); text.ok()) {
      return FromFile(path, *text, quota_project);
    }
  }
  const bool named = !environment("GCE_METADATA_HOST").empty();
  const std::string host = MetadataHost(environment);
  return std::make_shared<Credentials>(StrCat("service account of the metadata server ", host), quota_project,
                                       [host, named] { return FetchFromMetadataServer(host, named); });
}

}  // namespace hopgap::remote
