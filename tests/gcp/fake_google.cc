#include "gcp/fake_google.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/system_clock.h"
#include "base/text.h"
#include "pubsub/api.h"
#include "remote/remote.h"

namespace hopgap::tests {
namespace {

std::string Pem(const std::function<void(BIO*)>& write) {
  BIO* bio = BIO_new(BIO_s_mem());
  write(bio);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

void AddExtension(X509* certificate, int which, const char* value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, which, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

}  // namespace

Folder::Folder()
    : path_(std::filesystem::temp_directory_path() / StrCat("hopgap-gcp-", getpid(), "-", ToNanos(SteadyNow()))) {
  std::filesystem::create_directories(path_);
}
Folder::~Folder() { std::filesystem::remove_all(path_); }

std::string Folder::Write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name) << text;
  return path(name);
}

std::string Folder::Read(const std::string& name) const {
  std::ostringstream text;
  text << std::ifstream(path_ / name).rdbuf();
  return text.str();
}

Certificate Certificate::Make(const std::string& name) {
  EVP_PKEY* key = EVP_RSA_gen(2048);
  X509* x509 = X509_new();
  X509_set_version(x509, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
  X509_gmtime_adj(X509_getm_notBefore(x509), -3'600);
  X509_gmtime_adj(X509_getm_notAfter(x509), 86'400);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(x509, X509_get_subject_name(x509));
  X509_set_pubkey(x509, key);
  AddExtension(x509, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
  AddExtension(x509, NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(x509, key, EVP_sha256());
  Certificate made;
  made.certificate = Pem([&](BIO* bio) { PEM_write_bio_X509(bio, x509); });
  made.key = Pem([&](BIO* bio) { PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr); });
  X509_free(x509);
  EVP_PKEY_free(key);
  return made;
}

FakeGoogle::FakeGoogle() {
  const Certificate certificate = Certificate::Make("fake service");
  folder_.Write("ca.pem", certificate.certificate);
  folder_.Write("admin", kAdmin);
  auto tokens = server::HttpServer::Start({}, [this](const server::HttpCall& call) { return GiveToken(call); });
  EXPECT_TRUE(tokens.ok()) << tokens.status();
  tokens_ = *std::move(tokens);
  server::GrpcServer::Options options;
  options.tls = server::GrpcServer::Tls{certificate.certificate, certificate.key, ""};
  options.admission = [this](std::string_view path, std::string_view header) { return Admit(path, header); };
  options.broker.anchor = ReadAnchor();
  auto broker = server::GrpcServer::Start(std::move(options), journal_, sink_, timer_);
  EXPECT_TRUE(broker.ok()) << broker.status();
  broker_ = *std::move(broker);
}

FakeGoogle::~FakeGoogle() {
  broker_->Stop();
  tokens_->Stop();
  timer_.Stop();
}

server::HttpReply FakeGoogle::GiveToken(const server::HttpCall&) {
  std::lock_guard lock(mu_);
  server::HttpReply reply;
  reply.headers = {{"Metadata-Flavor", "Google"}};
  if (refuse_) {
    reply.status = 400;
    reply.body = R"({"error": "invalid_grant", "error_description": "Token has been expired or revoked."})";
    return reply;
  }
  const std::string token = StrCat("token-", ends_.size());
  ends_[token] = SteadyNow() + lifetime_;
  const int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(lifetime_).count();
  reply.body = StrCat(R"({"access_token": ")", token, R"(", "expires_in": )", seconds, R"(, "token_type": "Bearer"})");
  return reply;
}

absl::Status FakeGoogle::Admit(std::string_view path, std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string token(authorization.substr(std::min(kScheme.size(), authorization.size())));
  if (token == kAdmin) return absl::OkStatus();
  const std::string method(path.substr(path.rfind('/') + 1));
  std::lock_guard lock(mu_);
  const int before = calls_[method]++;
  if (const auto when = when_.find({method, before + 1}); when != when_.end()) when->second();
  const auto found = ends_.find(token);
  if (reject_ || found == ends_.end() || found->second <= SteadyNow()) {
    return absl::UnauthenticatedError("Request had invalid authentication credentials.");
  }
  const auto limit = limits_.find(method);
  if (limit != limits_.end() && before >= limit->second) {
    return absl::ResourceExhaustedError("Insufficient tokens for quota 'requests' and limit 'per minute'.");
  }
  return absl::OkStatus();
}

void FakeGoogle::TokensLive(Duration lifetime) {
  std::lock_guard lock(mu_);
  lifetime_ = lifetime;
}
void FakeGoogle::RefuseTokens() {
  std::lock_guard lock(mu_);
  refuse_ = true;
}
void FakeGoogle::LimitCalls(const std::string& method, int served) {
  std::lock_guard lock(mu_);
  limits_[method] = served;
}
void FakeGoogle::When(const std::string& method, int nth, std::function<void()> what) {
  std::lock_guard lock(mu_);
  when_[{method, nth}] = std::move(what);
}
void FakeGoogle::RejectGivenTokens() {
  std::lock_guard lock(mu_);
  reject_ = true;
}
int FakeGoogle::tokens_given() const {
  std::lock_guard lock(mu_);
  return static_cast<int>(ends_.size());
}
int FakeGoogle::calls(const std::string& method) const {
  std::lock_guard lock(mu_);
  const auto found = calls_.find(method);
  return found == calls_.end() ? 0 : found->second;
}

std::vector<std::string> FakeGoogle::ResourcesLeft() {
  remote::Remote remote;
  remote::Target target = *remote::ParseTarget(
      StrCat("tls:", broker_->target()), {.ca_file = folder_.path("ca.pem"), .token_file = folder_.path("admin")});
  EXPECT_TRUE(remote::Authorize(target).ok());
  const auto connection = remote.Connect(target);
  std::vector<std::string> names;
  const pubsub::Bytes project = pubsub::Encode(pubsub::NameRequest{"projects/my-project"});
  for (const pubsub::Method method : {pubsub::Method::kListTopics, pubsub::Method::kListSubscriptions}) {
    const absl::StatusOr<pubsub::Bytes> answer = connection->CallAndWait(method, {project}, std::chrono::seconds{5});
    EXPECT_TRUE(answer.ok()) << answer.status();
    // Not decoded: it is empty, or it names what is left.
    if (answer.ok() && !answer->view().empty()) names.emplace_back(answer->view());
  }
  return names;
}

std::vector<std::string> FakeGoogle::Environment(const std::string& credentials) const {
  std::vector<std::string> variables = {
      StrCat("HOME=", folder_.path()),
      "CLOUDSDK_CONFIG=", "GOOGLE_CLOUD_QUOTA_PROJECT=", StrCat("GCE_METADATA_HOST=127.0.0.1:", tokens_->port()),
      StrCat("GOOGLE_APPLICATION_CREDENTIALS=", credentials)};
  return variables;
}

std::vector<std::string> FakeGoogle::TargetFlags() const {
  return {"--target", "gcp:my-project", "--endpoint", broker_->target(), "--ca-file", folder_.path("ca.pem")};
}

std::string FakeGoogle::UserFile() const {
  return folder_.Write(
      "user.json", StrCat(R"({"type": "authorized_user", "client_id": "i", "client_secret": "s",)",
                          R"( "refresh_token": "r", "token_uri": "http://127.0.0.1:)", tokens_->port(), "/token\"}"));
}

}  // namespace hopgap::tests
