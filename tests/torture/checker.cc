#include "torture/checker.h"

#include <algorithm>
#include <utility>

#include "base/draw.h"
#include "base/text.h"

namespace hopgap::torture {
namespace {

constexpr size_t kWordBytes = 8;

uint64_t IdNumber(const std::string& message_id) { return ParseNumber<uint64_t>(message_id).value_or(0); }

}  // namespace

std::string BodyOf(uint64_t seed, uint64_t number, size_t size) {
  std::string body = StrCat(number, " ", size, " ");
  for (uint64_t word = 0; body.size() < size; ++word) {
    uint64_t drawn = Mix(seed, number, word);
    for (size_t i = 0; i < kWordBytes; ++i, drawn >>= 8) body.push_back(static_cast<char>(drawn));
  }
  body.resize(size);
  return body;
}

void Checker::Break(std::string promise, std::string what) {
  if (!violation_) violation_ = {std::move(promise), std::move(what)};
}

void Checker::Explain(std::string_view words) {
  if (violation_) violation_->what += StrCat(" (the answer: ", words, ")");
}

std::string Checker::Name(size_t subscription, const Message& message) const {
  return StrCat("message ", message.id.empty() ? "(unanswered)" : message.id, " on '", rules_[subscription].name,
                "' in life ", life_);
}

void Checker::PublishAsked(Number number, size_t size, std::string key) {
  Message& message = messages_[number];
  message.size = size;
  message.key = std::move(key);
  message.entries.resize(rules_.size());
}

void Checker::PublishAnswered(Number number, const std::string& message_id) {
  ++tally_.publishes;
  const auto found = messages_.find(number);
  if (found == messages_.end()) return;  // drained before the answer came
  Message& message = found->second;
  if (message.exists() && message.id != message_id) {
    Break("one id, one message", StrCat("answered as ", message_id, ", delivered as ", message.id));
  }
  if (!message.exists()) NoteExists(message, number, message_id);
}

Checker::Message* Checker::Identify(const Delivery& delivery, Number& number) {
  const std::vector<std::string_view> words = Split(delivery.data.substr(0, 48), ' ');
  const auto named = ParseNumber<Number>(words[0]);
  const auto size = words.size() > 2 ? ParseNumber<size_t>(words[1]) : std::nullopt;
  const std::string& name = rules_[delivery.subscription].name;
  if (!named || !size || delivery.data != BodyOf(seed_, *named, *size)) {
    Break("same bytes",
          StrCat("message ", delivery.message_id, " on '", name, "' has other bytes than were published"));
    return nullptr;
  }
  number = *named;
  const auto found = messages_.find(number);
  if (found != messages_.end()) {
    if (found->second.size == *size && found->second.key == delivery.key) return &found->second;
    Break("same bytes", StrCat("message ", delivery.message_id, " on '", name, "' has another size or ordering key"));
  } else if (number >= floor_) {
    Break("nothing from nowhere", StrCat("message ", delivery.message_id, " on '", name, "' was never published"));
  } else if (rules_[delivery.subscription].exactly_once) {
    Break("acknowledged once", StrCat("message ", delivery.message_id, " came again on '", name, "' in life ", life_,
                                      ", long after its ack was answered"));
  }
  return nullptr;
}

bool Checker::NoteId(const Delivery& delivery, Number number, Message& message) {
  std::string& id = rules_[delivery.subscription].letters ? message.letter_id : message.id;
  if (id == delivery.message_id) return true;
  if (!id.empty()) {
    Break(rules_[delivery.subscription].letters ? "dead letters" : "one id, one message",
          StrCat("number ", number, " came as ", delivery.message_id, " and as ", id));
    return false;
  }
  if (!rules_[delivery.subscription].letters) return NoteExists(message, number, delivery.message_id), true;
  id = delivery.message_id;
  ++tally_.letters;
  Count(message, 1);  // for the subscription that forwarded it
  return true;
}

void Checker::NoteExists(Message& message, Number number, const std::string& message_id) {
  message.id = message_id;
  ++existing_;
  if (!message.key.empty()) keys_[message.key].emplace(IdNumber(message_id), number);
}

// By what is known the newest ack id is good: its lease runs for sure, and of an
// ordering key also the leases of all messages before it.
bool Checker::Live(Instant now, size_t subscription, const Message& message) const {
  const auto runs = [&](const Entry& entry) {
    return !entry.ack_id.empty() && !entry.nacked && !entry.refused && entry.leased_until > AtMost(now);
  };
  if (!runs(message.entries[subscription])) return false;
  if (!rules_[subscription].ordered || message.key.empty()) return true;
  for (const auto& [id, number] : keys_.at(message.key)) {
    if (id >= IdNumber(message.id)) break;
    const Entry& earlier = messages_.at(number).entries[subscription];
    if (!earlier.acked && !runs(earlier)) return false;
  }
  return true;
}

// Of a key nothing comes before what was published earlier; and again after a restart.
void Checker::CheckOrder(size_t subscription, const Message& message) {
  if (!rules_[subscription].ordered || message.key.empty()) return;
  const auto& line = keys_.at(message.key);
  for (const auto& [id, number] : line) {
    const Message& other = messages_.at(number);
    const Entry& entry = other.entries[subscription];
    if (id < IdNumber(message.id) && !entry.ack_asked && entry.life != life_) {
      return Break("in order", StrCat(Name(subscription, message), " came before ", other.id, " of its key"));
    }
    const bool first = message.entries[subscription].ack_id.empty();
    if (id > IdNumber(message.id) && first && !entry.ack_id.empty()) {
      return Break("in order", StrCat(Name(subscription, message), " came first after ", other.id, " of its key"));
    }
  }
}

// What comes back takes with it what came after it of its key; and so has what had come back, though a crash forgot
// that and its old id works again.
void Checker::Revoke(size_t subscription, const Message& message) {
  if (!rules_[subscription].ordered || message.key.empty()) return;
  const auto& line = keys_.at(message.key);
  for (auto later = line.upper_bound(IdNumber(message.id)); later != line.end(); ++later) {
    messages_.at(later->second).entries[subscription].leased_until = Instant::min();
  }
}

void Checker::CheckMayCome(Instant now, const Delivery& delivery, Number number, const Message& message) {
  const Rules& rules = rules_[delivery.subscription];
  const Entry& entry = message.entries[delivery.subscription];
  const std::string name = Name(delivery.subscription, message);
  if (rules.exactly_once && entry.acked) {
    Break("acknowledged once", name + " came again after its ack was answered");
  }
  if (rules.forwards && !message.letter_id.empty()) Break("dead letters", name + " came again after it was forwarded");
  if (rules.letters) {
    for (size_t i = 0; i < rules_.size(); ++i) {
      if (rules_[i].forwards && message.entries[i].acked) Break("dead letters", name + " was acknowledged before");
    }
  }
  const bool same_life = entry.life == life_;
  if ((rules.exactly_once || same_life) && !entry.acked && Live(now, delivery.subscription, message)) {
    Break("one lease at a time", name + " came again while its lease ran");
  }
  if (!rules.exactly_once && entry.acked && same_life && entry.acked_life == life_ && entry.times == 1 &&
      !entry.nacked && entry.advanced == static_cast<uint64_t>(asked_.count())) {
    Break("acknowledged once", name + " came again after its ack was answered, and there was no restart");
  }
  const auto seen = ids_[delivery.subscription].numbers.find(delivery.ack_id);
  if (seen != ids_[delivery.subscription].numbers.end() && (rules.exactly_once || seen->second != number)) {
    Break("one ack id, one delivery", name + " came with an ack id that was given before");
  }
}

void Checker::Received(Instant now, const Delivery& delivery) {
  Number number = 0;
  Message* message = Identify(delivery, number);
  if (message == nullptr || !NoteId(delivery, number, *message)) return;
  ++tally_.deliveries;
  CheckMayCome(now, delivery, number, *message);
  if (!rules_[delivery.subscription].letters) CheckOrder(delivery.subscription, *message);
  Entry& entry = message->entries[delivery.subscription];
  if (!entry.ack_id.empty()) {
    ++tally_.again;
    Revoke(delivery.subscription, *message);
  }
  // Standard: the ack was forgotten.
  if (entry.acked && !rules_[delivery.subscription].letters) Count(*message, -1);
  const uint32_t times = entry.life == life_ ? entry.times + 1 : 1;
  entry = {.ack_id = delivery.ack_id,
           .leased_until = delivery.lease_from + rules_[delivery.subscription].lease,
           .came_at = AtMost(now),
           .life = life_,
           .times = times,
           .advanced = static_cast<uint64_t>(asked_.count())};
  ids_[delivery.subscription].numbers.emplace(delivery.ack_id, number);
}

Checker::Entry* Checker::Find(size_t subscription, const std::string& ack_id, Message** message) {
  const auto number = ids_[subscription].numbers.find(ack_id);
  if (number == ids_[subscription].numbers.end()) return nullptr;
  const auto found = messages_.find(number->second);
  if (found == messages_.end()) return nullptr;
  *message = &found->second;
  return &found->second.entries[subscription];
}

void Checker::AckAsked(Instant now, size_t subscription, const std::string& ack_id) {
  Message* message = nullptr;
  Entry* entry = Find(subscription, ack_id, &message);
  if (entry == nullptr) return;
  const bool newest = entry->ack_id == ack_id;
  Asked& asked = ids_[subscription].acks[ack_id];
  asked.live = newest && Live(now, subscription, *message);
  ++asked.under_way;
  if (newest && entry->life != life_) ++tally_.old_ids;
  if (newest) entry->ack_asked = true;
}

// In how many of the topic's subscriptions it is done with.
void Checker::Count(Message& message, int change) {
  const auto all = rules_.size() - static_cast<size_t>(std::ranges::count(rules_, true, &Rules::letters));
  finished_ -= message.done == all ? 1 : 0;
  message.done += static_cast<size_t>(change);
  finished_ += message.done == all ? 1 : 0;
}

void Checker::AckAnswered(Instant now, size_t subscription, const std::string& ack_id, Outcome outcome) {
  Message* message = nullptr;
  Entry* entry = Find(subscription, ack_id, &message);
  const auto asked = ids_[subscription].acks.find(ack_id);
  if (entry == nullptr || asked == ids_[subscription].acks.end()) return;
  const bool was_live = asked->second.live, others = --asked->second.under_way > 0;
  if (!others) ids_[subscription].acks.erase(asked);
  const Rules& rules = rules_[subscription];
  const std::string name = Name(subscription, *message);
  const bool newest = entry->ack_id == ack_id;
  if (outcome == Outcome::kOk) {
    ++tally_.acks;
    if (rules.exactly_once && !newest) Break("only the live id", "an older id acknowledged " + name);
    if (rules.forwards && !message->letter_id.empty())
      Break("dead letters", name + " acknowledged after it was forwarded");
    if (!newest && rules.exactly_once) return;
    if (!was_live) Revoke(subscription, *message);
    entry->acked_life = life_;
    if (!std::exchange(entry->acked, true) && !rules.letters) Count(*message, 1);
    return;
  }
  if (outcome == Outcome::kRefused) {
    ++tally_.refused;
    // It may have come again meanwhile: what is live then is another id.
    if (rules.exactly_once && was_live && newest && !entry->acked && Live(now, subscription, *message)) {
      Break("the live id works", "the ack was refused of " + name);
    }
    if (newest) entry->refused = true;
  }
  if (!newest) return;
  // The broker may have done it all the same.
  if (outcome == Outcome::kUnknown) entry->ack_unknown = true;
  entry->ack_asked = entry->ack_unknown || others || entry->acked;
}

void Checker::ModackAsked(Instant now, size_t subscription, const std::string& ack_id, Duration length) {
  Message* message = nullptr;
  Entry* entry = Find(subscription, ack_id, &message);
  if (entry == nullptr) return;
  const bool newest = entry->ack_id == ack_id;
  ids_[subscription].modacks[ack_id] = {
      .at = AtLeast(now), .live = newest && Live(now, subscription, *message), .length = length, .under_way = 1};
  if (!newest) return;
  entry->nacked |= length == Duration{0};
  entry->leased_until = std::min(entry->leased_until, AtLeast(now) + length);
}

void Checker::ModackAnswered(Instant now, size_t subscription, const std::string& ack_id, Outcome outcome) {
  Message* message = nullptr;
  Entry* entry = Find(subscription, ack_id, &message);
  const auto asked = ids_[subscription].modacks.extract(ack_id);
  if (entry == nullptr || asked.empty() || entry->ack_id != ack_id) return;
  if (outcome == Outcome::kOk) {
    ++tally_.modacks;
    if (!asked.mapped().live) Revoke(subscription, *message);
    // Of a standard subscription OK says nothing: the lease may have ended before. And what was
    // taken along by one before it of its key, after this was answered, does not come back to life.
    const bool revoked = entry->leased_until == Instant::min();
    if (rules_[subscription].exactly_once && !revoked) entry->leased_until = asked.mapped().at + asked.mapped().length;
  } else if (outcome == Outcome::kRefused) {
    const bool ended = entry->acked || entry->ack_asked;  // by an ack of the same id, perhaps
    if (rules_[subscription].exactly_once && asked.mapped().live && !ended && Live(now, subscription, *message)) {
      Break("the live id works", "a modack was refused of " + Name(subscription, *message));
    }
    entry->refused = true;
  }
}

void Checker::Ended() {
  ++life_;
  answered_ = asked_;
  for (Ids& ids : ids_) ids.acks.clear(), ids.modacks.clear();
}

size_t Checker::Outstanding(Instant now) const {
  size_t count = 0;
  for (const auto& [number, message] : messages_) {
    for (size_t i = 0; i < rules_.size(); ++i) {
      const Entry& entry = message.entries[i];
      count += rules_[i].exactly_once && !entry.acked && !entry.ack_asked && Live(now, i, message) ? 1 : 0;
    }
  }
  return count;
}

std::string Checker::Describe(const Entry& entry) {
  if (entry.ack_id.empty()) return "never came";
  return StrCat("came last in life ", entry.life, entry.nacked ? ", was nacked" : "",
                entry.refused ? ", was refused" : "", entry.ack_unknown ? ", was perhaps acknowledged" : "",
                entry.ack_asked ? ", an ack was sent" : "");
}

// What its ordering key may wait for.
std::string Checker::Before(size_t subscription, const Message& message) const {
  if (!rules_[subscription].ordered || message.key.empty()) return "";
  for (const auto& [id, number] : keys_.at(message.key)) {
    const Entry& entry = messages_.at(number).entries[subscription];
    if (id >= IdNumber(message.id)) break;
    if (!entry.acked) return StrCat("; before it of its key, not acknowledged, ", id, ", which ", Describe(entry));
  }
  return "; all before it of its key is acknowledged";
}

void Checker::ExpectArrived(Instant since, size_t subscription) {
  const Rules& rules = rules_[subscription];
  if (rules.letters || rules.forwards) return;  // it may be on its way from the one to the other
  for (const auto& [number, message] : messages_) {
    const Entry& entry = message.entries[subscription];
    if (!message.exists() || entry.acked || entry.ack_asked || entry.ack_unknown) continue;
    if (entry.life == life_ && entry.came_at >= since) {
      ++tally_.held;
      continue;
    }
    return Break("delivered until acknowledged",
                 StrCat(Name(subscription, message), " did not come although every lease had ended; it ",
                        Describe(entry), Before(subscription, message)));
  }
}

void Checker::ExpectDrained() {
  for (const auto& [number, message] : messages_) {
    if (!message.exists()) continue;  // nobody was told that it is there, and nobody saw it
    for (size_t i = 0; i < rules_.size(); ++i) {
      const Entry& entry = message.entries[i];
      if (rules_[i].letters) {
        if (message.letter_id.empty() || entry.acked || entry.ack_unknown) continue;
      } else if (entry.acked || entry.ack_unknown || (rules_[i].forwards && !message.letter_id.empty())) {
        continue;
      }
      return Break("delivered until acknowledged", Name(i, message) + " is lost");
    }
  }
  if (!messages_.empty()) floor_ = messages_.rbegin()->first + 1;
  messages_.clear();
  existing_ = finished_ = 0;
  keys_.clear();
  for (Ids& ids : ids_) ids = {};
}

}  // namespace hopgap::torture
