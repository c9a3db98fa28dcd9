// Deliveries, acks and modacks: what an ack id may do when it comes, and when a
// message may be delivered again.

#include <algorithm>

#include "base/text.h"
#include "sim/checkers.h"
#include "trace/event.h"

namespace hopgap::sim {

namespace {
constexpr uint32_t kUnclear = ~uint32_t{0};
}

// ---- what is asked -------------------------------------------------------------------------------------------------

Asked Checkers::Ask(Instant now, SubscriptionBook& subscription, const std::string& id, bool ack, int32_t seconds) {
  if (log_) log_(now, StrCat("  ", ack ? "ack" : "modack", " ", seconds, " s of ", id));
  Asked asked{.ack = ack, .seconds = seconds, .arrived = now};
  const auto known = subscription.ids.find(id);
  if (known == subscription.ids.end()) return asked;
  InboxEntry& entry = subscription.inbox[known->second.message];
  if (!entry.newest) return asked;
  const bool certain = subscription.seeks_pending == 0 && subscription.kind != SubscriptionBook::Kind::kUnclear;
  asked.version = certain ? subscription.version : 0;
  asked.lapsed = now >= LeasedUntil(now, subscription, known->second.message) && !entry.acked;
  if (ack) {
    AskAck(now, subscription, id, entry, asked);
  } else {
    AskModify(now, id, entry, asked);
  }
  const bool first = FirstOfItsKey(subscription, known->second.message);
  // A standard ack that came too early for its key ends the lease; a switch or a restart may forget the ack.
  const bool early = ack && !subscription.exactly_once() && entry.newest->ack_id == id &&
                     !CertainlyFirst(subscription, known->second.message);
  if (early) entry.newest->lease_min = std::min(entry.newest->lease_min, now);
  asked.early = early;
  if (subscription.leaving || (ack && !entry.acked && !first)) asked.must = false;
  if (asked.lapsed) asked.must = false;
  if (entry.unclear || (entry.passed && !entry.acked)) asked.must = false;
  // Before it was switched to exactly-once delivery it may have given what it gives now.
  if (subscription.exactly_once() && known->second.once != 1 + subscription.switches && !entry.acked) {
    asked.may = true;
    entry.ack_maybe |= ack;
    entry.more_attempts += ack ? 0 : 1;
    ++entry.newest->touches;
  }
  asked.touches = entry.newest->touches;
  return asked;
}

void Checkers::AskAck(Instant now, SubscriptionBook& subscription, const std::string& id, InboxEntry& entry,
                      Asked& asked) {
  if (entry.acked) {
    asked.may = asked.must = id == entry.winner;
    return;
  }
  DeliveryBook& newest = *entry.newest;
  const bool restarted = newest.epoch != epoch_;
  if (newest.voided && subscription.exactly_once()) return;
  if (newest.ack_id != id) {
    // A standard subscription takes a late ack unless somebody has the message now.
    const bool taken = !subscription.exactly_once() && (asked.lapsed || restarted);
    entry.ack_maybe |= taken;
    newest.touches += taken ? 1 : 0;
    // It may be the one that acked before a seek that left the message as it was.
    asked.may = entry.unclear && entry.winner == id;
    return;
  }
  asked.repeat = newest.ack_came;
  asked.may = (now < newest.lease_max && !newest.nacked) || newest.ack_came || restarted || entry.unclear;
  // A standard ack that came too early for its key ends the lease, and is forgotten with a switch.
  const bool early = newest.ack_came && subscription.switches > 0;
  asked.must = now < newest.lease_min && !newest.nack_came && !early;
  if (!subscription.exactly_once()) {
    entry.ack_maybe = true;
    newest.touches += asked.may ? 0 : 1;
    if (restarted) asked.must = false;  // a restart forgets standard leases
  }
  if (!asked.may) return;
  entry.ack_maybe = true;
  newest.ack_came = true;
  ++newest.touches;
}

void Checkers::AskModify(Instant now, const std::string& id, InboxEntry& entry, Asked& asked) {
  DeliveryBook& newest = *entry.newest;
  if (entry.acked || newest.ack_id != id || newest.voided) return;
  const bool restarted = newest.epoch != epoch_;
  asked.may = (now < newest.lease_max && !newest.nacked) || restarted;
  asked.must = now < newest.lease_min && !newest.ack_came && !newest.nack_came;
  if (!asked.may) return;
  ++newest.touches;
  asked.alone = newest.modacks_pending++ == 0;
  if (asked.seconds == 0) {
    newest.nack_came = true;
    newest.lease_min = std::min(newest.lease_min, now);
    return;
  }
  const Instant deadline = now + std::chrono::seconds{asked.seconds};
  newest.lease_min = std::min(newest.lease_min, deadline);
  newest.lease_max = std::max(newest.lease_max, deadline);
}

// ---- what is answered ----------------------------------------------------------------------------------------------

void Checkers::Settle(Instant now, SubscriptionBook& subscription, const std::string& id, const Asked& asked,
                      Outcome outcome) {
  if (log_) log_(now, StrCat("  ", asked.ack ? "ack" : "modack", " of ", id, " outcome ", static_cast<int>(outcome)));
  const auto known = subscription.ids.find(id);
  InboxEntry* entry = known == subscription.ids.end() ? nullptr : &subscription.inbox[known->second.message];
  const bool newest = entry != nullptr && entry->newest && entry->newest->ack_id == id;
  if (newest && !asked.ack && asked.may && entry->newest->modacks_pending > 0) --entry->newest->modacks_pending;
  if (newest && asked.ack && outcome == Outcome::kUnknown) entry->newest->ack_unknown = true;
  // Under a seek or a switch that came since, either answer may be right.
  if (outcome == Outcome::kUnknown || (asked.version != subscription.version && entry != nullptr)) return;
  if (!subscription.exactly_once()) {
    if (subscription.kind == SubscriptionBook::Kind::kUnclear) return;
    // Any id is answered OK; only what was live for certain has changed.
    // One that came before its turn may have been taken back with what was sent before it.
    const bool for_good = asked.must && !asked.early && CertainlyFirst(subscription, known->second.message);
    if (newest && for_good && asked.ack) entry->acked_in = epoch_;
    if (newest && asked.must && !asked.ack) SettleModify(asked, *entry);
    return;
  }
  const std::string_view what = asked.ack ? "ack" : asked.seconds == 0 ? "nack" : "modack";
  if (outcome == Outcome::kOk) {
    ++tally_.acks_ok;
    if (!asked.may)
      return Break(now, "only the live id", StrCat(what, " of ", id, " was answered OK: it was not live"));
    // One from before a switch: what it acked is not known for certain.
    if (asked.ack && !newest && known->second.once != 1 + subscription.switches) return;
    // A lease that had perhaps ended counts, as after a crash that forgot its end; what ended with it may not.
    if (asked.lapsed) NoteRevoked(now, subscription, known->second.message);
    // Before it was switched to exactly-once delivery it may have acked, and a seek have left that as it was.
    if (asked.repeat && known->second.once != 1 + subscription.switches) entry->newest->ack_unknown = true;
    if (asked.ack) return SettleAck(now, subscription, id, *entry);
    if (newest) SettleModify(asked, *entry);
    return;
  }
  ++tally_.acks_refused;
  // A modack may wait until the ceiling is raised: something may have come between.
  const bool still = asked.ack || (newest && entry->newest->touches == asked.touches &&
                                   now < LeasedUntil(now, subscription, known->second.message));
  if (asked.must && still) {
    Break(now, "the live id works", StrCat(what, " of ", id, " was refused: it was live or had acked"));
  }
}

void Checkers::SettleAck(Instant now, SubscriptionBook& subscription, const std::string& id, InboxEntry& entry) {
  if (entry.acked && entry.winner != id) {
    return Break(now, "acknowledged once", StrCat(id, " acked what ", entry.winner, " had acked"));
  }
  if (entry.unclear && entry.winner == id) entry.unclear = false;  // a seek left it as it was
  if (!entry.acked && entry.winner != id && entry.newest->ack_id != id) {
    return Break(now, "acknowledged once",
                 StrCat("the ack of ", id, " was answered OK after ", entry.newest->ack_id, " was delivered on ",
                        subscription.value.name));
  }
  // One before it may have come back by a seek since it was acked.
  const bool repeats = entry.newest->ack_unknown;
  if (!entry.acked && entry.winner != id && !repeats && !FirstOfItsKey(subscription, subscription.ids[id].message)) {
    return Break(now, "in order", StrCat(id, " acked a message although one of its key before it is not"));
  }
  entry.acked = true;
  entry.unclear = false;
  entry.winner = id;
}

void Checkers::SettleModify(const Asked& asked, InboxEntry& entry) {
  DeliveryBook& newest = *entry.newest;
  if (asked.touches == kUnclear) return;  // of several on the stream, nobody can say which
  if (asked.seconds == 0) {
    newest.nacked = true;
    newest.lease_max = std::min(newest.lease_max, newest.lease_min);
    return;
  }
  if (newest.nack_came || newest.ack_came) return;
  const Instant deadline = asked.arrived + std::chrono::seconds{asked.seconds};
  // The last word, and nobody else's was on its way.
  if (newest.touches != asked.touches || !asked.alone) return;
  newest.lease_min = newest.lease_max = deadline;
}

// ---- what is delivered ---------------------------------------------------------------------------------------------

void Checkers::CheckMayDeliver(Instant now, SubscriptionBook& subscription, MessageId id, const InboxEntry& entry) {
  const std::string what = StrCat("message ", id, " was delivered on ", subscription.value.name);
  if (subscription.gone) return Break(now, "resources stay", StrCat(what, " although that was deleted or detached"));
  if (entry.acked) return Break(now, "acknowledged once", StrCat(what, " although ", entry.winner, " had acked it"));
  if (entry.acked_in == epoch_) return Break(now, "acknowledged once", StrCat(what, " after its ack, with no restart"));
  if (entry.passed) return Break(now, "seeks", StrCat(what, " although a seek had finished with it"));
  if (entry.newest && now < LeasedUntil(now, subscription, id)) {
    const Duration left = entry.newest->lease_min - now;
    Break(now, "one lease at a time",
          StrCat(what, " while ", entry.newest->ack_id, " is leased for ", ToMillis(left), " ms more"));
  }
}

void Checkers::Deliver(Instant now, SubscriptionBook& subscription, const pubsub::ReceivedMessage& received,
                       Duration lease_min, Duration lease_max, uint64_t stream) {
  const std::optional<MessageId> id = ParseNumber<MessageId>(received.message.message_id());
  if (!id) return Break(now, "wire", "a message without an id");
  if (log_) {
    log_(now, StrCat("  message ", *id, " as ", received.ack_id, " on ", subscription.value.name, ", stream ", stream));
  }
  const bool letter = received.message.Attribute("CloudPubSubDeadLetterSourceSubscription").has_value();
  MessageBook* message = letter ? IdentifyLetter(now, received, *id)
                                : Identify(now, *id, received.message.data(), subscription.value.topic);
  if (message == nullptr) return;
  const uint64_t hash = HashName(received.message.wire().view());
  if (message->bytes_hash.value_or(hash) != hash) {
    return Break(now, "one id, one message", StrCat("message ", *id, " changed between deliveries"));
  }
  message->bytes_hash = hash;
  message->published = received.message.publish_time();
  ++tally_.deliveries;
  InboxEntry& entry = subscription.inbox[*id];
  if (entry.deliveries++ > 0) ++tally_.redeliveries;
  CheckMayDeliver(now, subscription, *id, entry);
  CheckRules(now, subscription, *id, *message, entry, received, stream);
  const uint32_t once = subscription.exactly_once() ? 1 + subscription.switches : 0;
  const auto [known, fresh] = subscription.ids.try_emplace(received.ack_id, SubscriptionBook::IdBook{*id, once});
  if (!fresh && ((once != 0 && known->second.once == once) || known->second.message != *id)) {
    return Break(now, "one ack id, one delivery", StrCat("ack id ", received.ack_id, " was given twice"));
  }
  known->second.once = once;
  entry.newest = DeliveryBook{.ack_id = received.ack_id,
                              .stream = stream,
                              .epoch = epoch_,
                              .lease_min = now + lease_min,
                              .lease_max = now + lease_max};
  entry.ack_maybe = false;
  if (subscription.seeks_pending == 0) entry.unclear = false;
  // Where a seek that is not answered made them start again, a crash may bring back those before it.
  const int32_t before = entry.attempt + entry.more_attempts - received.delivery_attempt;
  entry.more_attempts = subscription.seeks_pending > 0 ? std::max(0, before) : 0;
  entry.attempt = received.delivery_attempt;
  if (received.message.Attribute(pubsub::kTraceparentAttribute)) {
    const auto event = written_.find(trace::DeliveryKey(received.ack_id));
    if (event == written_.end())
      return Break(now, "spans", StrCat("no event says that ", received.ack_id, " was written"));
    written_.erase(event);
  }
}

// ---- streams -------------------------------------------------------------------------------------------------------

void Checkers::StreamOpened(Instant now, uint64_t id, const pubsub::StreamingPullRequest& first) {
  if (log_) log_(now, StrCat("stream ", id, " opened on ", first.subscription));
  StreamBook stream;
  stream.subscription = first.subscription;
  stream.lease_min = stream.lease_max = std::chrono::seconds{first.stream_ack_deadline_seconds};
  stream.messages_max = first.max_outstanding_messages;
  stream.bytes_max = first.max_outstanding_bytes;
  // Opened while a switch is under way: it may come before or after what is asked here.
  const SubscriptionBook* subscription = Find(first.subscription);
  stream.loose = subscription != nullptr && subscription->kind == SubscriptionBook::Kind::kUnclear;
  streams_[id] = std::move(stream);
  StreamAsked(now, id, first);
}

void Checkers::StreamAsked(Instant now, uint64_t id, const pubsub::StreamingPullRequest& request) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  StreamBook& stream = found->second;
  if (request.stream_ack_deadline_seconds != 0) {
    stream.lease_min = stream.lease_max = std::chrono::seconds{request.stream_ack_deadline_seconds};
  }
  SubscriptionBook* subscription = Find(stream.subscription);
  if (subscription == nullptr) return;
  const auto ask = [&](const std::string& ack_id, bool ack, int32_t seconds) {
    Asked asked = Ask(now, *subscription, ack_id, ack, seconds);
    if (stream.loose) asked.version = 0;  // what is confirmed may be an older one
    // A standard subscription confirms nothing: what was live has grown now.
    if (subscription->exactly_once()) {
      stream.asked.emplace_back(ack_id, asked);
    } else if (subscription->kind == SubscriptionBook::Kind::kStandard) {
      Settle(now, *subscription, ack_id, asked, Outcome::kOk);
    }
  };
  for (const std::string& ack_id : request.ack_ids) ask(ack_id, true, 0);
  for (size_t i = 0; i < request.modify_deadline_ack_ids.size(); ++i) {
    ask(request.modify_deadline_ack_ids[i], false, request.modify_deadline_seconds[i]);
  }
}

