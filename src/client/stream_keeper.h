#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "client/action.h"
#include "client/backoff.h"
#include "client/model.h"
#include "client/tick_grid.h"

namespace hopgap::client {

// Keeps one StreamingPull stream open: opens it, opens it again after an error
// that allows it, pings, and half-closes it when a ping stays unanswered.
//
// The pong monitor looks every 10 s; it needs a wake-up only while a ping is
// unanswered.
class StreamKeeper {
 public:
  struct Options {
    uint32_t stream = 0;
    pubsub::Slices first_request;
    uint64_t seed = 0;
  };
  StreamKeeper(Options options, const Model& model, Instant start);  // `model` outlives it

  // Opens the stream.
  void Open(Actions& out);
  // The loop wants the next response. Requires: none is wanted already.
  void Read(Instant now, Actions& out);
  bool reading() const { return reading_; }

  void OnResponse(Instant received);
  void OnEnded(Instant now, const absl::Status& status, Actions& out);

  // The next ping tells the server the new deadline, or a request of its own
  // does (Model::announces_at_once).
  void AnnounceDeadline(int32_t deadline_seconds, Actions& out);

  // `deadline_seconds` for a ping that has to announce it.
  void OnDeadline(Instant now, int32_t deadline_seconds, Actions& out);
  std::optional<Instant> NextDeadline() const;

  // No reads and no reopening any more; the open stream stays, with its pings.
  void StopReading() { stopping_ = true; }
  // Half-closes; nothing follows.
  void Close(Actions& out);

  // Why the stream may not be opened again, once that is so.
  const std::optional<std::string>& failure() const { return failure_; }

 private:
  enum class State : uint8_t { kOpen, kWaiting, kEnded };

  void PostRead(Instant now, Actions& out);
  void OnReadFailed(Instant now, const absl::Status& status, Actions& out);
  void Reopen(Instant now, Actions& out);
  void Ping(Instant now, int32_t deadline_seconds, Actions& out);
  std::optional<Instant> MonitorDeadline() const;

  Options options_;
  const Model& model_;
  TickGrid monitor_;
  Backoff backoff_;
  State state_ = State::kEnded;
  bool reading_ = false;  // from Read() to the response, also between streams
  bool half_closed_ = false;
  bool stopping_ = false;
  bool announce_deadline_ = false;
  Instant read_posted_;  // on the present stream
  Instant reopen_at_;
  absl::Status ended_;  // kEnded while no read was posted: what the next one finds
  Instant next_ping_;
  Instant last_ping_, last_response_, last_check_;
  std::optional<std::string> failure_;
};

}  // namespace hopgap::client
