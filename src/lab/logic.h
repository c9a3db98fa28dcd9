#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "client/action.h"
#include "pubsub/api.h"

namespace hopgap::lab {

// An order to the driver. Endpoints number publishers and subscribers; each has
// a connection of its own, as separate processes would.
struct Command {
  uint32_t endpoint = 0;
  client::Action action;
};
using Commands = std::vector<Command>;

// What a driver (live or sim) drives: answers and deadlines go in, commands come
// out. A whole run, one worker, or one sender.
//
// Sans-I/O; one strand. `now` must not fall.
class Logic {
 public:
  virtual ~Logic() = default;

  virtual uint32_t EndpointCount() const = 0;
  // Opens the streams. Ready() once every stream has answered.
  virtual void Start(Instant now, Commands& out) = 0;
  virtual bool Ready() const = 0;

  virtual void OnResponse(Instant now, uint32_t endpoint, uint32_t stream, Instant received, Instant read_posted,
                          pubsub::StreamingPullResponse response, Commands& out) = 0;
  virtual void OnStreamEnded(Instant now, uint32_t endpoint, uint32_t stream, const absl::Status& status,
                             Commands& out) = 0;
  virtual void OnCallDone(Instant now, uint32_t endpoint, uint64_t call, const absl::Status& status,
                          std::string_view details, const pubsub::Bytes& response, Commands& out) = 0;
  // The driver entered the handler that kStartCallback asked for; `now` is read
  // at that moment, as the first line of a handler would.
  virtual void OnHandlerEntered(Instant now, uint32_t endpoint, uint64_t delivery, Commands& out) = 0;
  // Does the one thing that is due first, so that each has a `now` of its own.
  // Call again while NextDeadline() has passed.
  virtual void OnDeadline(Instant now, Commands& out) = 0;
  virtual std::optional<Instant> NextDeadline() const = 0;

  // True when what was planned has been done; never for what only serves.
  virtual bool Finished() const = 0;
  // Takes nothing new and closes the streams politely; Stopped() when nothing
  // is in flight.
  virtual void Stop(Instant now, Commands& out) = 0;
  virtual bool Stopped() const = 0;
};

}  // namespace hopgap::lab
