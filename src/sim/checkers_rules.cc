// Filters, ordering keys, retry policies and dead letters.

#include <algorithm>

#include "base/text.h"
#include "sim/checkers.h"

namespace hopgap::sim {
namespace {

constexpr std::string_view kFilterBefore = "attributes.n = \"";

bool Keyed(const SubscriptionBook& subscription, const MessageBook& message) {
  return subscription.value.enable_message_ordering && !message.key.empty();
}

constexpr char kDeadLetters[] = "dead_letter_policy";

// Attempts start again with a seek, and another policy counts from another one.
bool AttemptsAreLoose(const SubscriptionBook& subscription) {
  return subscription.sought || subscription.changed(kDeadLetters);
}

}  // namespace

// Its letter may not have been seen yet.
bool Checkers::MayBeForwarded(const SubscriptionBook& subscription, const InboxEntry& entry) {
  if (!subscription.letters_from) return false;
  const auto failed = AttemptsAreLoose(subscription) ? static_cast<int32_t>(entry.deliveries) : entry.attempt;
  return failed >= *subscription.letters_from;
}

// Plans filter by one attribute only: this is that rule again, in other words.
bool Checkers::Wants(const SubscriptionBook& subscription, const MessageBook& message) {
  const std::string& filter = subscription.value.filter;
  if (filter.empty()) return true;
  return filter == StrCat(kFilterBefore, message.number, "\"");
}

void Checkers::Expect(SubscriptionBook& subscription, MessageId id, const MessageBook& message) {
  if (!Wants(subscription, message)) return;
  const bool fresh = !subscription.inbox.contains(id);
  InboxEntry& entry = subscription.inbox[id];
  entry.due = true;
  // A seek was about while it was published, and may have been later.
  const bool about = subscription.seeks_pending > 0 || subscription.sought_at >= message.arrived;
  if (about && fresh) entry.unclear = true;
  if (!fresh || !Keyed(subscription, message)) return;
  std::vector<MessageId>& line = subscription.keys[message.key];
  line.insert(std::upper_bound(line.begin(), line.end(), id), id);
}

void Checkers::CheckRules(Instant now, SubscriptionBook& subscription, MessageId id, const MessageBook& message,
                          const InboxEntry& entry, const pubsub::ReceivedMessage& received, uint64_t stream) {
  if (!Wants(subscription, message)) {
    return Break(now, "filters", StrCat("message ", id, " does not match ", subscription.value.filter));
  }
  if (entry.letters > 0 && bodies_[message.data].ids == 1 && !AttemptsAreLoose(subscription)) {
    return Break(now, "dead letters", StrCat("message ", id, " was delivered after it was forwarded"));
  }
  CheckAttempt(now, subscription, entry, received.delivery_attempt);
  CheckBackoff(now, subscription, id, entry);
  if (!Keyed(subscription, message)) return;
  std::vector<MessageId>& line = subscription.keys[message.key];
  const auto place = std::lower_bound(line.begin(), line.end(), id);
  if (place == line.end() || *place != id) line.insert(place, id);
  CheckOrder(now, subscription, id, message, stream);
  NoteRevoked(now, subscription, id);
}

// What stands before it in its key is finished, or out with the same subscriber.
void Checkers::CheckOrder(Instant now, SubscriptionBook& subscription, MessageId id, const MessageBook& message,
                          uint64_t stream) {
  for (const MessageId before : subscription.keys[message.key]) {
    if (before == id) return;
    const InboxEntry& entry = subscription.inbox[before];
    if (entry.finished() || !entry.due) continue;
    if (MayBeForwarded(subscription, entry)) continue;
    const std::string what = StrCat("message ", id, " of key ", message.key, " was delivered on ",
                                    subscription.value.name, ", and ", before, " before it");
    if (!entry.newest) return Break(now, "in order", StrCat(what, " never was"));
    const bool restarted = entry.newest->epoch != epoch_;
    // It may be held for who has it.
    if (restarted && (subscription.exactly_once() || subscription.switches > 0)) continue;
    if (restarted) return Break(now, "in order", StrCat(what, " was not, since the restart"));
    if (now >= entry.newest->lease_max) return Break(now, "in order", StrCat(what, " has come back"));
    const bool out = now < LeasedUntil(now, subscription, before);
    if (out && entry.newest->stream != stream) {
      return Break(now, "in order", StrCat(what, " is out with somebody else"));
    }
  }
}

// A message that is sent again takes along what was sent after it.
void Checkers::NoteRevoked(Instant now, SubscriptionBook& subscription, MessageId id) {
  const auto message = messages_.find(id);
  if (message == messages_.end() || !Keyed(subscription, message->second)) return;
  for (const MessageId later : subscription.keys[message->second.key]) {
    InboxEntry& entry = subscription.inbox[later];
    if (later <= id || !entry.newest) continue;
    entry.newest->lease_min = std::min(entry.newest->lease_min, now);
    ++entry.newest->touches;
  }
}

// Until when it certainly is leased: not longer than what was sent before it in
// its key.
Instant Checkers::LeasedUntil(Instant now, SubscriptionBook& subscription, MessageId id) {
  const InboxEntry& entry = subscription.inbox[id];
  if (!entry.newest) return now;
  Instant until = entry.newest->lease_min;
  const auto message = messages_.find(id);
  if (message == messages_.end() || !Keyed(subscription, message->second)) return until;
  for (const MessageId before : subscription.keys[message->second.key]) {
    const InboxEntry& earlier = subscription.inbox[before];
    if (before >= id) break;
    if (earlier.acked || !earlier.newest) continue;
    until = std::min(until, earlier.newest->lease_min);
  }
  return until;
}

// Everything before it in its key is finished, or may be.
bool Checkers::FirstOfItsKey(SubscriptionBook& subscription, MessageId id) {
  const auto message = messages_.find(id);
  if (message == messages_.end() || !Keyed(subscription, message->second)) return true;
  for (const MessageId before : subscription.keys[message->second.key]) {
    if (before >= id) return true;
    const InboxEntry& entry = subscription.inbox[before];
    if (entry.due && !entry.finished() && !MayBeForwarded(subscription, entry)) return false;
  }
  return true;
}

// Standard: an ack is for good only if all before it in its key are.
bool Checkers::CertainlyFirst(SubscriptionBook& subscription, MessageId id) {
  const auto message = messages_.find(id);
  if (message == messages_.end() || !Keyed(subscription, message->second)) return true;
  for (const MessageId before : subscription.keys[message->second.key]) {
    if (before >= id) return true;
    const InboxEntry& entry = subscription.inbox[before];
    if (entry.acked_in != epoch_ && entry.letters == 0) return false;
  }
  return true;
}

// Every delivery but the first follows a failure of the one before it. A restart
// may forget failures, and ends holds, which are none; of a key, what came back
// with another did not fail.
void Checkers::CheckAttempt(Instant now, const SubscriptionBook& subscription, const InboxEntry& entry,
                            int32_t attempt) {
  if (subscription.unclear_fields.contains(kDeadLetters)) return;
  const auto& policy = subscription.value.dead_letter_policy;
  const auto said = StrCat("attempt ", attempt, " after ", entry.attempt, ", delivery ", entry.deliveries);
  if (!policy) {
    if (attempt != 0) Break(now, "attempts", StrCat(said, ", without a dead-letter policy"));
    return;
  }
  if (subscription.changed(kDeadLetters)) {
    if (attempt < 1 || attempt > static_cast<int32_t>(entry.deliveries)) Break(now, "attempts", said);
    return;
  }
  const bool same_process = entry.newest && entry.newest->epoch == epoch_;
  const int32_t next = entry.attempt + 1;
  const bool may_stay = subscription.value.enable_message_ordering;
  const bool loose = entry.unclear || entry.more_attempts > 0 || (entry.newest && entry.newest->sought);
  if (attempt < 1 || attempt > next + entry.more_attempts || attempt > static_cast<int32_t>(entry.deliveries)) {
    Break(now, "attempts", StrCat(said, ": more than there were"));
  } else if (loose) {
    return;  // it may start again at 1
  } else if (attempt > entry.attempt && OnlyHeld(entry)) {
    Break(now, "attempts", StrCat(said, ": a hold was counted"));
  } else if (same_process && attempt != next && !(may_stay && attempt == entry.attempt)) {
    Break(now, "attempts", StrCat(said, ": one was not counted"));
  } else if (attempt > policy->max_delivery_attempts) {
    Break(now, "dead letters", StrCat(said, ": it should have been forwarded"));
  }
}

// Leased when the process ended, and held by the next one for who had it.
bool Checkers::OnlyHeld(const InboxEntry& entry) const {
  return entry.newest && entry.newest->held && entry.newest->epoch + 1 == epoch_ && !entry.newest->nack_came;
}

// A dead letter has an id of its own, and the body of what it was.
MessageBook* Checkers::IdentifyLetter(Instant now, const pubsub::ReceivedMessage& received, MessageId id) {
  const auto [found, fresh] = messages_.try_emplace(id);
  MessageBook& letter = found->second;
  const std::string body(received.message.data());
  if (!fresh) {
    if (letter.data == body) return &letter;
    return Break(now, "one id, one message", StrCat("dead letter ", id, " has two bodies")), nullptr;
  }
  letter.data = body;
  const std::string source =
      StrCat("projects/p/subscriptions/", *received.message.Attribute("CloudPubSubDeadLetterSourceSubscription"));
  SubscriptionBook* subscription = Find(source);
  if (subscription == nullptr || !subscription->letters_from) {
    return Break(now, "dead letters", StrCat("a letter from ", source, ", which sends none")), nullptr;
  }
  // Several messages may have its body: it is one of those that failed enough.
  for (auto& [message, entry] : subscription->inbox) {
    const bool failed = static_cast<int32_t>(entry.deliveries) >= *subscription->letters_from;
    if (messages_[message].data != body || entry.letters > 0 || !failed || entry.acked) continue;
    ++entry.letters;
    return &letter;
  }
  if (AttemptsAreLoose(*subscription) && bodies_.contains(body)) return &letter;
  return Break(now, "dead letters", StrCat("letter ", id, " is one too many, or too early")), nullptr;
}

}  // namespace hopgap::sim
