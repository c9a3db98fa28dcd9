#include "remote/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "base/text.h"
#include "remote/jwt.h"
#include "remote/metadata_server.h"
#include "server/http_server.h"

namespace hopgap::remote {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

constexpr Duration kLong = 10s;

struct KeyPair {
  EVP_PKEY* key = EVP_RSA_gen(2048);
  ~KeyPair() { EVP_PKEY_free(key); }
  std::string Pem() const {
    BIO* bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    std::string pem(data, static_cast<size_t>(size));
    BIO_free(bio);
    return pem;
  }
  bool Verifies(const std::string& text, const std::string& signature) const {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    EVP_DigestVerifyInit(context, nullptr, EVP_sha256(), nullptr, key);
    const int ok = EVP_DigestVerify(context, reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                                    reinterpret_cast<const unsigned char*>(text.data()), text.size());
    EVP_MD_CTX_free(context);
    return ok == 1;
  }
};

std::string Base64UrlDecoded(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string bytes;
  uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    group = group << 6 | static_cast<uint32_t>(kDigits.find(c));
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 255);
  }
  return bytes;
}

TEST(JwtTest, Base64UrlHasItsOwnDigitsAndNoPadding) {
  EXPECT_EQ(Base64Url(""), "");
  EXPECT_EQ(Base64Url("f"), "Zg");
  EXPECT_EQ(Base64Url("fo"), "Zm8");
  EXPECT_EQ(Base64Url("foo"), "Zm9v");
  EXPECT_EQ(Base64Url("\xfb\xff\xfe"), "-__-");
}

TEST(JwtTest, TheSignatureIsThatOfTheKey) {
  const KeyPair pair, other;
  const absl::StatusOr<std::string> jwt = SignJwt("{\"alg\":\"RS256\"}", "{}", pair.Pem());
  ASSERT_TRUE(jwt.ok()) << jwt.status();
  const std::vector<std::string_view> parts = Split(*jwt, '.');
  ASSERT_EQ(parts.size(), 3u);
  const std::string text = StrCat(parts[0], ".", parts[1]);
  EXPECT_EQ(Base64UrlDecoded(parts[1]), "{}");
  EXPECT_TRUE(pair.Verifies(text, Base64UrlDecoded(parts[2])));
  EXPECT_FALSE(other.Verifies(text, Base64UrlDecoded(parts[2])));
}

