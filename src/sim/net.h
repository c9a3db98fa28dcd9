#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <string>

#include "base/time.h"
#include "pubsub/api.h"

namespace hopgap::sim {

// What came back of a call: the broker's answer, or what the network made of it.
struct Answer {
  absl::Status status;
  std::string details;  // google.rpc.Status bytes of the trailer
  pubsub::Bytes payload;
};

// What a client hears of its stream, in order; `ended` is the last.
struct StreamEvents {
  std::function<void(pubsub::StreamingPullResponse&)> response;
  std::function<void(const absl::Status&)> ended;
};

// The fault world as a client sees it: a clock, and a network that may delay,
// lose, repeat or cut what goes over it. Callbacks come later, never from
// inside the call that set them; what they capture outlives the world's run.
class Net {
 public:
  virtual ~Net() = default;

  virtual Instant now() const = 0;
  virtual void At(Instant when, std::function<void()> then) = 0;
  void After(Duration wait, std::function<void()> then) { At(now() + wait, std::move(then)); }
  // Faults have stopped for good: clients now have to behave, so that all drains.
  virtual bool calm() const = 0;

  // `done` is called once: with the answer, or DEADLINE_EXCEEDED after `timeout`,
  // or UNAVAILABLE when the broker is not there.
  virtual void Call(pubsub::Method method, pubsub::Request request, Duration timeout,
                    std::function<void(const Answer&)> done) = 0;

  // Names the stream; ids are never used twice. A stream that is not open any
  // more takes no notice.
  virtual uint64_t OpenStream(pubsub::StreamingPullRequest first, StreamEvents events) = 0;
  virtual void Send(uint64_t stream, pubsub::StreamingPullRequest request) = 0;
  virtual void HalfClose(uint64_t stream) = 0;
  virtual void Cancel(uint64_t stream) = 0;  // nothing more is heard of it
};

}  // namespace hopgap::sim
