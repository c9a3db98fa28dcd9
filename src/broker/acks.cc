// Acknowledge and ModifyAckDeadline, by call and on streams: the ids are read
// and classified at the same instant, then applied, then (after a commit, where
// the request needs one, and an added delay) answered one by one.

#include <algorithm>

#include "base/text.h"
#include "broker/errors.h"
#include "broker/impl.h"
#include "pubsub/error_details.h"
#include "pubsub/limits.h"

namespace hopgap::broker {
namespace {

using IdState = Subscription::IdState;
using trace::What;

bool Live(const LeaseRequest::Item& item) { return item.id && item.state == IdState::kLive; }

std::vector<LeaseRequest::Item> ItemsOf(std::vector<std::string>& ids) {
  std::vector<LeaseRequest::Item> items;
  items.reserve(ids.size());
  for (std::string& id : ids)
    items.push_back(
        {.text = std::move(id), .id = {}, .state = {}, .failed = false, .unordered = false, .key = {}, .failure = {}});
  return items;
}

void AddRepeats(const LeaseRequest& request, Acked& record) {
  for (const LeaseRequest::Item& item : request.items) {
    if (item.id && item.state == IdState::kAckedByThis) {
      record.deliveries.push_back({item.id->sequence, item.id->generation});
    }
  }
}

absl::Status CheckIds(const std::vector<std::string>& ids, size_t wire_size) {
  if (wire_size > pubsub::kAckRequestBytesMax) return PayloadTooLarge(pubsub::kAckRequestBytesMax);
  return ids.empty() ? NoAckIds() : absl::OkStatus();
}

LeaseFailure::Why WhyOf(const Returned* returned) {
  using Why = LeaseFailure::Why;
  if (returned == nullptr) return Why::kSought;
  switch (returned->how) {
    case LeaseEnd::kExpired: return Why::kExpired;
    case LeaseEnd::kNacked: return Why::kNacked;
    case LeaseEnd::kRevoked: return Why::kRevoked;
    case LeaseEnd::kHoldEnded: return Why::kHoldEnded;
    case LeaseEnd::kSought: return Why::kSought;
  }
  return Why::kExpired;
}

LeaseFailure Explain(Instant now, HashKey key, Subscription& subscription, const LeaseRequest& request,
                     const LeaseRequest::Item& item) {
  using Why = LeaseFailure::Why;
  LeaseFailure failure{.why = Why::kMalformed,
                       .ack = request.ack,
                       .ack_id = item.text,
                       .subscription = subscription.value.name,
                       .message_id = {},
                       .generation = 0,
                       .newest = 0,
                       .ago = {}};
  if (!item.id) {
    if (ParseAckId(key, item.text)) failure.why = Why::kOtherSubscription;
    return failure;
  }
  failure.generation = item.id->generation;
  const Delivery* delivery = subscription.Find(item.id->sequence);
  if (delivery == nullptr) {
    failure.why = Why::kFinished;
    return failure;
  }
  failure.message_id = subscription.topic.log.Find(item.id->sequence)->message.message_id();
  failure.newest = delivery->generation;
  if (item.unordered) {
    failure.why = Why::kUnordered;
    return failure;
  }
  const Returned* returned = subscription.FindReturned(item.id->sequence);
  const bool newest = delivery->generation == item.id->generation;
  const bool last_ended = newest || delivery->generation == item.id->generation + 1;
  if (returned != nullptr && last_ended) failure.ago = now - returned->at;
  failure.why = newest ? WhyOf(returned) : Why::kSuperseded;
  return failure;
}

std::string_view CodeOf(const LeaseRequest::Item& item) {
  return item.unordered ? pubsub::kTransientUnordered : pubsub::kPermanentInvalidAckId;
}

// Within one request the order in which its ids stand does not matter.
void SortInOrder(std::vector<LeaseRequest::Item>& items) {
  std::stable_sort(items.begin(), items.end(), [](const LeaseRequest::Item& a, const LeaseRequest::Item& b) {
    return (a.id ? a.id->sequence : 0) < (b.id ? b.id->sequence : 0);
  });
}

// The answer to a call some of whose ids failed. Clients disagree on ids that
// are not listed beside INVALID_ARGUMENT, so the good ones are listed too, as
// transient: their retry is answered OK. What does not fit a trailer makes the
// whole answer ABORTED, under which every client retries what is not listed.
std::pair<absl::Status, std::string> FailureOf(const LeaseRequest& request) {
  pubsub::AckIdFailures failures;
  for (const LeaseRequest::Item& item : request.items) {
    if (item.failed) failures.emplace_back(item.text, CodeOf(item));
  }
  const size_t failed = failures.size();
  for (const LeaseRequest::Item& item : request.items) {
    if (!item.failed) failures.emplace_back(item.text, pubsub::kTransientUnavailable);
  }
  const auto first = std::find_if(request.items.begin(), request.items.end(), [](const auto& i) { return i.failed; });
  absl::Status status = SomeAckIdsInvalid(Describe(*first->failure));
  std::string details = pubsub::EncodeAckFailures(status, failures);
  if (details.size() <= request.details_bytes_max) return {status, std::move(details)};

  status = absl::AbortedError(status.message());
  failures.resize(failed);
  details = pubsub::EncodeAckFailures(status, failures);
  while (details.size() > request.details_bytes_max) {
    // All entries are about as long, so this lands close and then steps.
    const size_t fits = failures.size() * request.details_bytes_max / details.size();
    failures.resize(std::min(fits, failures.size() - 1));
    details = pubsub::EncodeAckFailures(status, failures);
  }
  return {status, std::move(details)};
}

}  // namespace

void Broker::Impl::AcknowledgeCall(Instant now, CallId call, pubsub::AcknowledgeRequest& request, Actions& out) {
  const absl::StatusOr<Subscription*> subscription = SubscriptionNamed(request.subscription);
  if (!subscription.ok()) return Reply(call, subscription.status(), out);
  if (absl::Status status = CheckIds(request.ack_ids, request.wire_size); !status.ok()) {
    return Reply(call, std::move(status), out);
  }
  LeaseRequest ack;
  ack.call = call;
  ack.subscription = (*subscription)->id;
  ack.items = ItemsOf(request.ack_ids);
  ack.details_bytes_max = request.details_bytes_max;
  Acknowledge(now, std::move(ack), out);
}

void Broker::Impl::ModifyAckDeadlineCall(Instant now, CallId call, pubsub::ModifyAckDeadlineRequest& request,
                                         Actions& out) {
  const absl::StatusOr<Subscription*> subscription = SubscriptionNamed(request.subscription);
  if (!subscription.ok()) return Reply(call, subscription.status(), out);
  if (absl::Status status = CheckIds(request.ack_ids, request.wire_size); !status.ok()) {
    return Reply(call, std::move(status), out);
  }
  const int32_t seconds = request.ack_deadline_seconds;
  if (seconds < pubsub::kModifyAckDeadlineSecondsMin || seconds > pubsub::kModifyAckDeadlineSecondsMax) {
    return Reply(
        call, BadAckDeadline(seconds, pubsub::kModifyAckDeadlineSecondsMin, pubsub::kModifyAckDeadlineSecondsMax), out);
  }
  LeaseRequest modify;
  modify.ack = false;
  modify.seconds = seconds;
  modify.call = call;
  modify.subscription = (*subscription)->id;
  modify.items = ItemsOf(request.ack_ids);
  modify.details_bytes_max = request.details_bytes_max;
  ModifyAckDeadline(now, std::move(modify), out);
}

// Takes the ids apart and says what each means now. A standard subscription
// refuses a call with a malformed id as a whole, before anything is applied.
absl::Status Broker::Impl::Read(Instant now, Subscription& subscription, LeaseRequest& request) {
  request.place = subscription.place;
  request.exactly_once = subscription.exactly_once();
  request.read = now;
  for (LeaseRequest::Item& item : request.items) {
    item.id = ParseAckId(options_.ack_id_key, item.text);
    const bool strict = !request.exactly_once && request.call;
    if (!item.id && strict) return MalformedAckId(item.text);
    if (item.id && item.id->subscription != subscription.id) {
      const Subscription* other = catalog_.FindSubscription(item.id->subscription);
      if (other != nullptr && strict) {
        return absl::InvalidArgumentError(StrCat("The ack ID (ack_id=", item.text, ") belongs to ", other->value.name,
                                                 ", not to ", subscription.value.name, "."));
      }
      item.id.reset();
    }
  }
  Classify(now, subscription, request);
  return DrawLeg(now, subscription, request);
}

void Broker::Impl::Classify(Instant now, Subscription& subscription, LeaseRequest& request) {
  for (LeaseRequest::Item& item : request.items) {
    if (!item.id) continue;
    item.state = subscription.Classify(*item.id, now);
    const LoggedMessage* message =
        subscription.Find(item.id->sequence) ? subscription.topic.log.Find(item.id->sequence) : nullptr;
    if (message != nullptr) item.key = message->key;
  }
}

// The added delay of the answer: the largest over the messages that are still
// here. ResourceExhausted, with nothing counted, if no more can be held.
absl::Status Broker::Impl::DrawLeg(Instant now, Subscription& subscription, LeaseRequest& request) {
  if (subscription.delays == nullptr) return absl::OkStatus();
  // A standard stream gets no answer that could be held.
  if (!request.call && !request.exactly_once) return absl::OkStatus();
  if (holds_ >= options_.held_max) return LimitReached("calls that added delays hold", options_.held_max);
  const Leg leg = request.ack ? Leg::kAck : Leg::kModack;
  const bool cold = subscription.uses.NoteUse(leg, now, subscription.delays->profile());
  for (const LeaseRequest::Item& item : request.items) {
    Delivery* delivery = item.id ? subscription.Find(item.id->sequence) : nullptr;
    if (delivery == nullptr || delivery->generation == 0) continue;
    uint32_t& draws = request.ack ? delivery->ack_draws : delivery->modack_draws;
    const DrawKey& key = subscription.topic.log.Find(item.id->sequence)->draw;
    request.added = std::max(request.added, subscription.delays->Draw(request.exactly_once, leg, key, draws++, cold));
  }
  if (request.added > Duration{0}) ++holds_;
  return absl::OkStatus();
}

void Broker::Impl::Acknowledge(Instant now, LeaseRequest ack, Actions& out) {
  Subscription& subscription = *catalog_.FindSubscription(ack.subscription);
  Advance(now, subscription);
  if (absl::Status status = Read(now, subscription, ack); !status.ok()) return Refuse(ack, status, out);
  TraceAll(read_at_, ack, What::kAckRead, 0);
  if (FailsAsPlanned(now, subscription, ack, out)) return Dispatch(now, subscription, out);
  if (subscription.ordered()) SortInOrder(ack.items);
  auto request = std::make_shared<LeaseRequest>(std::move(ack));
  if (request->exactly_once) {
    AckExactlyOnce(now, subscription, request, out);
  } else {
    AckStandard(now, subscription, *request, out);
    Applied(now, request, out);
  }
  Dispatch(now, subscription, out);
}

// A standard ack is best effort: it counts unless somebody else has the message
// now, and nobody waits for its record. Out of order it counts, and has its
// record, once everything of its key before it is finished.
void Broker::Impl::AckStandard(Instant now, Subscription& subscription, LeaseRequest& request, Actions& out) {
  Acked record{.subscription = subscription.id, .deliveries = {}};
  for (const LeaseRequest::Item& item : request.items) {
    if (!item.id || item.state == IdState::kUnknown || item.state == IdState::kAckedByThis) continue;
    // A repeat in the same request finds it finished.
    const Sequence sequence = item.id->sequence;
    const Delivery* delivery = subscription.Find(sequence);
    if (delivery == nullptr || delivery->state == Delivery::State::kDeadLettering) continue;
    const bool leased = delivery->state == Delivery::State::kLeased;
    if (item.state != IdState::kLive && leased) continue;
    if (Has(Planted::kAckForgotten) && item.id->generation > 1) continue;
    if (subscription.InOrder(sequence)) {
      subscription.Finish(sequence, item.id->generation, Subscription::End::kAcked, record.deliveries);
    } else if (leased) {
      subscription.AckEarly(sequence, now);
    }
  }
  if (!record.deliveries.empty()) commits_.Persist({std::move(record)}, nullptr, out);
}

void Broker::Impl::AckExactlyOnce(Instant now, Subscription& subscription, const SharedRequest& request, Actions& out) {
  Acked record{.subscription = subscription.id, .deliveries = {}};
  for (LeaseRequest::Item& item : request->items) {
    if (Live(item)) {
      Delivery& delivery = *subscription.Find(item.id->sequence);
      subscription.NoteReceipt(delivery);
      if (delivery.state == Delivery::State::kAckPending) continue;  // twice in this request
      item.unordered = !subscription.InOrder(item.id->sequence) && !Has(Planted::kAckedOutOfOrder);
      if (item.unordered) {
        Fail(now, subscription, *request, item);
        continue;
      }
      subscription.BeginAck(item.id->sequence, now);
      record.deliveries.push_back({item.id->sequence, item.id->generation});
    } else {
      const bool repeat = item.id && (item.state == IdState::kAckedByThis || item.state == IdState::kAckPending);
      if (Has(Planted::kExpiredIdAnsweredOk) && item.state == IdState::kEnded) continue;
      const bool refused = Has(Planted::kRepeatedAckRefused) && item.state == IdState::kAckedByThis;
      if (!repeat || refused) Fail(now, subscription, *request, item);
    }
  }
  const std::vector<AckedDelivery> acked = record.deliveries;
  // What was acknowledged under standard delivery, or came before its turn, has a record that nobody waits for and that
  // a crash may lose: a repeat that is answered OK waits for one of its own.
  if (acked.empty() && commits_.pending() > 0) AddRepeats(*request, record);
  const Then then = [this, request, acked](Instant at, Actions& after) {
    Subscription* owner = catalog_.FindSubscription(request->subscription);
    // A seek may have been quicker.
    if (owner != nullptr) FinishEach(*owner, acked, Delivery::State::kAckPending, Subscription::End::kAcked, after);
    Applied(at, request, after);
    // The credit that the acks gave back.
    if (owner == nullptr || acked.empty()) return;
    Advance(at, *owner);
    Dispatch(at, *owner, after);
  };
  const bool waits_for_another = std::any_of(request->items.begin(), request->items.end(),
                                             [](const auto& item) { return item.state == IdState::kAckPending; });
  if (Has(Planted::kAckAnsweredBeforeCommit) && !acked.empty()) {
    return commits_.Persist({std::move(record)}, nullptr, out), then(now, out);
  }
  if (!record.deliveries.empty()) return commits_.Persist({std::move(record)}, then, out);
  if (waits_for_another) return commits_.AfterAwaited(now, then, out);
  then(now, out);
}

// The journal knows of these. What was acked behind one of them before its turn, which has come, it hears of now.
void Broker::Impl::FinishEach(Subscription& subscription, const std::vector<AckedDelivery>& deliveries,
                              Delivery::State in, Subscription::End end, Actions& out) {
  Acked early{.subscription = subscription.id, .deliveries = {}};
  std::vector<AckedDelivery> finished;  // one of the deliveries, then what is behind it
  for (const auto& [sequence, generation] : deliveries) {
    const Delivery* delivery = subscription.Find(sequence);
    if (delivery == nullptr || delivery->state != in) continue;
    finished.clear();
    subscription.Finish(sequence, generation, end, finished);
    early.deliveries.insert(early.deliveries.end(), finished.begin() + 1, finished.end());
  }
  if (!early.deliveries.empty()) commits_.Persist({std::move(early)}, nullptr, out);
}

void Broker::Impl::ModifyAckDeadline(Instant now, LeaseRequest modify, Actions& out) {
  Subscription& subscription = *catalog_.FindSubscription(modify.subscription);
  Advance(now, subscription);
  if (absl::Status status = Read(now, subscription, modify); !status.ok()) return Refuse(modify, status, out);
  TraceAll(read_at_, modify, What::kLeaseRead, modify.seconds);
  if (FailsAsPlanned(now, subscription, modify, out)) return Dispatch(now, subscription, out);
  NoteReceipts(subscription, modify);
  FailUnlessLive(now, subscription, modify);
  auto request = std::make_shared<LeaseRequest>(std::move(modify));
  const bool any_live = std::any_of(request->items.begin(), request->items.end(), Live);
  const Duration length = std::chrono::seconds{request->seconds};
  if (any_live && length > subscription.LeaseLimit()) {
    ExtendAboveCeiling(now, subscription, request, out);
  } else {
    if (request->seconds == 0) {
      Nack(now, subscription, *request, out);
    } else {
      Extend(now, subscription, *request);
    }
    Applied(now, request, out);
  }
  Dispatch(now, subscription, out);
}

void Broker::Impl::NoteReceipts(Subscription& subscription, const LeaseRequest& request) {
  for (const LeaseRequest::Item& item : request.items) {
    if (!Live(item)) continue;
    Delivery& delivery = *subscription.Find(item.id->sequence);
    subscription.NoteReceipt(delivery);
    if (delivery.receipt_seen || request.seconds == 0) continue;
    delivery.receipt_seen = true;
    ++counters_.receipt_modacks;
  }
}

void Broker::Impl::FailUnlessLive(Instant now, Subscription& subscription, LeaseRequest& request) {
  if (!request.exactly_once) return;
  for (LeaseRequest::Item& item : request.items) {
    if (!Live(item)) Fail(now, subscription, request, item);
  }
}

void Broker::Impl::Fail(Instant now, Subscription& subscription, const LeaseRequest& request, LeaseRequest::Item& item,
                        std::optional<LeaseFailure::Why> why) {
  item.failed = true;
  LeaseFailure failure = Explain(now, options_.ack_id_key, subscription, request, item);
  failure.why = why.value_or(failure.why);
  item.failure = std::make_unique<LeaseFailure>(std::move(failure));
  if (options_.on_lease_failure) options_.on_lease_failure(now, *item.failure);
}

// Counted from when the request was read, also when it waited since.
void Broker::Impl::Extend(Instant now, Subscription& subscription, LeaseRequest& request) {
  if (Has(Planted::kExtensionIgnored)) return;
  const Instant deadline = request.read + std::chrono::seconds{request.seconds};
  for (LeaseRequest::Item& item : request.items) {
    if (!Live(item)) continue;
    if (deadline > now) {
      subscription.ExtendLease(item.id->sequence, now, deadline);
    } else if (request.exactly_once) {
      Fail(now, subscription, request, item);
    }
  }
}

// A lease longer than L: L is raised first. Meanwhile the lease gets what L allows.
void Broker::Impl::ExtendAboveCeiling(Instant now, Subscription& subscription, const SharedRequest& request,
                                      Actions& out) {
  ++counters_.modacks_that_waited_for_the_journal;
  for (const LeaseRequest::Item& item : request->items) {
    if (Live(item) && subscription.ceiling_durable > Duration{0}) {
      subscription.ExtendLease(item.id->sequence, now, now + subscription.ceiling_durable);
    }
  }
  EnsureCeiling(subscription, std::chrono::seconds{request->seconds}, out);
  commits_.AfterAwaited(
      now,
      [this, request](Instant at, Actions& after) {
        Subscription* owner = catalog_.FindSubscription(request->subscription);
        if (owner == nullptr || stopping_) {
          return Refuse(*request, owner == nullptr ? absl::NotFoundError("The subscription was deleted.") : Stopping(),
                        after);
        }
        Advance(at, *owner);
        Classify(at, *owner, *request);
        FailUnlessLive(at, *owner, *request);
        Extend(at, *owner, *request);
        Applied(at, request, after);
        Dispatch(at, *owner, after);
      },
      out);
}

// Beside a failure no nack of a call is applied: the answer lists it as
// transient, and its repeat would find the lease ended by itself.
void Broker::Impl::Nack(Instant now, Subscription& subscription, LeaseRequest& request, Actions& out) {
  if ((request.call && request.AnyFailed()) || Has(Planted::kNackKeepsLease)) return;
  Nacked record{.subscription = subscription.id, .deliveries = {}};
  for (const LeaseRequest::Item& item : request.items) {
    if (!Live(item) || subscription.Find(item.id->sequence)->state != Delivery::State::kLeased) continue;
    subscription.EndLease(item.id->sequence);
    if (request.exactly_once) subscription.Find(item.id->sequence)->NoteNack(item.id->generation);
    record.deliveries.push_back({item.id->sequence, item.id->generation});
  }
  // Only now: the return of one would take those of its key along as if nobody had nacked them.
  for (const AckedDelivery& nacked : record.deliveries) {
    Return(now, subscription, nacked.sequence, LeaseEnd::kNacked, now);
  }
  if (request.exactly_once && !record.deliveries.empty()) commits_.Persist({std::move(record)}, nullptr, out);
}

// What the request asked for has happened: hold the answer by its added delay.
void Broker::Impl::Applied(Instant now, const SharedRequest& request, Actions& out) {
  for (const LeaseRequest::Item& item : request->items) {
    if (item.key == trace::MessageKey{}) continue;
    const uint64_t delivery = trace::DeliveryKey(item.text);
    const absl::StatusCode code = item.failed ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kOk;
    Trace(item.key, {.at = now,
                     .delivery = delivery,
                     .value = static_cast<int64_t>(code),
                     .what = request->ack ? What::kAckCommitted : What::kLeaseApplied,
                     .place = request->place,
                     .count = item.failure ? static_cast<uint16_t>(item.failure->why) : uint16_t{0}});
    if (request->added <= Duration{0}) continue;
    const Leg leg = request->ack ? Leg::kAck : Leg::kModack;
    Trace(item.key, {.at = now,
                     .delivery = delivery,
                     .value = request->added.count(),
                     .what = What::kDelayAdded,
                     .place = request->place,
                     .count = static_cast<uint16_t>(leg)});
  }
  RunAfter(
      request->added, now, [this, request](Instant at, Actions& then) { Answer(at, *request, then); }, out);
}

void Broker::Impl::Answer(Instant now, const LeaseRequest& request, Actions& out) {
  if (request.added > Duration{0} && !Has(Planted::kHoldPlaceLeaked)) --holds_;
  TraceAll(now, request, request.ack ? What::kAckReplied : What::kLeaseReplied, 0);
  if (!request.call) return Confirm(request, out);
  if (!request.AnyFailed()) return Reply(*request.call, pubsub::Slices{}, out);
  auto [status, details] = FailureOf(request);
  ReplyWithDetails(*request.call, std::move(status), std::move(details), out);
}

void Broker::Impl::Refuse(const LeaseRequest& request, const absl::Status& status, Actions& out) {
  if (request.added > Duration{0}) --holds_;
  if (request.call) return Reply(*request.call, status, out);
  ConfirmNone(request, out);
}

void Broker::Impl::TraceAll(Instant now, const LeaseRequest& request, What what, int64_t value) {
  for (const LeaseRequest::Item& item : request.items) {
    if (item.key == trace::MessageKey{}) continue;
    Trace(item.key,
          {.at = now, .delivery = trace::DeliveryKey(item.text), .value = value, .what = what, .place = request.place});
  }
}

}  // namespace hopgap::broker