TEST(JwtTest, WhatIsNoKeyIsRefused) {
  EXPECT_EQ(SignJwt("{}", "{}", "nonsense").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(RenewAfterTest, IsInGoodTimeForLongAndShortLives) {
  EXPECT_EQ(RenewAfter(1h), 55min);
  EXPECT_EQ(RenewAfter(20min), 15min);
  EXPECT_EQ(RenewAfter(4s), 3s);
  EXPECT_EQ(RenewAfter(0s), 0s);
}

TEST(CredentialsTest, ARefusalEndsTheWaitAtOnceAndANetworkFailureDoesNot) {
  Credentials refused("user", "", [] { return absl::UnauthenticatedError("refused"); });
  EXPECT_EQ(refused.WaitForToken(kLong).status().code(), absl::StatusCode::kUnauthenticated);
  int calls = 0;  // of the thread that fetches
  Credentials late("user", "", [&calls]() -> absl::StatusOr<AccessToken> {
    if (++calls == 1) return absl::UnavailableError("no answer");
    return AccessToken{"second", 1h};
  });
  EXPECT_EQ(*late.WaitForToken(kLong), "second");
}

TEST(CredentialsTest, ATokenIsRenewedBeforeItsEndAndUsedToItWhenThatFails) {
  std::mutex mu;
  std::vector<std::string> fetched;
  Credentials renewed("user", "", [&]() -> absl::StatusOr<AccessToken> {
    std::lock_guard lock(mu);
    fetched.push_back(StrCat("t", fetched.size()));
    return AccessToken{fetched.back(), fetched.size() == 1 ? Duration{1ms} : Duration{1h}};
  });
  ASSERT_TRUE(renewed.WaitForToken(kLong).ok());
  while (renewed.Token().value_or("") != "t1") std::this_thread::yield();

  int calls = 0;
  Credentials failing("user", "", [&calls]() -> absl::StatusOr<AccessToken> {
    if (++calls == 1) return AccessToken{"only", 1ms};
    return absl::UnavailableError("the endpoint is down");
  });
  while (failing.Token().status().code() != absl::StatusCode::kUnauthenticated) std::this_thread::yield();
  EXPECT_THAT(std::string(MessageOf(failing.Token().status())), HasSubstr("the access token of the user has expired"));
}

// Files and endpoints as Google's tools make them.
class DefaultCredentialsTest : public ::testing::Test {
 protected:
  DefaultCredentialsTest() {
    fs::create_directories(folder_ / "gcloud");
    Reply(200, R"({"access_token": "token-1", "expires_in": 3600, "token_type": "Bearer"})");
    auto started = server::HttpServer::Start({}, [this](const server::HttpCall& call) { return Answer(call); });
    EXPECT_TRUE(started.ok()) << started.status();
    endpoint_ = *std::move(started);
  }
  ~DefaultCredentialsTest() override {
    endpoint_->Stop();
    fs::remove_all(folder_);
  }

  server::HttpReply Answer(const server::HttpCall& call) {
    std::lock_guard lock(mu_);
    calls_.push_back(call);
    return reply_;
  }
  void Reply(int status, std::string body, bool metadata = false) {
    std::lock_guard lock(mu_);
    reply_ = server::HttpReply();
    reply_.status = status;
    reply_.body = std::move(body);
    if (metadata) reply_.headers = {{"Metadata-Flavor", "Google"}};
  }
  server::HttpCall FirstCall() {
    std::lock_guard lock(mu_);
    return calls_.empty() ? server::HttpCall{} : calls_.front();
  }
  std::string Url() const { return StrCat("http://127.0.0.1:", endpoint_->port(), "/token"); }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  std::string ServiceAccount(const std::string& pem) const {
    std::string escaped;
    for (const char c : pem) escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
    return StrCat(R"({"type": "service_account", "client_email": "a@p.iam", "private_key_id": "k1", "private_key": ")",
                  escaped, R"(", "token_uri": ")", Url(), "\"}");
  }
  std::string User() const {
    return StrCat(R"({"type": "authorized_user", "client_id": "i d", "client_secret": "s&1", "refresh_token": "r/1",)",
                  R"( "quota_project_id": "q", "token_uri": ")", Url(), "\"}");
  }
  absl::StatusOr<std::shared_ptr<Credentials>> Find() {
    return Credentials::Default([this](const char* name) { return environment_[name]; });
  }
  absl::StatusOr<std::string> FindToken() {
    absl::StatusOr<std::shared_ptr<Credentials>> found = Find();
    if (!found.ok()) return found.status();
    return (*found)->WaitForToken(kLong);
  }
  void ExpectRefusal(const std::string& text) {
    const absl::StatusOr<std::string> token = FindToken();
    ASSERT_FALSE(token.ok());
    EXPECT_EQ(token.status().code(), absl::StatusCode::kUnauthenticated);
    EXPECT_THAT(std::string(MessageOf(token.status())), HasSubstr(text));
  }

  const fs::path folder_ = fs::temp_directory_path() / ("hopgap-credentials-" + std::to_string(getpid()));
  std::unique_ptr<server::HttpServer> endpoint_;
  std::map<std::string, std::string> environment_;
  std::mutex mu_;
  std::vector<server::HttpCall> calls_;
  server::HttpReply reply_;
};

TEST_F(DefaultCredentialsTest, AServiceAccountSignsForItsToken) {
  const KeyPair pair;
  environment_["GOOGLE_APPLICATION_CREDENTIALS"] = Write("a.json", ServiceAccount(pair.Pem()));
  environment_["GCE_METADATA_HOST"] = "127.0.0.1:1";  // not asked
  absl::StatusOr<std::string> token = FindToken();
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_EQ(*token, "token-1");
  const server::HttpCall call = FirstCall();
  EXPECT_EQ(call.method, "POST");
  EXPECT_EQ(call.Header("Content-Type"), "application/x-www-form-urlencoded");
  const std::string start = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
  ASSERT_THAT(call.body, StartsWith(start));
  const std::string jwt = call.body.substr(start.size());
  const std::vector<std::string_view> parts = Split(jwt, '.');
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_TRUE(pair.Verifies(StrCat(parts[0], ".", parts[1]), Base64UrlDecoded(parts[2])));
  EXPECT_EQ(Base64UrlDecoded(parts[0]), R"({"alg":"RS256","typ":"JWT","kid":"k1"})");
  EXPECT_THAT(Base64UrlDecoded(parts[1]),
              StartsWith(StrCat(R"({"iss":"a@p.iam","scope":")", "https://www.googleapis.com/auth/cloud-platform",
                                R"(","aud":")", Url(), R"(","iat":)")));
}

TEST_F(DefaultCredentialsTest, AUserOfTheWellKnownFileRefreshes) {
  environment_["CLOUDSDK_CONFIG"] = (folder_ / "gcloud").string();
  Write("gcloud/application_default_credentials.json", User());
  absl::StatusOr<std::shared_ptr<Credentials>> found = Find();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)->WaitForToken(kLong).value_or(""), "token-1");
  EXPECT_EQ((*found)->quota_project(), "q");
  EXPECT_EQ(FirstCall().body, "grant_type=refresh_token&client_id=i%20d&client_secret=s%261&refresh_token=r%2F1");
}

