#include "client/call_runner.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "base/draw.h"
#include "client/retry.h"
#include "pubsub/api.h"
#include "pubsub/error_details.h"

namespace hopgap::client {
namespace {

// Keys of the jitter: retries of batches, and resending inside a call.
constexpr uint64_t kRetryJitter = 1, kResendJitter = 2;

struct Events {
  trace::What start, end;
};
Events EventsOf(Purpose purpose) {
  switch (purpose) {
    case Purpose::kReceipt: return {trace::What::kReceiptModackStart, trace::What::kReceiptModackEnd};
    case Purpose::kExtension: return {trace::What::kExtensionStart, trace::What::kExtensionEnd};
    case Purpose::kAck: return {trace::What::kAckStart, trace::What::kAckEnd};
    case Purpose::kNack: break;
  }
  return {trace::What::kNackStart, trace::What::kNackEnd};
}

bool IsModack(Purpose purpose) { return purpose == Purpose::kReceipt || purpose == Purpose::kExtension; }

}  // namespace

CallRunner::CallRunner(Options options, Recorder& recorder, uint64_t& next_rpc)
    : options_(std::move(options)), recorder_(recorder), next_rpc_(next_rpc) {}

void CallRunner::Send(Instant now, uint32_t stream, Purpose purpose, int32_t seconds, bool from_sender,
                      std::vector<Target> targets, Actions& out) {
  const uint64_t id = ++last_batch_;
  Batch& batch = batches_[id];
  batch.stream = stream;
  batch.purpose = purpose;
  batch.seconds = seconds;
  batch.from_sender = from_sender;
  if (unfinished_.size() <= stream) unfinished_.resize(stream + 1);
  ++unfinished_[stream];
  StartCalls(now, id, std::move(targets), out);
}

void CallRunner::StartCalls(Instant now, uint64_t batch_id, std::vector<Target> targets, Actions& out) {
  HOPGAP_CHECK(!targets.empty(), "a call without ids");
  Batch& batch = batches_.at(batch_id);
  Instant ends = now + options_.model.call_timeout;
  if (batch.attempt > 0 && !IsModack(batch.purpose)) {
    ends = std::min(ends, batch.retrying_since + options_.model.ack_retry_total);
  }
  const size_t per_call = IdsPerCall(batch.purpose);
  for (size_t at = 0; at < targets.size(); at += per_call) {
    const auto first = targets.begin() + static_cast<std::ptrdiff_t>(at);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(per_call, targets.size() - at));
    Call call;
    call.batch = batch_id;
    call.targets.assign(std::make_move_iterator(first), std::make_move_iterator(last));
    call.payload = {EncodeRequest(batch, call.targets)};
    call.rpc = next_rpc_++;
    call.ends = ends;
    call.resend = Backoff(kUnaryResend, Mix(options_.seed, kResendJitter, batch_id, batch.running));
    ++batch.running;
    const Recorder::Fields fields{.rpc = call.rpc, .value = batch.seconds, .count = EventCount(call.targets.size())};
    for (const Target& target : call.targets) {
      Recorder::Fields own = fields;
      own.delivery = target.delivery_key;
      recorder_.Record(now, EventsOf(batch.purpose).start, target.key, own);
    }
    Issue(now, std::move(call), out);
  }
}

pubsub::Bytes CallRunner::EncodeRequest(const Batch& batch, const std::vector<Target>& targets) const {
  std::vector<std::string> ids;
  ids.reserve(targets.size());
  for (const Target& target : targets) ids.push_back(target.ack_id);
  if (batch.purpose == Purpose::kAck) {
    return pubsub::Encode(pubsub::AcknowledgeRequest{.subscription = options_.subscription, .ack_ids = std::move(ids)});
  }
  return pubsub::Encode(pubsub::ModifyAckDeadlineRequest{
      .subscription = options_.subscription, .ack_ids = std::move(ids), .ack_deadline_seconds = batch.seconds});
}

