#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "client/action.h"
#include "client/model.h"
#include "pubsub/message.h"
#include "trace/event.h"

namespace hopgap::client {

// One topic's publisher, as the Go library does it: bundles of 10 ms, 100
// messages or 1 MB, each sent by one Publish call, retried with the library's
// codes and backoff within `publish_timeout`. Without ordering keys bundles
// leave in parallel, up to `publish_calls_max`; of an ordering key one at a
// time, and a failure pauses the key (OrderedBundles).
//
// Sans-I/O. `now` must not fall. Not thread-safe.
class Publisher {
 public:
  struct Options {
    std::string topic;  // full name
    Model model;
    uint16_t place = 0;                      // the topic, in `sink`
    uint64_t seed = 0;                       // backoff jitter
    size_t buffered_messages_max = 100'000;  // beyond: the publish fails at once
    size_t ordering_keys_max = 10'000;       // likewise
    Planted planted;
  };
  // `sink` outlives the publisher. `next_rpc` numbers RPCs for the whole
  // process and outlives it too.
  Publisher(Options options, trace::EventSink& sink, uint64_t& next_rpc);
  ~Publisher();

  // One publish call.
  struct Call {
    uint64_t publish = 0;  // names it in the answer
    std::string_view data;
    std::string_view ordering_key;  // empty: none
    std::vector<std::pair<std::string, std::string>> attributes;
    pubsub::TraceContext create;       // context of its create span, written as googclient_traceparent
    uint64_t parent = 0;               // span in whose context the call is made; 0: none
    std::optional<Instant> scheduled;  // when the schedule wanted it (first hop of a lab run)
    uint64_t slot_label = 0;           // lab's slot + 1, for the spans; 0: none
  };
  // Answered by kPublished with `call.publish`.
  void Publish(Instant now, Call call, Actions& out);

  // `response` is the encoded PublishResponse when `status` is OK.
  void OnCallDone(Instant now, uint64_t call, const absl::Status& status, const pubsub::Bytes& response, Actions& out);
  void OnDeadline(Instant now, Actions& out);
  std::optional<Instant> NextDeadline() const;

  // Sends what is buffered at once, without waiting for the batching delay.
  void Flush(Instant now, Actions& out);
  size_t in_flight() const;  // messages without a result

  // Ordering keys that fail what is published on them, in order of their names.
  std::vector<std::string> PausedKeys() const;
  // NotFound if the key is not paused.
  absl::Status ResumeKey(std::string_view key);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hopgap::client
