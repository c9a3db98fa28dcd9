#include "client/stream_keeper.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

#include "base/check.h"
#include "client/retry.h"
#include "pubsub/api.h"

namespace hopgap::client {
namespace {

Action StreamAction(Action::Kind kind, uint32_t stream, pubsub::Slices payload = {}) {
  Action action;
  action.kind = kind;
  action.stream = stream;
  action.payload = std::move(payload);
  return action;
}

}  // namespace

StreamKeeper::StreamKeeper(Options options, const Model& model, Instant start)
    : options_(std::move(options)),
      model_(model),
      monitor_(start, model.monitor_tick),
      backoff_({model.reopen_initial, 20, model.reopen_max}, options_.seed),
      next_ping_(start + model.ping),
      last_ping_(start),
      last_response_(start),
      last_check_(start) {}

void StreamKeeper::Open(Actions& out) {
  state_ = State::kOpen;
  half_closed_ = false;
  out.push_back(StreamAction(Action::Kind::kOpenStream, options_.stream, options_.first_request));
}

void StreamKeeper::PostRead(Instant now, Actions& out) {
  read_posted_ = now;
  out.push_back(StreamAction(Action::Kind::kRead, options_.stream));
}

void StreamKeeper::Read(Instant now, Actions& out) {
  HOPGAP_CHECK(!reading_, "one read at a time");
  if (stopping_) return;
  reading_ = true;
  backoff_.Reset();
  if (state_ == State::kOpen) {
    PostRead(now, out);
  } else {
    read_posted_ = now;
    OnReadFailed(now, ended_, out);
  }
}

void StreamKeeper::AnnounceDeadline(int32_t deadline_seconds, Actions& out) {
  if (!model_.announces_at_once || state_ != State::kOpen || half_closed_) {
    announce_deadline_ = true;
    return;
  }
  pubsub::StreamingPullRequest request;
  request.stream_ack_deadline_seconds = deadline_seconds;
  out.push_back(StreamAction(Action::Kind::kSend, options_.stream, {pubsub::Encode(request)}));
}

void StreamKeeper::OnResponse(Instant received) {
  reading_ = false;
  last_response_ = std::max(last_response_, received);
}

void StreamKeeper::OnEnded(Instant now, const absl::Status& status, Actions& out) {
  if (state_ != State::kOpen) return;
  state_ = State::kEnded;
  ended_ = status;
  if (reading_ && !stopping_) OnReadFailed(now, status, out);
}

void StreamKeeper::OnReadFailed(Instant now, const absl::Status& status, Actions& out) {
  if (!ReopensStream(status, model_)) {
    failure_ = absl::StrCat("the stream ended for good: ", status.ToString());
    return;
  }
  const Duration pause = backoff_.Pause();
  state_ = State::kWaiting;
  reopen_at_ = now - read_posted_ < kReadBlockedLong ? now + pause : now;
  if (reopen_at_ <= now) Reopen(now, out);
}

void StreamKeeper::Reopen(Instant now, Actions& out) {
  Open(out);
  PostRead(now, out);
}

void StreamKeeper::Ping(Instant now, int32_t deadline_seconds, Actions& out) {
  next_ping_ += model_.ping * ((now - next_ping_) / model_.ping + 1);
  if (state_ != State::kOpen || half_closed_) return;  // nobody to ping
  pubsub::StreamingPullRequest request;
  if (announce_deadline_) request.stream_ack_deadline_seconds = deadline_seconds;
  announce_deadline_ = false;
  last_ping_ = now;
  out.push_back(StreamAction(Action::Kind::kSend, options_.stream, {pubsub::Encode(request)}));
}

std::optional<Instant> StreamKeeper::MonitorDeadline() const {
  if (!model_.pong_monitor || state_ != State::kOpen || half_closed_ || last_ping_ <= last_response_) {
    return std::nullopt;
  }
  return std::max(monitor_.AtOrAfter(last_ping_ + model_.pong_timeout), monitor_.After(last_check_));
}

void StreamKeeper::OnDeadline(Instant now, int32_t deadline_seconds, Actions& out) {
  if (state_ == State::kWaiting && reopen_at_ <= now && !stopping_) Reopen(now, out);
  // The monitor first: a ping due at the same instant must not renew what it judges.
  if (const auto monitor = MonitorDeadline(); monitor && *monitor <= now) {
    last_check_ = now;
    half_closed_ = true;
    out.push_back(StreamAction(Action::Kind::kHalfCloseStream, options_.stream));
  }
  if (next_ping_ <= now) Ping(now, deadline_seconds, out);
}

std::optional<Instant> StreamKeeper::NextDeadline() const {
  if (failure_ || (stopping_ && state_ != State::kOpen)) return std::nullopt;
  Instant next = next_ping_;
  if (state_ == State::kWaiting) next = std::min(next, reopen_at_);
  if (const auto monitor = MonitorDeadline()) next = std::min(next, *monitor);
  return next;
}

void StreamKeeper::Close(Actions& out) {
  stopping_ = true;
  if (state_ == State::kOpen && !half_closed_) {
    out.push_back(StreamAction(Action::Kind::kHalfCloseStream, options_.stream));
  }
  state_ = State::kEnded;
}

}  // namespace hopgap::client
