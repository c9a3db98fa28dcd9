#include "broker/dead_letters.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "pubsub/limits.h"
#include "pubsub/names.h"

namespace hopgap::broker {
namespace {

constexpr std::string_view kDeliveryCount = "CloudPubSubDeadLetterSourceDeliveryCount";
constexpr std::string_view kSourceAttribute = "CloudPubSubDeadLetterSourceSubscription";
constexpr std::string_view kSourceProject = "CloudPubSubDeadLetterSourceSubscriptionProject";
constexpr std::string_view kSourcePublishTime = "CloudPubSubDeadLetterSourceTopicPublishTime";
constexpr std::array kAttributes = {kDeliveryCount, kSourceAttribute, kSourceProject, kSourcePublishTime};

constexpr int32_t kAttemptsDefault = 5;

// Of one record: as much as a Publish may hold.
constexpr size_t kForwardedBytesMax = pubsub::kPublishRequestBytesMax;
constexpr size_t kForwardedMax = pubsub::kPublishMessagesMax;

std::string Padded(uint64_t number, size_t width) {
  std::string text = StrCat(number);
  return std::string(width - std::min(width, text.size()), '0') + text;
}

// RFC 3339 with the offset that the service writes, and as many digits as the
// fraction needs: "2023-11-14T22:13:20.123+00:00".
std::string FormatPublishTime(WallTime at) {
  const std::chrono::sys_time<Duration> time{at.time_since_epoch()};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss<Duration> clock{time - day};
  const auto part = [](auto value, size_t width) { return Padded(static_cast<uint64_t>(value), width); };
  std::string text = StrCat(part(static_cast<int>(date.year()), 4), "-", part(static_cast<unsigned>(date.month()), 2),
                            "-", part(static_cast<unsigned>(date.day()), 2), "T", part(clock.hours().count(), 2), ":",
                            part(clock.minutes().count(), 2), ":", part(clock.seconds().count(), 2));
  const auto nanos = static_cast<uint64_t>(clock.subseconds().count());
  if (nanos % 1'000'000 == 0 && nanos != 0) {
    text += "." + Padded(nanos / 1'000'000, 3);
  } else if (nanos % 1'000 == 0 && nanos != 0) {
    text += "." + Padded(nanos / 1'000, 6);
  } else if (nanos != 0) {
    text += "." + Padded(nanos, 9);
  }
  return text + "+00:00";
}

}  // namespace

// Without its dead-letter topic, or while the journal's disk is full (a letter is a
// publish), a message goes on being delivered, and is tried again whenever it fails.
bool Broker::Impl::DeadLetters::Claim(Subscription& subscription, Sequence sequence, const Returned& returned) {
  const std::optional<pubsub::DeadLetterPolicy>& policy = subscription.value.dead_letter_policy;
  if (!policy || (returned.how != LeaseEnd::kExpired && returned.how != LeaseEnd::kNacked)) return false;
  const int32_t most = policy->max_delivery_attempts == 0 ? kAttemptsDefault : policy->max_delivery_attempts;
  if (returned.failures < static_cast<uint32_t>(most)) return false;
  const Topic* topic = impl_.catalog_.FindTopic(policy->dead_letter_topic);
  if (topic == nullptr || impl_.durability_.publish_room() != Journal::kUnlimited) return false;
  subscription.dead_letters.emplace_back(sequence, topic->id);
  return true;
}

int32_t Broker::Impl::DeadLetters::AttemptOf(const Subscription& subscription, Sequence sequence) {
  if (!subscription.value.dead_letter_policy) return 0;
  const Returned* returned = subscription.FindReturned(sequence);
  return returned == nullptr ? 1 : static_cast<int32_t>(returned->failures) + 1;
}

void Broker::Impl::DeadLetters::JournalFailures(Subscription& subscription, Actions& out) {
  DeliveriesFailed record{.subscription = subscription.id, .deliveries = {}};
  record.deliveries.swap(subscription.failures_to_journal);
  impl_.commits_.Persist({std::move(record)}, nullptr, out);
}

// In the order of the source, so that a key keeps its order.
void Broker::Impl::DeadLetters::Forward(Instant now, Subscription& subscription, Actions& out) {
  std::vector<std::pair<Sequence, Incarnation>> dead = std::exchange(subscription.dead_letters, {});
  std::sort(dead.begin(), dead.end());
  Topic* topic = impl_.catalog_.FindTopic(dead.front().second);
  HOPGAP_CHECK(topic != nullptr, "a dead-letter topic that went away in the same event");
  Claimed rest = dead;
  while (!rest.empty()) rest = rest.subspan(ForwardSome(now, subscription, *topic, rest, out));
}

// As many as one record may hold; returns their number.
size_t Broker::Impl::DeadLetters::ForwardSome(Instant now, Subscription& subscription, Topic& topic, Claimed dead,
                                              Actions& out) {
  Published record{.topic = topic.id,
                   .first = topic.log.next(),
                   .messages = {},
                   .dead_lettered_by = subscription.id,
                   .dead_lettered = {}};
  size_t bytes = 0;
  for (const auto& [sequence, incarnation] : dead) {
    bytes += subscription.topic.log.Find(sequence)->message.wire_size();
    if (!record.messages.empty() && (bytes > kForwardedBytesMax || record.messages.size() == kForwardedMax)) break;
    LoggedMessage letter = Letter(now, subscription, topic, sequence);
    record.messages.push_back(letter.message);
    record.dead_lettered.push_back({sequence, subscription.Find(sequence)->generation});
    subscription.BeginDeadLetter(sequence);
    topic.Take(std::move(letter));
  }
  const size_t count = record.messages.size();
  impl_.counters_.dead_lettered += count;
  const Sequence first = record.first;
  const std::vector<AckedDelivery> finished = record.dead_lettered;
  const std::vector<SendBoundRaised> raises = impl_.RaiseBounds(now, topic);
  std::vector<Record> records;
  records.emplace_back(std::move(record));
  records.insert(records.end(), raises.begin(), raises.end());
  impl_.commits_.Persist(
      records,
      [&impl = impl_, source = subscription.id, topic = topic.id, first, finished, raises](Instant at, Actions& then) {
        DeadLetters(impl).OnForwarded(at, source, finished, then);
        if (!impl.Has(Planted::kDeadLetterLost)) impl.OnLogged(at, topic, first, finished.size(), raises, then);
      },
      out);
  return count;
}

// The message as it is published again: without publish validation, as the four
// attributes may be more than a publisher is allowed.
LoggedMessage Broker::Impl::DeadLetters::Letter(Instant now, const Subscription& subscription, Topic& topic,
                                                Sequence sequence) {
  const LoggedMessage& source = *subscription.topic.log.Find(sequence);
  std::vector<std::pair<std::string, std::string>> attributes;
  for (const auto& [key, value] : source.message.Attributes()) {
    const bool ours = std::find(kAttributes.begin(), kAttributes.end(), key) != kAttributes.end();
    if (!ours) attributes.emplace_back(key, value);
  }
  attributes.emplace_back(kDeliveryCount, StrCat(subscription.FindReturned(sequence)->failures));
  attributes.emplace_back(kSourceAttribute, pubsub::ShortName(subscription.value.name));
  attributes.emplace_back(kSourceProject, subscription.project);
  attributes.emplace_back(kSourcePublishTime, FormatPublishTime(source.message.publish_time().value_or(WallTime{})));
  const pubsub::Message made = pubsub::Message::Make(source.message.data(), attributes, source.message.ordering_key());
  LoggedMessage letter{.message = {}, .key = source.key, .draw = {}, .id = impl_.next_message_id_++, .references = 0};
  if (impl_.any_delays_) {
    letter.draw = DrawKeyFor(made.Attribute(pubsub::kDrawAttribute), topic.value.name, topic.arrivals++);
  }
  letter.message = made.Accepted(StrCat(letter.id), impl_.options_.anchor.ToWall(now));
  return letter;
}

void Broker::Impl::DeadLetters::OnForwarded(Instant now, Incarnation source, const std::vector<AckedDelivery>& dead,
                                            Actions& out) {
  Subscription* subscription = impl_.catalog_.FindSubscription(source);
  if (subscription == nullptr) return;
  impl_.FinishEach(*subscription, dead, Delivery::State::kDeadLettering, Subscription::End::kEnded, out);
  impl_.Advance(now, *subscription);
  impl_.Dispatch(now, *subscription, out);
}

}  // namespace hopgap::broker
