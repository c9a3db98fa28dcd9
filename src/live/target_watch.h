#pragma once

#include <absl/status/status.h>

#include <string>

#include "base/time.h"
#include "remote/remote.h"

namespace hopgap::live {

// Whether a target that is not ours still answers. Errors of single calls do not
// say so: clients try again, brokers are started again, services close streams.
// So it asks for a topic of the run; any answer will do.
//
// For one thread; its calls block.
class TargetWatch {
 public:
  static constexpr Duration kAskEvery{std::chrono::seconds{2}};
  static constexpr Duration kAnswerWithin{std::chrono::seconds{2}};
  // Away for less is a restart, which a run survives (and measures).
  static constexpr Duration kGoneAfter{std::chrono::seconds{10}};

  // The connection outlives it.
  TargetWatch(remote::Connection& connection, std::string address, std::string topic);

  // Asks, unless that was done less than kAskEvery ago. Unavailable once nothing
  // has been answered for kGoneAfter, counted from `failing_since` if that is
  // earlier than the first question without an answer; the message says since
  // when, counted from `first`.
  absl::Status Look(Instant now, Instant failing_since, Instant first);
  // Asks once more at the end of a run: Unavailable if there is no answer.
  absl::Status LookLast(Instant now, Instant failing_since, Instant first);

  // Whether the last question was answered (or none was asked).
  bool answers() const { return answers_; }

 private:
  void Ask(Instant now, Instant failing_since);
  absl::Status Gone(Instant now, Instant first) const;

  remote::Connection& connection_;
  const std::string address_, topic_;
  Instant next_ask_{};
  Instant since_ = kNever;  // nothing was answered
  bool answers_ = true;
  std::string why_;
};

}  // namespace hopgap::live
