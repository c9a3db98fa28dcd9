// Publish: limits are checked when the request arrives, all messages or none;
// an added delay may hold it; then it takes its sequences and goes to the
// journal, and only from there to subscriptions and to its answer.

#include <algorithm>

#include "base/text.h"
#include "broker/chores.h"
#include "broker/errors.h"
#include "pubsub/limits.h"

namespace hopgap::broker {
namespace {

// A publish group carries a raise of B while less than this waits to be sent:
// with a real backlog a raise would only enlarge what a crash holds back.
constexpr size_t kBacklogForRaise = 1000;

// What acceptance and the journal add to a message: id, publish time, lengths.
constexpr size_t kAddedBytesMax = 128;

absl::Status CheckAttributes(const pubsub::Message& message) {
  if (message.attribute_count() == 0) return absl::OkStatus();
  if (message.attribute_count() > pubsub::kAttributesMax) {
    return TooLarge("attribute_count", message.attribute_count(), pubsub::kAttributesMax);
  }
  for (const auto& [key, value] : message.Attributes()) {
    if (key.size() < pubsub::kAttributeKeyBytesMin)
      return TooSmall("attribute_key_size", 0, pubsub::kAttributeKeyBytesMin);
    if (key.size() > pubsub::kAttributeKeyBytesMax) {
      return TooLarge("attribute_key_size", key.size(), pubsub::kAttributeKeyBytesMax);
    }
    if (value.size() > pubsub::kAttributeValueBytesMax) {
      return TooLarge("attribute_value_size", value.size(), pubsub::kAttributeValueBytesMax);
    }
    if (key.starts_with(pubsub::kReservedPrefix) && !key.starts_with(pubsub::kClientAttributePrefix)) {
      return BadArgument(
          StrCat("attribute key \"", key, "\" begins with the reserved prefix \"", pubsub::kReservedPrefix, "\""));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPublish(const pubsub::PublishRequest& request) {
  const size_t count = request.messages.size();
  if (request.wire_size > pubsub::kTransportBytesMax) return PayloadTooLarge(pubsub::kTransportBytesMax);
  if (request.wire_size > pubsub::kPublishRequestBytesMax) {
    return TooLarge("request_size", request.wire_size, pubsub::kPublishRequestBytesMax);
  }
  if (count < pubsub::kPublishMessagesMin)
    return TooSmall("message_count", static_cast<int64_t>(count), pubsub::kPublishMessagesMin);
  if (count > pubsub::kPublishMessagesMax) return TooLarge("message_count", count, pubsub::kPublishMessagesMax);
  for (const pubsub::Message& message : request.messages) {
    if (message.data().empty() && message.attribute_count() == 0) {
      return absl::InvalidArgumentError(
          "One or more messages in the publish request is empty. Each message must contain either non-empty data, or "
          "at least one attribute.");
    }
    if (absl::Status status = CheckAttributes(message); !status.ok()) return status;
    if (message.ordering_key().size() > pubsub::kOrderingKeyBytesMax) {
      return TooLarge("ordering_key_size", message.ordering_key().size(), pubsub::kOrderingKeyBytesMax);
    }
    if (message.ordering_key() != request.messages[0].ordering_key()) {
      return absl::InvalidArgumentError(
          "In a single publish request, all messages must have no ordering key or they must all have the same ordering "
          "key.");
    }
  }
  return absl::OkStatus();
}

}  // namespace

// One request on its way. Shared, because what waits for the journal or for a
// delay is a copyable function.
struct Broker::Impl::PendingPublish {
  CallId call{};
  Incarnation topic = 0;
  uint16_t place = 0;
  std::vector<LoggedMessage> messages;  // until they are in the log
  struct Name {
    trace::MessageKey key;
    uint64_t id;
  };
  std::vector<Name> names;
  Sequence first = 0;
  std::vector<SendBoundRaised> raises;  // in the same group
  size_t bytes = 0;
  Duration before{0}, after{0};
  bool holds = false;
};

void Broker::Impl::Publish(Instant now, CallId call, pubsub::PublishRequest request, Actions& out) {
  const absl::StatusOr<Topic*> topic = TopicNamed(request.topic);
  if (!topic.ok()) return Reply(call, topic.status(), out);
  if (absl::Status status = CheckPublish(request); !status.ok()) return Reply(call, std::move(status), out);
  auto publish = std::make_shared<PendingPublish>();
  publish->call = call;
  for (const pubsub::Message& message : request.messages) publish->bytes += message.wire_size();
  if (catalog_.retained_bytes() + held_publish_bytes_ + publish->bytes > options_.retained_bytes_max) {
    ++counters_.refused_publishes;
    return Reply(call, LimitReached("bytes of messages that are not acknowledged yet", options_.retained_bytes_max),
                 out);
  }
  if (publish->bytes + request.messages.size() * kAddedBytesMax > durability_.publish_room()) {
    ++counters_.refused_publishes;
    return Reply(call, DiskFull(), out);
  }
  if ((*topic)->delays != nullptr && holds_ >= options_.held_max) {
    return Reply(call, LimitReached("calls that added delays hold", options_.held_max), out);
  }
  Accept(now, **topic, std::move(request.messages), *publish);
  // One that is not late itself waits, too, for those with a key that are held
  // before it, also when their time has come and nobody has looked yet.
  const bool keyed = !publish->messages[0].message.ordering_key().empty();
  if (publish->before <= Duration{0} && !(keyed && (*topic)->keyed_held > 0)) return Append(now, publish, out);
  if (!publish->holds) ++holds_;
  publish->holds = true;
  Instant due = now + publish->before;
  if (keyed) {
    due = (*topic)->keyed_due = std::max((*topic)->keyed_due, due);
    ++(*topic)->keyed_held;
  }
  held_publish_bytes_ += publish->bytes;
  held_.Add(due, [this, publish, keyed](Instant at, Actions& then) {
    held_publish_bytes_ -= publish->bytes;
    if (Topic* held_for = keyed ? catalog_.FindTopic(publish->topic) : nullptr) --held_for->keyed_held;
    Append(at, publish, then);
  });
}

// From here on the messages have ids and arrival numbers, and their draws.
void Broker::Impl::Accept(Instant now, Topic& topic, std::vector<pubsub::Message> messages, PendingPublish& publish) {
  publish.topic = topic.id;
  publish.place = topic.place;
  publish.messages.reserve(messages.size());
  publish.names.reserve(messages.size());
  for (pubsub::Message& message : messages) {
    LoggedMessage logged{.message = {}, .key = KeyOf(message), .draw = {}, .id = next_message_id_++, .references = 0};
    if (any_delays_) {
      logged.draw = DrawKeyFor(message.Attribute(pubsub::kDrawAttribute), topic.value.name, topic.arrivals++);
    }
    logged.message = std::move(message);
    publish.names.push_back({logged.key, logged.id});
    publish.messages.push_back(std::move(logged));
  }
  RecordPublish(read_at_, publish, trace::What::kAccepted);
  if (topic.delays == nullptr) return;
  DrawPublishLegs(now, topic, publish);
  publish.holds = publish.before > Duration{0} || publish.after > Duration{0};
  if (publish.holds) ++holds_;
  for (const PendingPublish::Name& name : publish.names) {
    if (publish.before <= Duration{0}) break;
    Trace(name.key, {.at = now,
                     .delivery = name.id,
                     .value = publish.before.count(),
                     .what = trace::What::kDelayAdded,
                     .place = publish.place,
                     .count = static_cast<uint16_t>(Leg::kPublishBefore)});
  }
}

// Of several messages the largest delay holds for all.
void Broker::Impl::DrawPublishLegs(Instant now, Topic& topic, PendingPublish& publish) const {
  for (const auto& [leg, delay] :
       {std::pair{Leg::kPublishBefore, &publish.before}, std::pair{Leg::kPublishAfter, &publish.after}}) {
    const bool cold = topic.uses.NoteUse(leg, now, topic.delays->profile());
    for (const LoggedMessage& message : publish.messages) {
      *delay = std::max(*delay, topic.delays->Draw(false, leg, message.draw, 0, cold));
    }
  }
}

void Broker::Impl::Append(Instant now, const std::shared_ptr<PendingPublish>& publish, Actions& out) {
  Topic* topic = catalog_.FindTopic(publish->topic);
  const bool gone = topic == nullptr || topic->deleted;
  if (gone || stopping_) {
    if (publish->holds) --holds_;
    const absl::Status status =
        stopping_ ? Stopping() : absl::NotFoundError("The topic was deleted before the commit.");
    return Reply(publish->call, status, out);
  }
  const WallTime publish_time = options_.anchor.ToWall(now);
  publish->first = topic->log.next();
  Published record{.topic = topic->id, .first = publish->first, .messages = {}};
  record.messages.reserve(publish->messages.size());
  for (LoggedMessage& logged : publish->messages) {
    logged.message = logged.message.Accepted(StrCat(logged.id), publish_time);
    record.messages.push_back(logged.message);
    topic->Take(std::move(logged));
  }
  publish->messages.clear();
  publish->raises = RaiseBounds(now, *topic);
  std::vector<Record> records;
  records.emplace_back(std::move(record));
  if (!Has(Planted::kBoundNotRaised)) records.insert(records.end(), publish->raises.begin(), publish->raises.end());
  if (Has(Planted::kPublishAnsweredBeforeCommit)) FinishPublish(now, *publish, out), publish->holds = false;
  if (Has(Planted::kDeliveredBeforeCommit)) {
    OnLogged(now, publish->topic, publish->first, publish->names.size(), publish->raises, out);
  }
  commits_.Persist(
      records, [this, publish](Instant at, Actions& then) { OnPublished(at, publish, then); }, out);
}

// With no backlog the group that commits the messages also lets them be sent.
std::vector<SendBoundRaised> Broker::Impl::RaiseBounds(Instant now, const Topic& topic) const {
  const Sequence end = topic.log.next();
  std::vector<SendBoundRaised> raises;
  for (Subscription* subscription : topic.subscriptions) {
    if (!subscription->exactly_once() || subscription->bound.requested() >= end || !subscription->Wants()) continue;
    if (subscription->ready() + subscription->awaiting_bound().size() > kBacklogForRaise) continue;
    raises.push_back({.subscription = subscription->id, .bound = subscription->bound.Raise(end, now)});
  }
  return raises;
}

void Broker::Impl::OnPublished(Instant now, const std::shared_ptr<PendingPublish>& publish, Actions& out) {
  for (size_t i = 0; i < publish->names.size(); ++i) {
    Trace(publish->names[i].key, {.at = now,
                                  .delivery = publish->names[i].id,
                                  .rpc = publish->first + i,
                                  .what = trace::What::kCommitted,
                                  .place = publish->place});
  }
  if (publish->after > Duration{0}) {
    for (const PendingPublish::Name& name : publish->names) {
      Trace(name.key, {.at = now,
                       .delivery = name.id,
                       .value = publish->after.count(),
                       .what = trace::What::kDelayAdded,
                       .place = publish->place,
                       .count = static_cast<uint16_t>(Leg::kPublishAfter)});
    }
  }
  RunAfter(
      publish->after, now, [this, publish](Instant at, Actions& then) { FinishPublish(at, *publish, then); }, out);

  OnLogged(now, publish->topic, publish->first, publish->names.size(), publish->raises, out);
}

// New messages of a topic are durable: from here on they are their subscriptions'.
void Broker::Impl::OnLogged(Instant now, Incarnation topic_id, Sequence first, size_t count,
                            const std::vector<SendBoundRaised>& raises, Actions& out) {
  for (const SendBoundRaised& raise : raises) {
    Subscription* subscription = catalog_.FindSubscription(raise.subscription);
    if (subscription != nullptr) subscription->OnBoundDurable(raise.bound);
  }
  Topic* topic = catalog_.FindTopic(topic_id);
  if (topic == nullptr) return;
  topic->committed = first + count;
  Chores(*this).OnLogged(*topic, first);
  for (Subscription* subscription : topic->subscriptions) {
    if (subscription->first > first) continue;
    for (Sequence sequence = first; sequence < first + count; ++sequence) {
      Delivery* delivery = subscription->Find(sequence);
      if (delivery == nullptr || delivery->state != Delivery::State::kUncommitted) continue;
      const Duration delay = DrawDeliver(now, *subscription, sequence, *delivery);
      subscription->MakeDeliverable(sequence, *delivery, now, now + delay);
    }
    Advance(now, *subscription);
    Dispatch(now, *subscription, out);
  }
}

void Broker::Impl::FinishPublish(Instant now, PendingPublish& publish, Actions& out) {
  if (publish.holds) --holds_;
  RecordPublish(now, publish, trace::What::kPublishReplied);
  std::vector<std::string> ids;
  ids.reserve(publish.names.size());
  for (const PendingPublish::Name& name : publish.names) ids.push_back(StrCat(name.id));
  Reply(publish.call, pubsub::Slices{pubsub::EncodePublishResponse(ids)}, out);
}

void Broker::Impl::RecordPublish(Instant now, const PendingPublish& publish, trace::What what) {
  for (const PendingPublish::Name& name : publish.names) {
    Trace(name.key, {.at = now, .delivery = name.id, .what = what, .place = publish.place});
  }
}

}  // namespace hopgap::broker