void CallRunner::Issue(Instant now, Call call, Actions& out) {
  const bool ack = batches_.at(call.batch).purpose == Purpose::kAck;
  Action action;
  action.kind = Action::Kind::kCall;
  action.stream = batches_.at(call.batch).stream;
  action.call = ++last_call_;
  action.method = ack ? pubsub::Method::kAcknowledge : pubsub::Method::kModifyAckDeadline;
  action.payload = call.payload;
  action.timeout = call.ends - now;
  calls_.emplace(action.call, std::move(call));
  out.push_back(std::move(action));
}

Outcome CallRunner::OnCallDone(Instant now, uint64_t id, const absl::Status& status, std::string_view details,
                               Actions& out) {
  const auto found = calls_.find(id);
  HOPGAP_CHECK(found != calls_.end(), "an answer to a call that is not running");
  Call call = std::move(found->second);
  calls_.erase(found);
  if (ResendsUnary(status) && MayResend(now, call)) {
    const Batch& batch = batches_.at(call.batch);
    const Instant wake = std::min(now + call.resend.Pause(), call.ends);
    resends_.emplace(WakeKey{wake, ++last_wake_}, std::move(call));
    return {.purpose = batch.purpose, .stream = batch.stream, .results = {}};
  }
  return Finish(now, std::move(call), status, details, out);
}

Outcome CallRunner::Finish(Instant now, Call call, const absl::Status& status, std::string_view details, Actions& out) {
  Batch& batch = batches_.at(call.batch);
  Outcome outcome{.purpose = batch.purpose, .stream = batch.stream, .results = {}};
  const auto metadata = status.ok() ? std::map<std::string, std::string>{} : pubsub::DecodeErrorMetadata(details);
  for (Target& target : call.targets) {
    recorder_.Record(now, EventsOf(batch.purpose).end, target.key,
                     {.delivery = target.delivery_key, .rpc = call.rpc, .value = status.raw_code()});
    // Without exactly-once a call is best effort: its code is the only answer.
    Verdict verdict = status.ok() ? Verdict::kSuccess : Verdict::kFailed;
    if (target.exactly_once) verdict = Judge(status, metadata, target.ack_id, options_.model.unlisted);
    if (verdict == Verdict::kRetry) {
      batch.retry.push_back(std::move(target));
    } else {
      outcome.results.push_back({std::move(target), verdict == Verdict::kSuccess, verdict == Verdict::kInvalidId});
    }
  }
  --batch.running;
  if (batch.running == 0) EndOfCalls(now, call.batch, outcome, out);
  return outcome;
}

void CallRunner::EndOfCalls(Instant now, uint64_t batch_id, Outcome& outcome, Actions& out) {
  Batch& batch = batches_.at(batch_id);
  outcome.sender_free = batch.from_sender && batch.attempt == 0;
  if (batch.retry.empty()) {
    Forget(batch_id);
  } else if (batch.attempt > 0) {
    // The pause is spent before a failure is reported, too: so does the library.
    retries_.emplace(WakeKey{now + batch.backoff.Pause(), ++last_wake_}, batch_id);
  } else if (!MayRetry(now, batch)) {
    FailRetries(batch_id, outcome);
  } else {
    StartRetries(now, batch, out);
    Forget(batch_id);
  }
}

// The first retry follows at once in Go, others pause before it; a retry is one
// call, so it takes as many ids as a call may carry.
void CallRunner::StartRetries(Instant now, const Batch& batch, Actions& out) {
  const size_t per_call = IdsPerCall(batch.purpose);
  const BackoffShape shape{options_.model.retry_initial, 20, options_.model.retry_max};
  for (size_t at = 0; at < batch.retry.size(); at += per_call) {
    const uint64_t id = ++last_batch_;
    Batch& part = batches_[id];
    part.stream = batch.stream;
    part.purpose = batch.purpose;
    part.seconds = batch.seconds;
    part.attempt = 1;
    part.retrying_since = now;
    part.backoff = Backoff(shape, Mix(options_.seed, kRetryJitter, id));
    ++unfinished_[batch.stream];
    const auto first = batch.retry.begin() + static_cast<std::ptrdiff_t>(at);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(per_call, batch.retry.size() - at));
    if (options_.model.retries_at_once) {
      StartCalls(now, id, std::vector<Target>(first, last), out);
    } else {
      part.attempt = 0;
      part.retry.assign(first, last);
      retries_.emplace(WakeKey{now + part.backoff.Pause(), ++last_wake_}, id);
    }
  }
}