void Checkers::StreamClosed(Instant now, uint64_t id, const absl::Status& status) {
  if (log_) log_(now, StrCat("stream ", id, " closed: ", status.message()));
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;  // it was refused, or is gone
  if (found->second.write_in_flight) Break(now, "one write at a time", "a stream was closed with a write in flight");
  const SubscriptionBook* subscription = Find(found->second.subscription);
  if (status.code() == absl::StatusCode::kNotFound && subscription != nullptr && subscription->made < now &&
      !subscription->leaving) {
    Break(now, "resources stay", StrCat(subscription->value.name, " is not found although its creation was answered"));
  }
  streams_.erase(found);
}

void Checkers::StreamGone(Instant now, uint64_t id) {
  if (log_) log_(now, StrCat("stream ", id, " gone"));
  streams_.erase(id);
}

void Checkers::WriteDone(uint64_t id) {
  const auto found = streams_.find(id);
  if (found != streams_.end()) found->second.write_in_flight = false;
}

void Checkers::Wrote(Instant now, uint64_t id, const pubsub::StreamingPullResponse& response) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return Break(now, "one answer", "a write to a stream that is not open");
  StreamBook& stream = found->second;
  if (std::exchange(stream.write_in_flight, true)) Break(now, "one write at a time", "a second write on a stream");
  SubscriptionBook* subscription = Find(stream.subscription);
  if (subscription == nullptr) return Break(now, "resources stay", "messages from an unknown subscription");
  const bool known_kind = subscription->kind != SubscriptionBook::Kind::kUnclear;
  if (known_kind && response.properties.exactly_once_delivery_enabled != subscription->exactly_once()) {
    Break(now, "wire", "a response says the wrong kind of subscription");
  }
  if (response.received_messages.size() > per_response_max_) {
    Break(now, "limits", StrCat(response.received_messages.size(), " messages in one response"));
  }
  Confirm(now, *subscription, stream, true, response.acknowledge_confirmation);
  Confirm(now, *subscription, stream, false, response.modify_ack_deadline_confirmation);
  for (const pubsub::ReceivedMessage& message : response.received_messages) {
    Deliver(now, *subscription, message, stream.lease_min, stream.lease_max, id);
  }
  CheckCredit(now, stream, *subscription, response);
}

