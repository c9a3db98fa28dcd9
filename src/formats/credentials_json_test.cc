#include "formats/credentials_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace hopgap::formats {
namespace {

using ::testing::HasSubstr;

constexpr char kServiceAccount[] = R"({"type": "service_account", "project_id": "p", "private_key_id": "k1",
  "private_key": "PEM", "client_email": "a@p.iam", "token_uri": "https://t/token", "universe_domain": "x"})";

TEST(ReadCredentialsJsonTest, ReadsAServiceAccount) {
  const absl::StatusOr<CredentialsFile> file = ReadCredentialsJson(kServiceAccount, "f.json");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->kind, CredentialsFile::Kind::kServiceAccount);
  EXPECT_EQ(file->client_email, "a@p.iam");
  EXPECT_EQ(file->private_key, "PEM");
  EXPECT_EQ(file->token_uri, "https://t/token");
}

TEST(ReadCredentialsJsonTest, AUserNeedsNoTokenUri) {
  const absl::StatusOr<CredentialsFile> file = ReadCredentialsJson(
      R"({"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "r",
          "quota_project_id": "q"})",
      "f.json");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->kind, CredentialsFile::Kind::kAuthorizedUser);
  EXPECT_EQ(file->refresh_token, "r");
  EXPECT_EQ(file->quota_project, "q");
  EXPECT_EQ(file->token_uri, "https://oauth2.googleapis.com/token");
}

TEST(ReadCredentialsJsonTest, RefusalsNameFileAndReason) {
  struct Case {
    const char* text;
    const char* why;
  };
  for (const Case& c :
       {Case{"", "is no JSON object"}, Case{"[1]", "is no JSON object"}, Case{"{}", "has no \"type\""},
        Case{R"({"type": "external_account"})", "(workload identity federation) is not supported"},
        Case{R"({"type": "impersonated_service_account"})", "\"impersonated_service_account\" is not supported"},
        Case{R"({"type": "service_account", "client_email": "a", "token_uri": "t"})", "\"private_key\" is missing"},
        Case{R"({"type": "authorized_user", "client_id": 5})", "\"client_id\" is missing or no text"}}) {
    SCOPED_TRACE(c.text);
    const absl::StatusOr<CredentialsFile> file = ReadCredentialsJson(c.text, "f.json");
    ASSERT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(MessageOf(file.status())), HasSubstr("f.json: "));
    EXPECT_THAT(std::string(MessageOf(file.status())), HasSubstr(c.why));
  }
}

TEST(ReadTokenJsonTest, IsATokenOrAnErrorOrNeither) {
  const absl::StatusOr<TokenAnswer> token = ReadTokenJson(R"({"access_token": "t", "expires_in": 3599})");
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_EQ(token->access_token, "t");
  EXPECT_EQ(token->expires_in_s, 3599);
  const absl::StatusOr<TokenAnswer> error =
      ReadTokenJson(R"({"error": "invalid_grant", "error_description": "Bad Request"})");
  ASSERT_TRUE(error.ok()) << error.status();
  EXPECT_EQ(error->error, "invalid_grant");
  EXPECT_EQ(error->error_description, "Bad Request");
  for (const char* text : {"", "<html>", "{}", R"({"access_token": "t"})", R"({"access_token": "t", "expires_in": 0})",
                           R"({"access_token": "t", "expires_in": "60"})"}) {
    EXPECT_FALSE(ReadTokenJson(text).ok()) << text;
  }
}

TEST(ServiceAccountClaimsTest, AreWhatGoogleAsksFor) {
  const CredentialsFile file = *ReadCredentialsJson(kServiceAccount, "f.json");
  EXPECT_EQ(ServiceAccountHeader("k1"), R"({"alg":"RS256","typ":"JWT","kid":"k1"})");
  EXPECT_EQ(ServiceAccountHeader(""), R"({"alg":"RS256","typ":"JWT"})");
  EXPECT_EQ(ServiceAccountClaims(file, "s", 10, 20),
            R"({"iss":"a@p.iam","scope":"s","aud":"https://t/token","iat":10,"exp":20})");
}

}  // namespace
}  // namespace hopgap::formats