bool CallRunner::MayRetry(Instant now, const Batch& batch) const {
  if (IsModack(batch.purpose)) return retries_modacks_ && batch.attempt < options_.model.modack_retries;
  return batch.attempt == 0 || now < batch.retrying_since + options_.model.ack_retry_total;
}

size_t CallRunner::IdsPerCall(Purpose purpose) const {
  return IsModack(purpose) ? options_.model.ids_per_call : options_.model.ids_per_ack_call;
}

bool CallRunner::MayResend(Instant now, const Call& call) const {
  if (!options_.model.resends_exactly_once && call.targets.front().exactly_once) return false;
  return now < call.ends && (retries_modacks_ || !IsModack(batches_.at(call.batch).purpose));
}

Outcome CallRunner::Retry(Instant now, uint64_t batch_id, Actions& out) {
  Batch& batch = batches_.at(batch_id);
  Outcome outcome{.purpose = batch.purpose, .stream = batch.stream, .results = {}};
  if (!MayRetry(now, batch)) {
    FailRetries(batch_id, outcome);
    return outcome;
  }
  ++batch.attempt;
  StartCalls(now, batch_id, std::exchange(batch.retry, {}), out);
  return outcome;
}

void CallRunner::FailRetries(uint64_t batch_id, Outcome& outcome) {
  for (Target& target : batches_.at(batch_id).retry) outcome.results.push_back({std::move(target)});
  Forget(batch_id);
}

void CallRunner::Forget(uint64_t batch_id) {
  const auto found = batches_.find(batch_id);
  --unfinished_[found->second.stream];
  batches_.erase(found);
}

std::vector<Outcome> CallRunner::StopRetryingModacks(Instant now, Actions& out) {
  retries_modacks_ = false;
  std::map<WakeKey, Call> resends;
  for (auto& [key, call] : resends_) {
    const Instant wake = IsModack(batches_.at(call.batch).purpose) ? now : key.first;
    resends.emplace(WakeKey{wake, key.second}, std::move(call));
  }
  resends_ = std::move(resends);
  std::map<WakeKey, uint64_t> retries;
  for (const auto& [key, batch] : retries_) {
    const Instant wake = IsModack(batches_.at(batch).purpose) ? now : key.first;
    retries.emplace(WakeKey{wake, key.second}, batch);
  }
  retries_ = std::move(retries);
  return OnDeadline(now, out);
}

std::vector<Outcome> CallRunner::OnDeadline(Instant now, Actions& out) {
  std::vector<Outcome> outcomes;
  while (!resends_.empty() && resends_.begin()->first.first <= now) {
    Call call = std::move(resends_.extract(resends_.begin()).mapped());
    if (MayResend(now, call)) {
      Issue(now, std::move(call), out);
    } else {
      outcomes.push_back(Finish(now, std::move(call),
                                absl::DeadlineExceededError("the server stayed unavailable until the call's end"), {},
                                out));
    }
  }
  while (!retries_.empty() && retries_.begin()->first.first <= now) {
    const uint64_t batch_id = retries_.extract(retries_.begin()).mapped();
    outcomes.push_back(Retry(now, batch_id, out));
  }
  return outcomes;
}

std::optional<Instant> CallRunner::NextDeadline() const {
  std::optional<Instant> next;
  if (!resends_.empty()) next = resends_.begin()->first.first;
  if (!retries_.empty() && (!next || retries_.begin()->first.first < *next)) next = retries_.begin()->first.first;
  return next;
}

size_t CallRunner::unfinished(uint32_t stream) const { return stream < unfinished_.size() ? unfinished_[stream] : 0; }

}  // namespace hopgap::client
