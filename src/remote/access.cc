#include "remote/access.h"

#include <map>

#include "base/text.h"

namespace hopgap::remote {
namespace {

// gRPC would run a blocking one on a thread of its own, once a call.
class HeaderPlugin final : public grpc::MetadataCredentialsPlugin {
 public:
  explicit HeaderPlugin(std::shared_ptr<const Access> access) : access_(std::move(access)) {}

  bool IsBlocking() const override { return false; }
  const char* GetType() const override { return "hopgap"; }
  grpc::string DebugString() override { return "hopgap's bearer token"; }  // never the token
  grpc::Status GetMetadata(grpc::string_ref, grpc::string_ref, const grpc::AuthContext&,
                           std::multimap<grpc::string, grpc::string>* metadata) override {
    const auto headers = access_->Headers();
    if (!headers.ok()) {
      return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, std::string(MessageOf(headers.status())));
    }
    metadata->insert(headers->begin(), headers->end());
    return grpc::Status::OK;
  }

 private:
  const std::shared_ptr<const Access> access_;
};

}  // namespace

Access::Access(Certificates certificates, std::shared_ptr<Credentials> credentials, std::string fixed_token)
    : certificates_(std::move(certificates)),
      credentials_(std::move(credentials)),
      fixed_token_(std::move(fixed_token)) {}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> Access::Headers() const {
  std::vector<std::pair<std::string, std::string>> headers;
  if (credentials_) {
    absl::StatusOr<std::string> token = credentials_->Token();
    if (!token.ok()) return token.status();
    headers.emplace_back("authorization", StrCat("Bearer ", *token));
    if (!credentials_->quota_project().empty()) {
      headers.emplace_back("x-goog-user-project", credentials_->quota_project());
    }
  } else if (!fixed_token_.empty()) {
    headers.emplace_back("authorization", StrCat("Bearer ", fixed_token_));
  }
  return headers;
}

std::string Access::Describe() const {
  if (credentials_) return credentials_->description();
  return fixed_token_.empty() ? "" : "a token from --token-file";
}

std::shared_ptr<grpc::ChannelCredentials> Access::ForChannel(const std::shared_ptr<const Access>& access) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = access->certificates_.roots;
  options.pem_cert_chain = access->certificates_.certificate;
  options.pem_private_key = access->certificates_.key;
  const std::shared_ptr<grpc::ChannelCredentials> channel = grpc::SslCredentials(options);
  if (!access->credentials_ && access->fixed_token_.empty()) return channel;
  return grpc::CompositeChannelCredentials(channel,
                                           grpc::MetadataCredentialsFromPlugin(std::make_unique<HeaderPlugin>(access)));
}

}  // namespace hopgap::remote
