#include "live/resources.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace hopgap::live {
namespace {

// The service takes seconds for what a broker of this machine does at once.
constexpr Duration kServiceTimeout{std::chrono::seconds{30}};
constexpr int kRemoveAttempts = 3;

// The call may have been carried out all the same.
bool Unclear(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kCancelled: return true;
    default: return false;
  }
}

const std::string& NameOf(const lab::Resource& resource) {
  return resource.subscription.empty() ? resource.topic : resource.subscription;
}

}  // namespace

Resources::Resources(remote::Connection& connection, remote::Target target)
    : connection_(connection),
      target_(std::move(target)),
      timeout_(target_.service() ? kServiceTimeout : remote::Connection::kSetupTimeout) {}

absl::Status Resources::MakeOne(const lab::Resource& resource) {
  if (resource.subscription.empty()) return connection_.CreateTopic(resource.topic, timeout_);
  pubsub::Subscription subscription;
  subscription.name = resource.subscription;
  subscription.topic = resource.topic;
  subscription.enable_exactly_once_delivery = resource.exactly_once;
  return connection_.CreateSubscription(subscription, timeout_);
}

absl::Status Resources::Make(const std::vector<lab::Resource>& resources, const std::function<bool()>& stop_asked) {
  for (const lab::Resource& resource : resources) {
    if (stop_asked && stop_asked()) return absl::OkStatus();
    const absl::Status status = MakeOne(resource);
    if (status.ok() || Unclear(status)) made_.push_back(resource);
    if (absl::IsAlreadyExists(status)) {
      return absl::FailedPreconditionError(
          StrCat(NameOf(resource), " exists already, and was left alone: choose another --prefix, or remove it"));
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Resources::RemoveOne(const lab::Resource& resource) {
  absl::Status status;
  for (int attempt = 0; attempt < kRemoveAttempts; ++attempt) {
    status = resource.subscription.empty() ? connection_.DeleteTopic(resource.topic, timeout_)
                                           : connection_.DeleteSubscription(resource.subscription, timeout_);
    if (absl::IsNotFound(status)) return absl::OkStatus();
    if (!Unclear(status)) return status;
  }
  return status;
}

std::vector<std::string> Resources::Remove() {
  std::vector<std::string> left;
  // A target that does not answer any more is not waited for once a resource.
  bool gone = false;
  for (auto resource = made_.rbegin(); resource != made_.rend(); ++resource) {
    const absl::Status status = gone ? absl::UnavailableError("gone") : RemoveOne(*resource);
    if (status.ok()) continue;
    left.push_back(NameOf(*resource));
    gone = Unclear(status);
  }
  made_.clear();
  return left;
}

absl::Status WithWhatIsLeft(const absl::Status& status, const std::vector<std::string>& left) {
  if (left.empty()) return status;
  std::string text(MessageOf(status));
  text += "; could not be removed:";
  for (const std::string& name : left) text += StrCat(" ", name);
  return absl::Status(status.code(), text);
}

}  // namespace hopgap::live
