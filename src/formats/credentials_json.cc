#include "formats/credentials_json.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace hopgap::formats {
namespace {

using Json = nlohmann::ordered_json;  // one kind in the whole room

constexpr char kUserTokenUri[] = "https://oauth2.googleapis.com/token";

std::string FieldText(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

absl::Status Bad(std::string_view where, std::string_view why) {
  return absl::InvalidArgumentError(StrCat(where, ": ", why));
}

absl::Status Unsupported(std::string_view where, std::string_view type) {
  if (type.empty()) return Bad(where, "has no \"type\": is it a Google Cloud credentials file?");
  if (type == "external_account" || type == "external_account_authorized_user") {
    return Bad(where, StrCat("\"type\": \"", type,
                             "\" (workload identity federation) is not supported: use a service account's key, "
                             "gcloud auth application-default login, or the metadata server"));
  }
  return Bad(where,
             StrCat("\"type\": \"", type, "\" is not supported; supported are service_account and authorized_user"));
}

// The first of the fields that is missing, if any.
absl::Status AllThere(std::string_view where,
                      std::initializer_list<std::pair<const char*, const std::string*>> fields) {
  for (const auto& [name, value] : fields) {
    if (value->empty()) return Bad(where, StrCat("\"", name, "\" is missing or no text: make the file anew"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CredentialsFile> ReadCredentialsJson(std::string_view text, std::string_view where) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Bad(where, "is no JSON object: is it a Google Cloud credentials file?");
  CredentialsFile file;
  const std::string type = FieldText(json, "type");
  file.token_uri = FieldText(json, "token_uri");
  file.quota_project = FieldText(json, "quota_project_id");
  absl::Status status;
  if (type == "service_account") {
    file.client_email = FieldText(json, "client_email");
    file.private_key = FieldText(json, "private_key");
    file.private_key_id = FieldText(json, "private_key_id");
    status = AllThere(
        where,
        {{"client_email", &file.client_email}, {"private_key", &file.private_key}, {"token_uri", &file.token_uri}});
  } else if (type == "authorized_user") {
    file.kind = CredentialsFile::Kind::kAuthorizedUser;
    file.client_id = FieldText(json, "client_id");
    file.client_secret = FieldText(json, "client_secret");
    file.refresh_token = FieldText(json, "refresh_token");
    if (file.token_uri.empty()) file.token_uri = kUserTokenUri;
    status = AllThere(where, {{"client_id", &file.client_id},
                              {"client_secret", &file.client_secret},
                              {"refresh_token", &file.refresh_token}});
  } else {
    status = Unsupported(where, type);
  }
  if (!status.ok()) return status;
  return file;
}

absl::StatusOr<TokenAnswer> ReadTokenJson(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  TokenAnswer answer;
  if (json.is_object()) {
    answer.access_token = FieldText(json, "access_token");
    answer.error = FieldText(json, "error");
    answer.error_description = FieldText(json, "error_description");
    const auto lifetime = json.find("expires_in");
    if (lifetime != json.end() && lifetime->is_number_integer()) answer.expires_in_s = lifetime->get<int64_t>();
  }
  if (!answer.access_token.empty() && answer.expires_in_s <= 0) {
    return absl::InvalidArgumentError("an access token without a lifetime (expires_in)");
  }
  if (answer.access_token.empty() && answer.error.empty()) {
    return absl::InvalidArgumentError("an answer that is neither a token nor an error");
  }
  return answer;
}

std::string ServiceAccountHeader(std::string_view private_key_id) {
  nlohmann::ordered_json json = {{"alg", "RS256"}, {"typ", "JWT"}};
  if (!private_key_id.empty()) json["kid"] = private_key_id;
  return json.dump();
}

std::string ServiceAccountClaims(const CredentialsFile& file, std::string_view scope, int64_t issued_at_s,
                                 int64_t expires_at_s) {
  return nlohmann::ordered_json{{"iss", file.client_email},
                                {"scope", scope},
                                {"aud", file.token_uri},
                                {"iat", issued_at_s},
                                {"exp", expires_at_s}}
      .dump();
}

}  // namespace hopgap::formats
