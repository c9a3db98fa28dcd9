// Seeks, snapshots, updates and detached subscriptions: what each may change in
// the books, and what it has to. While one is on its way nothing is certain that
// it may change; its answer makes certain what nothing else has touched since.

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sim/checkers.h"

namespace hopgap::sim {

using pubsub::Method;

namespace {

using Kind = SubscriptionBook::Kind;
using What = SeekEffect::What;

constexpr char kExactlyOnceField[] = "enable_exactly_once_delivery";
constexpr char kDeadlineField[] = "ack_deadline_seconds";
constexpr char kRetryField[] = "retry_policy";
constexpr char kDeadLetterField[] = "dead_letter_policy";
constexpr char kRetainField[] = "retain_acked_messages";
// A message's publish time is known once it was delivered. Until then it lies
// between these: clocks of the world never step so far.
constexpr WallTime kLongAgo{std::chrono::hours{24 * 365 * 20}}, kFarAway{std::chrono::hours{24 * 365 * 80}};

Kind KindOf(const pubsub::Subscription& value) {
  return value.enable_exactly_once_delivery ? Kind::kExactlyOnce : Kind::kStandard;
}

Duration BackoffOf(const pubsub::Subscription& value) {
  return value.retry_policy ? value.retry_policy->minimum_backoff : Duration{0};
}

// Takes over one field, as the mask of an update says.
void Take(const std::string& field, const pubsub::Subscription& from, pubsub::Subscription& to) {
  if (field == kExactlyOnceField) to.enable_exactly_once_delivery = from.enable_exactly_once_delivery;
  if (field == kDeadlineField) to.ack_deadline_seconds = from.ack_deadline_seconds;
  if (field == kRetryField) to.retry_policy = from.retry_policy;
  if (field == kDeadLetterField) to.dead_letter_policy = from.dead_letter_policy;
  if (field == kRetainField) to.retain_acked_messages = from.retain_acked_messages;
}

bool Same(const std::string& field, const pubsub::Subscription& shown, const pubsub::Subscription& value) {
  pubsub::Subscription patched = shown;
  Take(field, value, patched);
  return pubsub::Encode(patched) == pubsub::Encode(shown);
}

}  // namespace

void Checkers::NoteMade(SubscriptionBook& book, const pubsub::Subscription& value) {
  book.value = value;
  book.made = kNever;
  book.kind = KindOf(value);
  book.deadline_min = book.deadline_max = value.ack_deadline_seconds;
  book.backoffs = {{Instant::min(), BackoffOf(value)}};
  if (value.dead_letter_policy) book.letters_from = value.dead_letter_policy->max_delivery_attempts;
  book.keeps_acked = book.may_keep_acked = value.retain_acked_messages;
}

void Checkers::NoteChange(Instant now, uint64_t id, CallBook& call, const pubsub::Request& request) {
  if (const auto* seek = std::get_if<pubsub::SeekRequest>(&request)) {
    call.resource = seek->subscription;
    if (const auto* name = std::get_if<std::string>(&seek->target)) call.snapshot = *name;
    if (SubscriptionBook* subscription = Find(call.resource)) SeekArrived(now, call, *subscription, *seek);
  } else if (const auto* make = std::get_if<pubsub::CreateSnapshotRequest>(&request)) {
    call.resource = make->subscription;
    call.snapshot = make->name;
    snapshots_.try_emplace(make->name);
    const SubscriptionBook* subscription = Find(call.resource);
    if (subscription == nullptr) return;
    call.version = subscription->version;
    if (subscription->seeks_pending == 0) call.unacked = CertainlyUnacked(*subscription);
  } else if (const auto* update = std::get_if<pubsub::UpdateSubscriptionRequest>(&request)) {
    call.resource = update->subscription.name;
    call.subscription = update->subscription;
    call.mask = update->update_mask;
    if (SubscriptionBook* subscription = Find(call.resource)) UpdateArrived(now, id, call, *subscription);
  }
}

void Checkers::ChangeReplied(Instant now, uint64_t id, const CallBook& call, const absl::Status& status) {
  SubscriptionBook* subscription = Find(call.resource);
  if (call.method == Method::kDeleteSnapshot) {
    SnapshotBook& snapshot = snapshots_[call.resource];
    const bool absent = status.code() == absl::StatusCode::kNotFound && snapshot.made != kNever;
    const bool gone = status.ok() || absent;
    if (gone && !std::exchange(snapshot.gone, true)) snapshot.left_at = now;
  }
  if (subscription == nullptr) return;
  if (call.method == Method::kSeek) SeekReplied(now, call, *subscription, status);
  if (call.method == Method::kCreateSnapshot) SnapshotReplied(now, call, *subscription, status);
  if (call.method == Method::kUpdateSubscription && status.ok()) UpdateReplied(now, id, call, *subscription);
  if (call.method == Method::kDetachSubscription && status.ok()) subscription->gone = true;
}

// Nobody will hear what became of it: what it may have changed stays unclear.
void Checkers::Abandon(Instant now, const CallBook& call) {
  SubscriptionBook* subscription = Find(call.resource);
  if (subscription == nullptr) return;
  // Nobody hears whether these counted.
  for (const auto& [id, asked] : call.asked) {
    const auto known = subscription->ids.find(id);
    if (!asked.ack || known == subscription->ids.end()) continue;
    InboxEntry& entry = subscription->inbox[known->second.message];
    if (entry.newest && entry.newest->ack_id == id) entry.newest->ack_unknown = true;
  }
  if (call.method != Method::kSeek) return;
  --subscription->seeks_pending;
  ++subscription->version;
  subscription->sought_at = now;
}

// ---- seeks ---------------------------------------------------------------------------------------------------------

// Whether the target says that the message is unacknowledged; nullopt: nobody can say.
std::optional<bool> Checkers::SeekWants(const pubsub::SeekRequest& request, MessageId id) const {
  const auto message = messages_.find(id);
  if (message == messages_.end()) return std::nullopt;
  if (const auto* time = std::get_if<WallTime>(&request.target)) {
    if (message->second.published) return *message->second.published >= *time;
    if (*time < kLongAgo) return true;
    return *time > kFarAway ? std::optional(false) : std::nullopt;
  }
  const auto snapshot = snapshots_.find(std::get<std::string>(request.target));
  if (snapshot == snapshots_.end() || snapshot->second.made == kNever) return std::nullopt;
  const auto held = snapshot->second.unacked.find(id);
  if (held != snapshot->second.unacked.end()) return held->second;
  const bool later = message->second.arrived != kNever && message->second.arrived > snapshot->second.made;
  return later ? std::optional(true) : std::nullopt;
}

SeekEffect Checkers::EffectOn(const SubscriptionBook& subscription, const InboxEntry& entry, std::optional<bool> wanted,
                              bool to_snapshot) const {
  SeekEffect effect{
      .what = What::kUnclear, .deliveries = entry.deliveries, .touches = entry.newest ? entry.newest->touches : 0};
  const bool acked = entry.acked || entry.acked_in == epoch_ || entry.passed;
  const bool may_return = to_snapshot || subscription.may_keep_acked;
  if (wanted == true && !entry.finished()) {
    // On its way to the dead-letter topic it comes back as if acked, and its attempts start again.
    effect.what = MayBeForwarded(subscription, entry) ? What::kUnclear : What::kNothing;
  } else if (acked && (wanted == false || !may_return)) {
    effect.what = What::kNothing;
  } else if (wanted == false) {
    effect.what = What::kPast;
  } else if (wanted == true && acked && (to_snapshot || subscription.keeps_acked)) {
    effect.what = What::kBack;
  }
  return effect;
}

void Checkers::SeekArrived(Instant now, CallBook& call, SubscriptionBook& subscription,
                           const pubsub::SeekRequest& request) {
  ++subscription.seeks_pending;
  call.version = ++subscription.version;
  subscription.sought = true;
  subscription.sought_at = now;
  for (auto& [id, entry] : subscription.inbox) {
    const SeekEffect effect = EffectOn(subscription, entry, SeekWants(request, id), !call.snapshot.empty());
    // Of an ordering key all that is out starts again.
    if (subscription.value.enable_message_ordering && entry.newest) {
      entry.newest->lease_min = std::min(entry.newest->lease_min, now);
      entry.newest->sought = true;
    }
    if (effect.what == What::kNothing) continue;
    call.effects.emplace(id, effect);
    const bool returns = effect.what != What::kPast && entry.finished() && entry.newest;
    if (returns) {
      entry.newest->lease_min = std::min(entry.newest->lease_min, now);
      entry.newest->sought = true;
    }
    entry.unclear = true;
    entry.acked = entry.passed = false;
    entry.acked_in.reset();
    entry.letters = 0;
  }
}

void Checkers::SeekReplied(Instant now, const CallBook& call, SubscriptionBook& subscription,
                           const absl::Status& status) {
  const bool alone = subscription.version == call.version;
  --subscription.seeks_pending;
  ++subscription.version;
  subscription.sought_at = now;
  const auto snapshot = snapshots_.find(call.snapshot);
  if (snapshot != snapshots_.end()) {
    const SnapshotBook& book = snapshot->second;
    if (status.code() == absl::StatusCode::kNotFound && book.made < call.arrived && !book.leaving) {
      Break(now, "resources stay", StrCat(call.snapshot, " is not found although its creation was answered"));
    }
    if (status.ok() && book.gone && book.left_at < call.arrived) {
      Break(now, "resources stay", StrCat("a seek to ", call.snapshot, " was answered OK after it was deleted"));
    }
  }
  if (!status.ok() || !alone) return;
  for (const auto& [id, effect] : call.effects) {
    InboxEntry& entry = subscription.inbox[id];
    // Something of it crossed the door meanwhile: before the seek or after it, nobody can say.
    if (entry.deliveries != effect.deliveries || (entry.newest && entry.newest->touches != effect.touches)) continue;
    if (effect.what == What::kUnclear) continue;
    entry.unclear = false;
    entry.passed = effect.what == What::kPast;
    if (entry.newest && !(entry.passed && entry.newest->ack_came)) entry.newest->voided = true;
    if (entry.passed) continue;
    entry.ack_maybe = false;
    entry.attempt = 0;
    if (!entry.newest) continue;
    entry.newest->ack_came = entry.newest->nack_came = false;
    entry.newest->lease_max = std::min(entry.newest->lease_max, now);
  }
}

// ---- snapshots -----------------------------------------------------------------------------------------------------

// Of each message of which it is certain: whether it is unacknowledged now.
std::map<MessageId, bool> Checkers::CertainlyUnacked(const SubscriptionBook& subscription) const {
  std::map<MessageId, bool> known;
  for (const auto& [id, entry] : subscription.inbox) {
    const bool acked = entry.acked || entry.acked_in == epoch_ || entry.passed;
    const bool unacked = entry.due && !entry.finished() && !MayBeForwarded(subscription, entry);
    if (acked || unacked) known.emplace(id, unacked);
  }
  return known;
}

// What was so when it came and is so when it is answered was so between.
void Checkers::SnapshotReplied(Instant now, const CallBook& call, const SubscriptionBook& subscription,
                               const absl::Status& status) {
  if (!status.ok() && status.code() != absl::StatusCode::kAlreadyExists) return;
  SnapshotBook& snapshot = snapshots_[call.snapshot];
  if (snapshot.made != kNever) return;
  snapshot.made = now;
  if (!status.ok() || subscription.version != call.version) return;
  for (const auto& [id, unacked] : CertainlyUnacked(subscription)) {
    const auto before = call.unacked.find(id);
    if (before != call.unacked.end() && before->second == unacked) snapshot.unacked.emplace(id, unacked);
  }
}

// ---- updates -------------------------------------------------------------------------------------------------------

void Checkers::UpdateArrived(Instant now, uint64_t id, const CallBook& call, SubscriptionBook& book) {
  const pubsub::Subscription& to = call.subscription;
  ++book.updates;
  for (const std::string& field : call.mask) {
    book.latest[field] = id;
    book.unclear_fields.insert(field);
    if (field == kExactlyOnceField && book.kind != KindOf(to)) SetKind(now, book, Kind::kUnclear);
    if (field == kDeadlineField) {
      book.deadline_min = std::min(book.deadline_min, to.ack_deadline_seconds);
      book.deadline_max = std::max(book.deadline_max, to.ack_deadline_seconds);
    }
    if (field == kRetryField) book.backoffs.emplace_back(now, std::min(book.backoffs.back().second, BackoffOf(to)));
    if (field == kDeadLetterField && to.dead_letter_policy) {
      const int32_t attempts = to.dead_letter_policy->max_delivery_attempts;
      book.letters_from = std::min(book.letters_from.value_or(attempts), attempts);
    }
    if (field == kRetainField) {
      book.keeps_acked = false;
      book.may_keep_acked |= to.retain_acked_messages;
    }
  }
}

// It holds if no other came behind it.
void Checkers::UpdateReplied(Instant now, uint64_t id, const CallBook& call, SubscriptionBook& book) {
  const pubsub::Subscription& to = call.subscription;
  ++book.updates;
  for (const std::string& field : call.mask) {
    if (book.latest[field] != id) continue;
    Take(field, to, book.value);
    book.unclear_fields.erase(field);
    if (field == kExactlyOnceField && book.kind != KindOf(to)) SetKind(now, book, KindOf(to));
    if (field == kDeadlineField) book.deadline_min = book.deadline_max = to.ack_deadline_seconds;
    if (field == kRetryField) book.backoffs.emplace_back(now, BackoffOf(to));
  }
}

// Leases go on, but those of an earlier process are held for exactly-once only.
void Checkers::SetKind(Instant now, SubscriptionBook& book, Kind kind) {
  book.kind = kind;
  ++book.switches;
  ++book.version;
  for (auto& [id, entry] : book.inbox) {
    if (entry.newest && entry.newest->epoch != epoch_) {
      entry.newest->lease_min = std::min(entry.newest->lease_min, now);
    }
  }
  for (auto& [id, stream] : streams_) {
    if (stream.subscription != book.value.name) continue;
    stream.loose = true;
    stream.asked.clear();
  }
}

// A GetSubscription with no change between its arrival and its answer.
void Checkers::CheckShown(Instant now, const CallBook& call, const SubscriptionBook& book,
                          const pubsub::Bytes& payload) {
  const auto shown = pubsub::DecodeSubscription(payload.view());
  if (!shown.ok()) return Break(now, "wire", "a subscription cannot be read");
  if (call.version != book.updates || book.leaving || call.arrived < book.made) return;
  for (const char* field : {kExactlyOnceField, kDeadlineField, kRetryField, kDeadLetterField, kRetainField}) {
    if (book.unclear_fields.contains(field) || Same(field, *shown, book.value)) continue;
    Break(now, "changes stay", StrCat(field, " of ", book.value.name, " is not shown as it was last answered to be"));
  }
}

// The least backoff that held at any time since the lease ended.
void Checkers::CheckBackoff(Instant now, const SubscriptionBook& subscription, MessageId id, const InboxEntry& entry) {
  if (subscription.value.enable_message_ordering || !entry.newest || entry.newest->epoch != epoch_) return;
  if (entry.newest->sought || entry.unclear) return;
  const Instant ended = entry.newest->lease_min;
  Duration least = Duration::max();
  for (const auto& [since, backoff] : subscription.backoffs) {
    if (since <= ended) least = backoff;
    if (since > ended) least = std::min(least, backoff);
  }
  if (now < ended + least) {
    Break(now, "retry policy", StrCat("message ", id, " came back before its minimum backoff"));
  }
}

}  // namespace hopgap::sim
