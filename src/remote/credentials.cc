#include "remote/credentials.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/system_clock.h"
#include "base/text.h"

namespace hopgap::remote {
namespace {

constexpr Duration kRenewBefore = std::chrono::minutes{5};
constexpr Duration kRetryFirst = std::chrono::seconds{1};
constexpr Duration kRetryMost = std::chrono::seconds{30};

// Waiting longer does not make them good.
bool Final(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnauthenticated || status.code() == absl::StatusCode::kInvalidArgument;
}

}  // namespace

Duration RenewAfter(Duration lifetime) { return lifetime - std::min(kRenewBefore, lifetime / 4); }

Credentials::Credentials(std::string description, std::string quota_project, Fetch fetch)
    : description_(std::move(description)),
      quota_project_(std::move(quota_project)),
      fetch_(std::move(fetch)),
      thread_([this] { Loop(); }) {}

Credentials::~Credentials() {
  {
    std::lock_guard lock(mu_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::string Credentials::ProcessEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// Stops when the destructor says so, after the fetch under way.
void Credentials::Loop() {
  std::unique_lock lock(mu_);
  while (!stop_) {
    lock.unlock();
    absl::StatusOr<AccessToken> fetched = fetch_();
    lock.lock();
    const Duration pause = Keep(std::move(fetched));
    changed_.notify_all();
    changed_.wait_for(lock, pause, [this] { return stop_; });
  }
}

// With mu_ held. How long to wait for the next fetch.
Duration Credentials::Keep(absl::StatusOr<AccessToken> fetched) {
  if (!fetched.ok()) {
    failure_ = fetched.status();
    failures_ = std::min(failures_ + 1, 10);
    return std::min(kRetryMost, kRetryFirst * (1 << (failures_ - 1)));
  }
  failures_ = 0;
  token_ = std::move(fetched->text);
  token_end_ = SteadyNow() + fetched->lifetime;
  return RenewAfter(fetched->lifetime);
}

absl::StatusOr<std::string> Credentials::TokenLocked() const {
  if (SteadyNow() < token_end_) return token_;
  if (token_.empty()) return failure_;
  return absl::UnauthenticatedError(
      StrCat("the access token of the ", description_, " has expired and could not be renewed: ", MessageOf(failure_)));
}

absl::StatusOr<std::string> Credentials::WaitForToken(Duration timeout) {
  std::unique_lock lock(mu_);
  changed_.wait_for(lock, timeout, [this] { return !token_.empty() || (failures_ > 0 && Final(failure_)); });
  return TokenLocked();
}

absl::StatusOr<std::string> Credentials::Token() const {
  std::lock_guard lock(mu_);
  return TokenLocked();
}

}  // namespace hopgap::remote
