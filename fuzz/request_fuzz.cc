// The wire form of every served call: byte 0 says which, the rest is the request.
// What can be read can be written, and what was written can be read.
#include "base/check.h"
#include "fuzz/fuzz.h"
#include "pubsub/api.h"
#include "pubsub/update_mask.h"

namespace hopgap::fuzz {
namespace {

using pubsub::Method;

template <typename Value>
std::string Written(const Value& value) {
  auto wire = pubsub::Encode(value);
  if constexpr (std::is_same_v<decltype(wire), pubsub::Slices>) {
    return pubsub::Join(wire);
  } else {
    return std::string(wire.view());
  }
}

template <typename Value>
std::string Seed(Method method, const Value& value) {
  return static_cast<char>(method) + Written(value);
}

// As the broker takes an update: into a copy.
template <typename Value>
void Apply(const Value& value) {
  if constexpr (std::is_same_v<Value, pubsub::UpdateTopicRequest>) {
    pubsub::Topic topic;
    static_cast<void>(pubsub::ApplyUpdate(value, topic));
  } else if constexpr (std::is_same_v<Value, pubsub::UpdateSubscriptionRequest>) {
    pubsub::Subscription subscription;
    static_cast<void>(pubsub::ApplyUpdate(value, subscription));
  } else if constexpr (std::is_same_v<Value, pubsub::UpdateSnapshotRequest>) {
    pubsub::Snapshot snapshot;
    static_cast<void>(pubsub::ApplyUpdate(value, snapshot));
  }
}

void TryUnary(Method method, std::string_view wire) {
  const auto request = pubsub::DecodeRequest(method, pubsub::Bytes(std::string(wire)));
  if (!request.ok()) return;
  std::visit(
      [&](const auto& value) {
        Apply(value);
        if constexpr (requires { pubsub::Encode(value); }) {
          HOPGAP_CHECK(pubsub::DecodeRequest(method, pubsub::Bytes(Written(value))).ok(),
                       "what was read and written cannot be read");
        }
      },
      *request);
}

}  // namespace

std::vector<std::string> Seeds() {
  pubsub::PublishRequest publish;
  publish.topic = "projects/p/topics/top";
  publish.messages = {pubsub::Message::Make("body", {{"key", "value"}}, "order"),
                      pubsub::Message::Make("", {{"a", ""}})};
  pubsub::UpdateSubscriptionRequest update;
  update.subscription.name = "projects/p/subscriptions/sub";
  update.subscription.topic = publish.topic;
  update.subscription.ack_deadline_seconds = 77;
  update.subscription.retry_policy.emplace();
  update.subscription.dead_letter_policy.emplace();
  update.update_mask = {"ack_deadline_seconds", "retry_policy.minimum_backoff"};
  pubsub::StreamingPullRequest stream;
  stream.subscription = update.subscription.name;
  stream.ack_ids = {"a", "b"};
  stream.modify_deadline_ack_ids = {"c"};
  stream.modify_deadline_seconds = {60};
  stream.stream_ack_deadline_seconds = 10;
  pubsub::AcknowledgeRequest ack;
  ack.subscription = stream.subscription;
  ack.ack_ids = {"a", "b"};
  pubsub::SeekRequest seek;
  seek.subscription = stream.subscription;
  return {Seed(Method::kPublish, publish), Seed(Method::kUpdateSubscription, update),
          Seed(Method::kStreamingPull, stream), Seed(Method::kAcknowledge, ack), Seed(Method::kSeek, seek)};
}

}  // namespace hopgap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hopgap;  // NOLINT(google-build-using-namespace)
  if (size == 0) return 0;
  const auto method = static_cast<pubsub::Method>(data[0] % (static_cast<int>(pubsub::Method::kStreamingPull) + 1));
  const std::string_view wire(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (method != pubsub::Method::kStreamingPull) {
    fuzz::TryUnary(method, wire);
  } else if (const auto request = pubsub::DecodeStreamingPullRequest(wire); request.ok()) {
    HOPGAP_CHECK(pubsub::DecodeStreamingPullRequest(fuzz::Written(*request)).ok(), "what was written cannot be read");
  }
  return 0;
}