void Checkers::Confirm(Instant now, SubscriptionBook& subscription, StreamBook& stream, bool ack,
                       const pubsub::Confirmation& confirmation) {
  const auto settle = [&](const std::vector<std::string>& ids, Outcome outcome) {
    for (const std::string& id : ids) {
      const auto asked = std::find_if(stream.asked.begin(), stream.asked.end(),
                                      [&](const auto& a) { return a.first == id && a.second.ack == ack; });
      if (asked == stream.asked.end() && stream.loose) continue;
      if (asked == stream.asked.end()) return Break(now, "one answer", StrCat(id, " is confirmed, but nobody asked"));
      // Asked more than once, it does not say which: each gets the widest judgement.
      for (auto other = asked + 1; other != stream.asked.end(); ++other) {
        if (other->first != id || other->second.ack != ack) continue;
        for (Asked* one : {&asked->second, &other->second}) one->touches = kUnclear;
        asked->second.version = other->second.version = std::min(asked->second.version, other->second.version);
        asked->second.may = other->second.may = asked->second.may || other->second.may;
        asked->second.must = other->second.must = asked->second.must && other->second.must;
      }
      const Asked judged = asked->second;
      stream.asked.erase(asked);
      Settle(now, subscription, id, judged, outcome);
    }
  };
  settle(confirmation.ack_ids, Outcome::kOk);
  settle(confirmation.invalid_ack_ids, Outcome::kPermanent);
  settle(confirmation.unordered_ack_ids, Outcome::kUnknown);
  settle(confirmation.temporary_failed_ack_ids, Outcome::kUnknown);
}

