#include "cli/target_flags.h"

#include <CLI/CLI.hpp>

namespace hopgap::cli {

TargetFlags::TargetFlags(CLI::App& app, const std::string& group)
    : settings_(std::make_shared<remote::TargetSettings>()) {
  const auto add = [&](const char* flag, const char* variable, std::string& value, const char* help) {
    app.add_option(flag, value, help)->group(group)->envname(variable);
  };
  add("--endpoint", "HOPGAP_ENDPOINT", settings_->endpoint,
      "for gcp:PROJECT: HOST[:PORT], best the regional one, such as europe-west1-pubsub.googleapis.com");
  add("--ca-file", "HOPGAP_CA_FILE", settings_->ca_file, "certificates to trust instead of the system's (PEM)");
  add("--client-cert", "HOPGAP_CLIENT_CERT", settings_->certificate_file, "certificate to show to the target (PEM)");
  add("--client-key", "HOPGAP_CLIENT_KEY", settings_->key_file, "its key (PEM, not encrypted)");
  add("--token-file", "HOPGAP_TOKEN_FILE", settings_->token_file,
      "file with the token of hopgap serve --auth-token-file, for tls:HOST:PORT");
}

absl::StatusOr<remote::Target> TargetFlags::Parse(const std::string& text) const {
  return remote::ParseTarget(text, *settings_);
}

bool TargetFlags::given() const {
  return !(settings_->endpoint + settings_->ca_file + settings_->certificate_file + settings_->key_file +
           settings_->token_file)
              .empty();
}

}  // namespace hopgap::cli
