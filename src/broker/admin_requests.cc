// What the admin API asks: docs/admin.md.

#include "broker/admin_requests.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "broker/errors.h"
#include "broker/impl.h"

namespace hopgap::broker {
namespace {

using State = Delivery::State;

std::string_view NameOf(State state) {
  switch (state) {
    case State::kUncommitted: return "publishing";
    case State::kDelayed: return "delayed";
    case State::kReady: return "ready";
    case State::kAwaitsBound:
    case State::kAwaitsGeneration:
    case State::kCommitting: return "awaits the journal";
    case State::kLeased: return "leased";
    case State::kAckPending: return "ack awaits the journal";
    case State::kAckedEarly: return "acked before an earlier one";
    case State::kReturning: return "returning";
    case State::kDeadLettering: return "on its way to the dead-letter topic";
  }
  return "";
}

bool IsOut(State state) {
  return state == State::kLeased || state == State::kAckPending || state == State::kAckedEarly;
}

absl::Status OutOfRange(std::string_view field, int64_t value, int64_t low, int64_t high) {
  return absl::InvalidArgumentError(StrCat(field, ": ", value, " is outside [", low, ", ", high, "]"));
}

}  // namespace

absl::StatusOr<uint64_t> Broker::Impl::OnAdmin(Instant now, const AdminRequest& request, Actions& out) {
  if (stopping_) return Stopping();
  if (const auto* responses = std::get_if<SetResponses>(&request)) return ApplyAdmin(now, *responses, out);
  const std::string& name = std::visit(
      [](const auto& asked) -> const std::string& {
        if constexpr (std::is_same_v<std::decay_t<decltype(asked)>, SetResponses>) {
          static const std::string none;
          return none;
        } else {
          return asked.subscription;
        }
      },
      request);
  const absl::StatusOr<Subscription*> found = SubscriptionNamed(name);
  if (!found.ok()) return found.status();
  Subscription& subscription = **found;
  Advance(now, subscription);
  absl::StatusOr<uint64_t> done = uint64_t{0};
  if (const auto* expire = std::get_if<ExpireLeases>(&request)) {
    done = ApplyAdmin(now, subscription, *expire);
  } else if (const auto* fail = std::get_if<FailNext>(&request)) {
    done = ApplyAdmin(subscription, *fail);
  } else if (const auto* pause = std::get_if<PauseStreams>(&request)) {
    done = ApplyAdmin(now, subscription, *pause);
  } else {
    done = subscription.streams.all().size();
    CloseAllStreams(subscription, absl::UnavailableError("The stream was recycled: the admin API asked for it."), out);
  }
  Dispatch(now, subscription, out);
  return done;
}

absl::StatusOr<uint64_t> Broker::Impl::ApplyAdmin(Instant now, Subscription& subscription,
                                                  const ExpireLeases& request) {
  std::vector<Sequence> leased;
  subscription.ForEachLease(now, [&](const AckedDelivery& delivery, Duration) {
    const LoggedMessage& message = *subscription.topic.log.Find(delivery.sequence);
    if (request.message_id.empty() || message.message.message_id() == request.message_id) {
      leased.push_back(delivery.sequence);
    }
  });
  if (leased.empty() && !request.message_id.empty()) {
    return absl::NotFoundError(StrCat("message_id: no lease on message '", request.message_id, "'"));
  }
  uint64_t ended = 0;
  for (const Sequence sequence : leased) {
    // The end of one may have taken back others of its ordering key.
    const Delivery* delivery = subscription.Find(sequence);
    if (delivery == nullptr || delivery->state != State::kLeased) continue;
    subscription.EndLease(sequence);
    Return(now, subscription, sequence, LeaseEnd::kExpired, now);
    ++ended;
  }
  return ended;
}

absl::StatusOr<uint64_t> Broker::Impl::ApplyAdmin(Subscription& subscription, const FailNext& request) {
  if (request.times > FailNext::kTimesMax) return OutOfRange("times", request.times, 0, FailNext::kTimesMax);
  PlannedFailures& planned = request.ack ? subscription.fail_acks : subscription.fail_modacks;
  planned = {.times = request.times, .permanent = request.permanent};
  return request.times;
}

absl::StatusOr<uint64_t> Broker::Impl::ApplyAdmin(Instant now, Subscription& subscription,
                                                  const PauseStreams& request) {
  if (request.length < Duration{0} || request.length > PauseStreams::kLengthMax) {
    const auto seconds = [](Duration length) {
      return std::chrono::duration_cast<std::chrono::seconds>(length).count();
    };
    return OutOfRange("seconds", seconds(request.length), 0, seconds(PauseStreams::kLengthMax));
  }
  subscription.paused_until = request.length > Duration{0} ? std::optional(now + request.length) : std::nullopt;
  return subscription.streams.all().size();
}

absl::StatusOr<uint64_t> Broker::Impl::ApplyAdmin(Instant now, const SetResponses& request, Actions& out) {
  if (request.messages_max && (*request.messages_max < 1 || *request.messages_max > SetResponses::kMessagesMax)) {
    return OutOfRange("messages_max", static_cast<int64_t>(*request.messages_max), 1,
                      static_cast<int64_t>(SetResponses::kMessagesMax));
  }
  options_.messages_per_response_max = request.messages_max.value_or(options_.messages_per_response_max);
  options_.response_policy = request.policy.value_or(options_.response_policy);
  const std::vector<Subscription*> all = catalog_.Subscriptions();
  for (Subscription* subscription : all) {
    if (options_.response_policy == ResponsePolicy::kEager) subscription->streams.OpenAllGates();
    Advance(now, *subscription);
    Dispatch(now, *subscription, out);
  }
  return all.size();
}

// Whether this request is one that is to fail; then it is answered.
bool Broker::Impl::FailsAsPlanned(Instant now, Subscription& subscription, LeaseRequest& request, Actions& out) {
  PlannedFailures& planned = request.ack ? subscription.fail_acks : subscription.fail_modacks;
  if (planned.times == 0) return false;
  --planned.times;
  for (LeaseRequest::Item& item : request.items) {
    Fail(now, subscription, request, item, LeaseFailure::Why::kPlanned);
    item.failed = planned.permanent;
  }
  constexpr char kAsked[] = "The admin API asked for this failure.";
  if (!planned.permanent) {
    Refuse(request, absl::UnavailableError(kAsked), out);
  } else if (!request.exactly_once) {
    Refuse(request, absl::InvalidArgumentError(kAsked), out);
  } else {
    Applied(now, std::make_shared<LeaseRequest>(std::move(request)), out);
  }
  return true;
}

absl::StatusOr<LeaseReport> Broker::Impl::Leases(Instant now, const std::string& name) {
  const absl::StatusOr<Subscription*> found = SubscriptionNamed(name);
  if (!found.ok()) return found.status();
  Subscription& subscription = **found;
  LeaseReport report;
  report.subscription = name;
  report.unacked = subscription.unacked();
  report.ready = subscription.ready();
  report.streams = subscription.streams.all().size();
  subscription.ForEachLease(now, [&](const AckedDelivery& leased, Duration remaining) {
    if (report.leases.size() >= LeaseReport::kLeasesMax) {
      report.truncated = true;
      return;
    }
    const Delivery& delivery = *subscription.Find(leased.sequence);
    const pubsub::Message& message = subscription.topic.log.Find(leased.sequence)->message;
    LeaseReport::Lease& lease = report.leases.emplace_back();
    lease.message_id = message.message_id();
    lease.ordering_key = message.ordering_key();
    lease.ack_id = FormatAckId(options_.ack_id_key, {subscription.id, leased.sequence, leased.generation});
    lease.generation = leased.generation;
    lease.remaining = remaining;
    if (delivery.stream) lease.stream = static_cast<uint64_t>(*delivery.stream);
    lease.held_after_restart = delivery.held_after_restart;
  });
  if (subscription.ordered()) AddBlockedKeys(subscription, report);
  return report;
}

void Broker::Impl::AddBlockedKeys(Subscription& subscription, LeaseReport& report) {
  std::map<std::string, LeaseReport::BlockedKey> keys;
  subscription.ForEachUnacked([&](Sequence sequence, const Delivery& delivery) {
    const pubsub::Message& message = subscription.topic.log.Find(sequence)->message;
    if (message.ordering_key().empty()) return;
    const auto [entry, first] = keys.try_emplace(std::string(message.ordering_key()));
    if (first) {
      entry->second.ordering_key = entry->first;
      entry->second.message_id = message.message_id();
      entry->second.state = NameOf(delivery.state);
    } else if (!IsOut(delivery.state)) {
      ++entry->second.waiting;
    }
  });
  for (auto& [key, blocked] : keys) {
    if (blocked.waiting == 0) continue;
    report.truncated |= report.blocked.size() >= LeaseReport::kKeysMax;
    if (report.blocked.size() < LeaseReport::kKeysMax) report.blocked.push_back(std::move(blocked));
  }
}

}  // namespace hopgap::broker
