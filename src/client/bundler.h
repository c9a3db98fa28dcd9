#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/time.h"
#include "client/model.h"
#include "pubsub/message.h"
#include "trace/event.h"

namespace hopgap::client {

// Hard limits of the service on one request, which no setting exceeds.
inline constexpr size_t kPublishMessagesMax = 1000;
inline constexpr size_t kPublishBytesMax = 10'000'000;

struct BundledMessage {
  uint64_t publish = 0;
  trace::MessageKey key;
  pubsub::Message message;
};
using Bundle = std::vector<BundledMessage>;

// Gathers messages into bundles. A bundle closes when it holds `publish_count`
// messages or `publish_bytes`, when the next message would not fit into one
// request, or `publish_delay` after its first message, whichever comes first.
class Bundler {
 public:
  struct Options {
    size_t bytes_max = kPublishBytesMax;  // of one request's messages
    Duration planted{0};                  // a closed bundle is ready this much later
  };
  Bundler(const Model& model, Options options);

  // `size` is the encoded size without the trace context. False: the message
  // alone is larger than a request, and was not taken.
  bool Add(Instant now, BundledMessage message, size_t size);
  // Closes the open bundle, if there is one.
  void Close(Instant now);

  // All messages that wait, in order.
  Bundle TakeAll();

  // The next bundle that is ready, in order.
  std::optional<Bundle> TakeReady(Instant now);
  void OnDeadline(Instant now);
  // `worker_free`: whether a ready bundle could leave; if not, it needs no wake-up.
  std::optional<Instant> NextDeadline(bool worker_free) const;

 private:
  struct Closed {
    Instant ready;
    Bundle bundle;
  };
  size_t count_max_, bytes_;
  Duration delay_;
  Options options_;
  Bundle open_;
  size_t open_bytes_ = 0;
  Instant closes_;
  std::deque<Closed> closed_;  // bounded by the publisher's buffered_messages_max
};

}  // namespace hopgap::client
