#include "live/target_watch.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "live/pace.h"
#include "pubsub/requests.h"

namespace hopgap::live {

TargetWatch::TargetWatch(remote::Connection& connection, std::string address, std::string topic)
    : connection_(connection), address_(std::move(address)), topic_(std::move(topic)) {}

void TargetWatch::Ask(Instant now, Instant failing_since) {
  const absl::Status status =
      connection_.CallAndWait(pubsub::Method::kGetTopic, {pubsub::Encode(pubsub::NameRequest{topic_})}, kAnswerWithin)
          .status();
  answers_ = !absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status);
  if (answers_) {
    since_ = kNever;
    return;
  }
  since_ = std::min({since_, now, failing_since});
  why_ = std::string(MessageOf(status));
}

absl::Status TargetWatch::Gone(Instant now, Instant first) const {
  return absl::UnavailableError(StrCat("the target at ", address_, " stopped answering ", IntoRun(since_, first),
                                       " and was still silent ", Seconds(now - since_), " later: ", why_));
}

absl::Status TargetWatch::Look(Instant now, Instant failing_since, Instant first) {
  if (now < next_ask_) return absl::OkStatus();
  next_ask_ = now + kAskEvery;
  Ask(now, failing_since);
  return answers_ || now - since_ < kGoneAfter ? absl::OkStatus() : Gone(now, first);
}

absl::Status TargetWatch::LookLast(Instant now, Instant failing_since, Instant first) {
  Ask(now, failing_since);
  return answers_ ? absl::OkStatus() : Gone(now, first);
}

}  // namespace hopgap::live