TEST_F(DefaultCredentialsTest, TheMetadataServerIsAskedLast) {
  environment_["HOME"] = folder_.string();  // without a file of gcloud's
  environment_["GCE_METADATA_HOST"] = StrCat("127.0.0.1:", endpoint_->port());
  Reply(200, R"({"access_token": "token-2", "expires_in": 3600})", true);
  EXPECT_EQ(FindToken().value_or(""), "token-2");
  EXPECT_EQ(FirstCall().path, "/computeMetadata/v1/instance/service-accounts/default/token");
  EXPECT_EQ(FirstCall().Header("Metadata-Flavor"), "Google");
}

TEST_F(DefaultCredentialsTest, TheMetadataServerKnowsTheRegion) {
  environment_["GCE_METADATA_HOST"] = StrCat("127.0.0.1:", endpoint_->port());
  const auto region = [this] { return MachineRegion([this](const char* name) { return environment_[name]; }); };
  Reply(200, "projects/123/zones/europe-west1-b", true);
  EXPECT_EQ(region().value_or(""), "europe-west1");
  Reply(200, "projects/123/zones/europe-west1-b", false);
  EXPECT_FALSE(region().ok());
  Reply(404, "", true);
  EXPECT_FALSE(region().ok());
}

TEST_F(DefaultCredentialsTest, WhatIsNoMetadataServerIsNotBelieved) {
  environment_["GCE_METADATA_HOST"] = StrCat("127.0.0.1:", endpoint_->port());
  ExpectRefusal("is no metadata server");
  Reply(404, "", true);
  ExpectRefusal("has no service account for this machine");
}

TEST_F(DefaultCredentialsTest, RefusalsSayWhatToDo) {
  environment_["GOOGLE_APPLICATION_CREDENTIALS"] = Write("a.json", User());
  Reply(400, R"({"error": "invalid_grant", "error_description": "Token has been expired or revoked."})");
  ExpectRefusal(
      "was refused (invalid_grant: Token has been expired or revoked.): log in again: "
      "gcloud auth application-default login");
  environment_["GOOGLE_APPLICATION_CREDENTIALS"] = Write("b.json", ServiceAccount(KeyPair().Pem()));
  ExpectRefusal("the clock of this machine right?");
  environment_["GOOGLE_APPLICATION_CREDENTIALS"] = (folder_ / "none.json").string();
  ExpectRefusal("none.json: cannot be read; set it to a credentials file, or unset it and run: gcloud auth");
}

TEST_F(DefaultCredentialsTest, AnEndpointThatIsDownIsUnavailableAndNotARefusal) {
  environment_["GOOGLE_APPLICATION_CREDENTIALS"] = Write("a.json", User());
  Reply(503, "busy");
  absl::StatusOr<std::shared_ptr<Credentials>> found = Find();
  ASSERT_TRUE(found.ok()) << found.status();
  const absl::Status status = (*found)->WaitForToken(100ms).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(DefaultCredentialsTest, ASecretNeverLeavesTheMachineInTheClear) {
  const std::string file = Write("a.json", R"({"type": "authorized_user", "client_id": "i", "client_secret": "s",
      "refresh_token": "r", "token_uri": "http://token.example.com/token"})");
  environment_["GOOGLE_APPLICATION_CREDENTIALS"] = file;
  const absl::Status status = Find().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(MessageOf(status)), HasSubstr("is not https"));
}

}  // namespace
}  // namespace hopgap::remote