// What certainly is outstanding on the stream stays within what it asked for.
void Checkers::CheckCredit(Instant now, StreamBook& stream, SubscriptionBook& subscription,
                           const pubsub::StreamingPullResponse& response) {
  if (response.received_messages.empty() || (stream.messages_max <= 0 && stream.bytes_max <= 0)) return;
  for (const pubsub::ReceivedMessage& message : response.received_messages) {
    stream.out.push_back({ParseNumber<MessageId>(message.message.message_id()).value_or(0), message.ack_id,
                          message.message.wire_size()});
  }
  std::erase_if(stream.out, [&](const StreamBook::Out& out) {
    const InboxEntry& entry = subscription.inbox[out.message];
    const bool newest = entry.newest && entry.newest->ack_id == out.ack_id;
    return !newest || entry.acked || entry.passed || entry.unclear || entry.newest->ack_came ||
           entry.newest->nack_came || now >= LeasedUntil(now, subscription, out.message);
  });
  int64_t bytes = 0;
  for (const StreamBook::Out& out : stream.out) bytes += static_cast<int64_t>(out.bytes);
  const auto count = static_cast<int64_t>(stream.out.size());
  if (stream.messages_max > 0 && count > stream.messages_max) {
    Break(now, "flow control", StrCat(count, " messages out on a stream that asked for ", stream.messages_max));
  }
  // The last one may cross it.
  if (stream.bytes_max > 0 && count > 0 && bytes - static_cast<int64_t>(stream.out.back().bytes) >= stream.bytes_max) {
    Break(now, "flow control", StrCat(bytes, " bytes out on a stream that asked for ", stream.bytes_max));
  }
}

}  // namespace hopgap::sim
