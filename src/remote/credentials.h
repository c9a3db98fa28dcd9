#pragma once

#include <absl/status/statusor.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/time.h"

namespace hopgap::remote {

struct AccessToken {
  std::string text;
  Duration lifetime{0};  // from when it was fetched
};

// How long after it was fetched a token is renewed: five minutes before its end,
// or a quarter of its life if that is less.
Duration RenewAfter(Duration lifetime);

// Google Cloud's application default credentials: who we are, and a token that
// says so and is valid.
//
// A thread of its own fetches the token and renews it in good time; Token()
// only copies what is there, so it may stand on a measuring thread. A renewal
// that fails is tried again, with backoff, while the old token is used to its end.
//
// Thread-safe, but the destructor is for one thread; it waits for a fetch under
// way (15 s at most).
class Credentials {
 public:
  using Fetch = std::function<absl::StatusOr<AccessToken>()>;  // called on the thread
  using Environment = std::function<std::string(const char* name)>;

  // `quota_project` may be empty.
  Credentials(std::string description, std::string quota_project, Fetch fetch);
  ~Credentials();
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;

  // In Google's order: the file of GOOGLE_APPLICATION_CREDENTIALS; gcloud's
  // well-known file; the metadata server (GCE_METADATA_HOST or the usual
  // address). Unauthenticated or InvalidArgument name the file, what is wrong
  // with it, and what to do; whether the credentials are good is only known
  // from WaitForToken(). Shared: channels use them as long as they live.
  static absl::StatusOr<std::shared_ptr<Credentials>> Default(const Environment& environment = ProcessEnvironment);
  static std::string ProcessEnvironment(const char* name);

  // The first token, or why there is none: at once if the credentials are
  // refused (Unauthenticated), after `timeout` if the token endpoint does not
  // answer (Unavailable).
  absl::StatusOr<std::string> WaitForToken(Duration timeout);
  // The token, without waiting. Unauthenticated if it has expired and could not
  // be renewed; the message says why.
  absl::StatusOr<std::string> Token() const;

  // "service account a@b (from FILE)".
  const std::string& description() const { return description_; }
  const std::string& quota_project() const { return quota_project_; }

 private:
  void Loop();
  Duration Keep(absl::StatusOr<AccessToken> fetched);
  absl::StatusOr<std::string> TokenLocked() const;

  const std::string description_, quota_project_;
  const Fetch fetch_;
  mutable std::mutex mu_;
  std::condition_variable changed_;
  // Guarded.
  std::string token_;
  Instant token_end_{};
  absl::Status failure_ = absl::UnavailableError("no token was fetched yet");
  int failures_ = 0;  // in a row
  bool stop_ = false;
  std::thread thread_;  // last: uses all of the above
};

}  // namespace hopgap::remote
