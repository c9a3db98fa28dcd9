// Calls, publishes and resources; what is leased stands in checkers_leases.cc.

#include "sim/checkers.h"

#include <algorithm>

#include "base/draw.h"
#include "base/text.h"
#include "pubsub/error_details.h"

namespace hopgap::sim {

using pubsub::Method;

void Checkers::Break(Instant now, std::string promise, std::string what) {
  if (!violation_) violation_ = Violation{now, std::move(promise), std::move(what)};
}

SubscriptionBook* Checkers::Find(const std::string& name) {
  const auto found = subscriptions_.find(name);
  return found == subscriptions_.end() ? nullptr : &found->second;
}

void Checkers::CallArrived(Instant now, uint64_t id, Method method, const pubsub::Request& request) {
  ++tally_.calls;
  if (log_) log_(now, StrCat("call ", id, " ", pubsub::MethodPath(method)));
  CallBook call;
  call.method = method;
  call.arrived = now;
  NoteRequest(now, id, call, request);
  if (!calls_.emplace(id, std::move(call)).second) Break(now, "driver", "a call id was used twice");
}

void Checkers::NoteRequest(Instant now, uint64_t id, CallBook& call, const pubsub::Request& request) {
  const auto ask_all = [&](const std::string& name, const std::vector<std::string>& ids, bool ack, int32_t seconds) {
    call.resource = name;
    SubscriptionBook* subscription = Find(name);
    if (subscription == nullptr) return;
    for (const std::string& ack_id : ids)
      call.asked.emplace_back(ack_id, Ask(now, *subscription, ack_id, ack, seconds));
  };
  if (const auto* publish = std::get_if<pubsub::PublishRequest>(&request)) {
    call.resource = publish->topic;
    for (const pubsub::Message& message : publish->messages) {
      BodyBook& body = bodies_[std::string(message.data())];
      body.topic = publish->topic;
      body.key = message.ordering_key();
      body.number = message.Attribute("n").value_or("");
      ++body.arrivals;
      call.bodies.emplace_back(message.data());
    }
  } else if (const auto* ack = std::get_if<pubsub::AcknowledgeRequest>(&request)) {
    ask_all(ack->subscription, ack->ack_ids, true, 0);
  } else if (const auto* modify = std::get_if<pubsub::ModifyAckDeadlineRequest>(&request)) {
    ask_all(modify->subscription, modify->ack_ids, false, modify->ack_deadline_seconds);
  } else if (const auto* pull = std::get_if<pubsub::PullRequest>(&request)) {
    call.resource = pull->subscription;
    call.pull_max = pull->max_messages;
  } else if (const auto* make = std::get_if<pubsub::CreateSubscriptionRequest>(&request)) {
    call.resource = make->subscription.name;
    call.subscription = make->subscription;
    // It may get messages before the answer to its creation leaves.
    SubscriptionBook& book = subscriptions_[call.resource];
    if (book.value.name.empty()) NoteMade(book, make->subscription);
  } else if (const auto* topic = std::get_if<pubsub::CreateTopicRequest>(&request)) {
    call.resource = topic->topic.name;
  } else if (const auto* named = std::get_if<pubsub::NameRequest>(&request)) {
    call.resource = named->name;
    SubscriptionBook* subscription = Find(named->name);
    if (call.method == Method::kDeleteSnapshot) snapshots_[named->name].leaving = true;
    if (subscription == nullptr) return;
    call.version = subscription->updates;
    const bool leaves = call.method == Method::kDeleteSubscription || call.method == Method::kDetachSubscription;
    subscription->leaving |= leaves;
  } else {
    NoteChange(now, id, call, request);
  }
}

void Checkers::Replied(Instant now, uint64_t id, const absl::Status& status, std::string_view details,
                       const pubsub::Bytes& payload) {
  if (log_) log_(now, StrCat("answer ", id, " ", absl::StatusCodeToString(status.code()), " ", status.message()));
  const auto found = calls_.find(id);
  if (found == calls_.end()) return Break(now, "one answer", "an answer to a call that is not open");
  CallBook call = std::move(found->second);
  calls_.erase(found);
  SubscriptionBook* subscription = Find(call.resource);
  const bool of_snapshot = call.method == Method::kSeek && !call.snapshot.empty();
  if (subscription != nullptr && subscription->made < call.arrived && !subscription->leaving && !of_snapshot &&
      status.code() == absl::StatusCode::kNotFound) {
    return Break(now, "resources stay", StrCat(call.resource, " is not found although its creation was answered"));
  }
  switch (call.method) {
    case Method::kPublish: return PublishReplied(now, call, status, payload);
    case Method::kAcknowledge:
    case Method::kModifyAckDeadline: return LeaseReplied(now, call, status, details);
    case Method::kPull: {
      if (!status.ok()) return;
      const auto messages = pubsub::DecodePullResponse(payload);
      if (!messages.ok())
        return Break(now, "wire", StrCat("a pull's answer cannot be read: ", messages.status().ToString()));
      if (subscription == nullptr) return Break(now, "resources stay", "messages from an unknown subscription");
      if (messages->size() > static_cast<size_t>(call.pull_max) || messages->size() > per_response_max_) {
        Break(now, "limits", StrCat(messages->size(), " messages in one answer"));
      }
      const Duration shortest = std::chrono::seconds{subscription->deadline_min};
      const Duration longest = std::chrono::seconds{subscription->deadline_max};
      for (const auto& message : *messages) Deliver(now, *subscription, message, shortest, longest, kByPull | id);
      return;
    }
    case Method::kSeek:
    case Method::kCreateSnapshot:
    case Method::kDeleteSnapshot:
    case Method::kUpdateSubscription:
    case Method::kDetachSubscription: return ChangeReplied(now, id, call, status);
    case Method::kGetSubscription:
      if (subscription != nullptr && status.ok()) CheckShown(now, call, *subscription, payload);
      return;
    default: return ResourceReplied(now, call, status);
  }
}

void Checkers::ResourceReplied(Instant now, const CallBook& call, const absl::Status& status) {
  const bool exists = status.ok() || status.code() == absl::StatusCode::kAlreadyExists;
  const bool absent = status.ok() || status.code() == absl::StatusCode::kNotFound;
  SubscriptionBook* subscription = Find(call.resource);
  if (call.method == Method::kCreateSubscription && exists && subscription->made == kNever) subscription->made = now;
  if (call.method == Method::kDeleteSubscription && absent && subscription != nullptr) subscription->gone = true;
  if (call.method == Method::kDeleteTopic && absent) topics_gone_.emplace(call.resource, now);
}

// A message id belongs to one message, and a message to one of the bodies sent.
MessageBook* Checkers::Identify(Instant now, MessageId id, std::string_view body, std::string_view topic) {
  const auto [found, fresh] = messages_.try_emplace(id);
  MessageBook& message = found->second;
  if (!fresh) {
    if (message.data == body) return &message;
    Break(now, "one id, one message", StrCat("message ", id, " is \"", message.data, "\" and \"", body, "\""));
    return nullptr;
  }
  const auto known = bodies_.find(std::string(body));
  if (known == bodies_.end() || known->second.topic != topic) {
    Break(now, "nothing from nowhere", StrCat("message ", id, " has a body that nobody published to ", topic));
    return nullptr;
  }
  message.data = body;
  message.topic = topic;
  message.key = known->second.key;
  message.number = known->second.number;
  if (++known->second.ids > known->second.arrivals) {
    Break(now, "nothing from nowhere",
          StrCat("\"", body, "\" became ", known->second.ids, " messages of ", known->second.arrivals, " requests"));
    return nullptr;
  }
  return &message;
}

void Checkers::PublishReplied(Instant now, const CallBook& call, const absl::Status& status,
                              const pubsub::Bytes& payload) {
  if (!status.ok()) {
    // Refused as a whole: none of it may ever be seen.
    for (const std::string& body : call.bodies) {
      BodyBook& book = bodies_[body];
      if (--book.arrivals < book.ids)
        Break(now, "nothing from nowhere", StrCat("\"", body, "\" was refused, and came"));
    }
    return;
  }
  const auto ids = pubsub::DecodePublishResponse(payload.view());
  if (!ids.ok() || ids->size() != call.bodies.size()) return Break(now, "wire", "a publish's answer cannot be read");
  if (const auto gone = topics_gone_.find(call.resource); gone != topics_gone_.end() && gone->second < call.arrived) {
    return Break(now, "resources stay", StrCat("published to ", call.resource, " after its deletion was answered"));
  }
  for (size_t i = 0; i < ids->size(); ++i) {
    const std::optional<MessageId> id = ParseNumber<MessageId>((*ids)[i]);
    if (!id) return Break(now, "wire", StrCat("message id \"", (*ids)[i], "\""));
    MessageBook* message = Identify(now, *id, call.bodies[i], call.resource);
    if (message == nullptr) return;
    if (std::exchange(message->answered, true)) {
      return Break(now, "one id, one message", StrCat("two publishes were answered with id ", *id));
    }
    message->arrived = call.arrived;
    for (auto& [name, subscription] : subscriptions_) {
      if (subscription.value.topic == call.resource && subscription.made < call.arrived) {
        Expect(subscription, *id, *message);
      }
    }
  }
}

void Checkers::LeaseReplied(Instant now, CallBook& call, const absl::Status& status, std::string_view details) {
  SubscriptionBook* subscription = Find(call.resource);
  if (subscription == nullptr) return;
  const auto listed = pubsub::DecodeErrorMetadata(details);
  for (const auto& [id, asked] : call.asked) {
    Outcome outcome = status.ok() ? Outcome::kOk : Outcome::kUnknown;
    const auto entry = listed.find(id);
    if (entry != listed.end() && entry->second == pubsub::kPermanentInvalidAckId) outcome = Outcome::kPermanent;
    Settle(now, *subscription, id, asked, outcome);
  }
}

void Checkers::CallCancelled(Instant now, uint64_t call) {
  if (log_) log_(now, StrCat("cancelled ", call));
  const auto found = calls_.find(call);
  if (found == calls_.end()) return;
  Abandon(now, found->second);
  calls_.erase(found);
}

void Checkers::Ended(Instant now) {
  if (log_) log_(now, "the process ended");
  ++epoch_;
  ++tally_.crashes;
  for (const auto& [id, call] : calls_) Abandon(now, call);
  calls_.clear();
  streams_.clear();
  for (auto& [name, subscription] : subscriptions_) {
    const bool held = subscription.exactly_once() && !subscription.value.enable_message_ordering;
    for (auto& [id, entry] : subscription.inbox) {
      if (!entry.newest) continue;
      entry.newest->modacks_pending = 0;
      entry.newest->held = held && entry.newest->lease_min > now && entry.newest->epoch + 1 == epoch_;
      // Standard leases are forgotten.
      if (!subscription.exactly_once()) entry.newest->lease_min = std::min(entry.newest->lease_min, now);
    }
  }
}

void Checkers::Recorded(const trace::Event& event) {
  if (event.what == trace::What::kWritten) written_.insert(event.delivery);
}

void Checkers::Quiet(Instant now, const broker::Census& census) {
  for (const auto& [id, call] : calls_) {
    if (call.method == Method::kPull) continue;  // it may wait
    Break(now, "one answer", StrCat("a call of method ", static_cast<int>(call.method), " was never answered"));
  }
  for (const auto& [id, stream] : streams_) {
    if (!stream.asked.empty())
      Break(now, "one answer", StrCat("nothing on a stream said what became of ", stream.asked[0].first));
  }
  for (const auto& [name, subscription] : subscriptions_) {
    if (!subscription.leaving) CheckDrained(now, subscription);
  }
  if (!written_.empty()) Break(now, "spans", "a delivery was recorded that was never written");
  const auto empty = [&](std::string_view what, uint64_t count) {
    if (count != 0) Break(now, "nothing leaks", StrCat(what, ": ", count, " left at the end"));
  };
  empty("unacknowledged messages", census.unacked);
  empty("leases", census.leases);
  empty("retained messages", census.retained_messages);
  empty("retained bytes", census.retained_bytes);
  empty("messages outstanding on streams", census.outstanding_messages);
  empty("bytes outstanding on streams", census.outstanding_bytes);
  empty("calls that added delays hold", census.holds);
  empty("held actions", census.held);
  empty("awaited groups", census.awaited_groups);
  if (census.waiting_pulls != calls_.size()) {
    Break(now, "nothing leaks", StrCat(census.waiting_pulls, " pulls wait, ", calls_.size(), " are open"));
  }
}

void Checkers::CheckDrained(Instant now, const SubscriptionBook& subscription) {
  for (const auto& [id, entry] : subscription.inbox) {
    if (!entry.due || entry.finished()) continue;
    // Which of several messages with one body a dead letter was, nobody can say.
    if (subscription.value.dead_letter_policy && bodies_[messages_[id].data].ids > 1) continue;
    return Break(now, "delivered until acknowledged",
                 StrCat("message ", id, " of ", subscription.value.name, " was published, delivered ", entry.deliveries,
                        " times, and never acknowledged"));
  }
}

}  // namespace hopgap::sim
