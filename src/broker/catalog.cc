#include "broker/catalog.h"

#include <absl/strings/escaping.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "broker/errors.h"
#include "pubsub/limits.h"
#include "pubsub/names.h"

namespace hopgap::broker {
namespace {

constexpr size_t kTokenChecksumBytes = 4;

// "projects/x/topics/y" -> "x". The name was found valid before.
std::string_view ProjectOf(std::string_view name, std::string_view collection) {
  const absl::StatusOr<pubsub::ResourceName> parsed = pubsub::ParseName(name, collection);
  HOPGAP_CHECK(parsed.ok(), "a resource with a bad name");
  return parsed->project;
}

}  // namespace

void Topic::Take(LoggedMessage message) {
  message.references = static_cast<uint32_t>(snapshots.size()) + (keeps() ? 1 : 0);
  for (Subscription* subscription : subscriptions) {
    if (subscription->filter.Matches(message.message) == (subscription->planted == Planted::kFilterInverted)) {
      subscription->Skip(log.next());
      continue;
    }
    subscription->Append(log.next(), message.message);
    ++message.references;
  }
  log.Append(std::move(message));
}

void Topic::SetValue(pubsub::Topic updated) {
  const bool kept = keeps();
  if (kept && !updated.message_retention_duration) DropBefore(log.next());
  value = std::move(updated);
  if (!kept) kept_from = log.next();
}

void Topic::DropBefore(Sequence before) {
  for (; kept_from < before; ++kept_from) log.Release(kept_from);
}

absl::StatusOr<uint16_t> Catalog::PlaceFor(std::string_view project, std::string_view name) {
  std::string key = StrCat(project, " ", name);
  if (const auto found = places_.find(key); found != places_.end()) return found->second;
  if (places_.size() >= kPlacesMax) return LimitReached("topics and subscriptions made by different names", kPlacesMax);
  const uint16_t place = sink_.AddPlace({.side = trace::Place::Side::kBroker,
                                         .arm = {},
                                         .hop = 0,
                                         .project = std::string(project),
                                         .resource = std::string(pubsub::ShortName(name))});
  places_.emplace(std::move(key), place);
  return place;
}

const Delays* Catalog::DelaysFor(const std::string& project) const {
  const auto found = options_.delays.find(project);
  return found == options_.delays.end() ? options_.every_project.get() : found->second.get();
}

absl::Status Catalog::AddTopic(Incarnation id, pubsub::Topic value) {
  HOPGAP_CHECK(!topic_names_.contains(value.name), "topic made twice");
  const std::string name = value.name;
  if (absl::Status added = AddDeletedTopic(id, std::move(value)); !added.ok()) return added;
  topics_[id]->deleted = false;
  topic_names_.emplace(name, id);
  return absl::OkStatus();
}

absl::Status Catalog::AddDeletedTopic(Incarnation id, pubsub::Topic value) {
  const std::string project(ProjectOf(value.name, "topics"));
  const absl::StatusOr<uint16_t> place = PlaceFor(project, value.name);
  if (!place.ok()) return place.status();
  last_incarnation_ = std::max(last_incarnation_, id);
  auto topic = std::make_unique<Topic>(id, std::move(value), retained_);
  topic->project = project;
  topic->place = *place;
  topic->delays = DelaysFor(project);
  topic->deleted = true;
  topics_.emplace(id, std::move(topic));
  return absl::OkStatus();
}

void Catalog::DeleteTopic(Topic& topic) {
  topic_names_.erase(topic.value.name);
  if (topic.keeps()) topic.DropBefore(topic.log.next());
  topic.deleted = true;
  for (Subscription* subscription : topic.subscriptions) subscription->value.topic = pubsub::kDeletedTopic;
  for (Subscription* subscription : topic.detached) subscription->value.topic = pubsub::kDeletedTopic;
  ForgetIfUnused(topic);
}

void Catalog::ForgetIfUnused(Topic& topic) {
  const bool used = !topic.subscriptions.empty() || !topic.detached.empty() || !topic.snapshots.empty();
  if (topic.deleted && !used) topics_.erase(Incarnation{topic.id});
}

Topic* Catalog::FindTopic(std::string_view name) {
  const auto found = topic_names_.find(name);
  return found == topic_names_.end() ? nullptr : FindTopic(found->second);
}

Topic* Catalog::FindTopic(Incarnation id) {
  const auto found = topics_.find(id);
  return found == topics_.end() ? nullptr : found->second.get();
}

std::vector<Topic*> Catalog::Topics() const {
  std::vector<Topic*> all;
  for (const auto& [id, topic] : topics_) all.push_back(topic.get());
  std::sort(all.begin(), all.end(), [](const Topic* a, const Topic* b) { return a->id < b->id; });
  return all;
}

absl::Status Catalog::AddSubscription(Incarnation id, pubsub::Subscription value, Topic& topic, Sequence first,
                                      Sequence bound, Duration ceiling) {
  HOPGAP_CHECK(!subscription_names_.contains(value.name), "subscription made twice");
  const std::string project(ProjectOf(value.name, "subscriptions"));
  const absl::StatusOr<uint16_t> place = PlaceFor(project, value.name);
  if (!place.ok()) return place.status();
  last_incarnation_ = std::max(last_incarnation_, id);
  subscription_names_.emplace(value.name, id);
  auto subscription = std::make_unique<Subscription>(id, std::move(value), topic, first, bound, ceiling);
  subscription->project = project;
  subscription->place = *place;
  subscription->delays = DelaysFor(project);
  subscription->planted = options_.planted;
  (subscription->value.detached ? topic.detached : topic.subscriptions).push_back(subscription.get());
  subscriptions_.emplace(id, std::move(subscription));
  return absl::OkStatus();
}

void Catalog::DeleteSubscription(Subscription& subscription) {
  Topic& topic = subscription.topic;
  Release(subscription);
  ForgetIfUnused(topic);
}

// The topic stays, whatever becomes of it.
void Catalog::Release(Subscription& subscription) {
  Topic& topic = subscription.topic;
  subscription.ReleaseAll();
  subscription_names_.erase(subscription.value.name);
  std::erase(topic.subscriptions, &subscription);
  std::erase(topic.detached, &subscription);
  subscriptions_.erase(Incarnation{subscription.id});
}

void Catalog::DetachSubscription(Subscription& subscription, Incarnation as) {
  Topic& topic = subscription.topic;
  pubsub::Subscription value = subscription.value;
  value.detached = true;
  const Duration ceiling = subscription.ceiling;
  Release(subscription);
  const Sequence end = topic.log.next();
  const absl::Status added = AddSubscription(as, std::move(value), topic, end, end, ceiling);
  HOPGAP_CHECK(added.ok(), "a name that had a place has it for ever");
}

Subscription* Catalog::FindSubscription(std::string_view name) {
  const auto found = subscription_names_.find(name);
  return found == subscription_names_.end() ? nullptr : FindSubscription(found->second);
}

Subscription* Catalog::FindSubscription(Incarnation id) {
  const auto found = subscriptions_.find(id);
  return found == subscriptions_.end() ? nullptr : found->second.get();
}

std::vector<Subscription*> Catalog::Subscriptions() const {
  std::vector<Subscription*> all;
  for (const auto& [id, subscription] : subscriptions_) all.push_back(subscription.get());
  return all;
}

absl::StatusOr<Page> Catalog::ListTopics(std::string_view project, int32_t page_size, std::string_view token) const {
  return List(topic_names_, StrCat("projects/", project, "/topics/"), page_size, token);
}

absl::StatusOr<Page> Catalog::ListSubscriptions(std::string_view project, int32_t page_size,
                                                std::string_view token) const {
  return List(subscription_names_, StrCat("projects/", project, "/subscriptions/"), page_size, token);
}

absl::StatusOr<Page> Catalog::ListTopicSubscriptions(const Topic& topic, int32_t page_size,
                                                     std::string_view token) const {
  Names names;
  for (const Subscription* subscription : topic.subscriptions) names.emplace(subscription->value.name, 0);
  return ListOf(topic, names, page_size, token);
}

absl::StatusOr<Page> Catalog::ListTopicSnapshots(const Topic& topic, int32_t page_size, std::string_view token) const {
  Names names;
  for (const Snapshot* snapshot : topic.snapshots) names.emplace(snapshot->value.name, 0);
  return ListOf(topic, names, page_size, token);
}

absl::StatusOr<Page> Catalog::ListSnapshots(std::string_view project, int32_t page_size, std::string_view token) const {
  return List(snapshot_names_, StrCat("projects/", project, "/snapshots/"), page_size, token);
}

// The lists of one topic have a prefix of their own, so that their tokens are.
absl::StatusOr<Page> Catalog::ListOf(const Topic& topic, const Names& names, int32_t page_size,
                                     std::string_view token) const {
  const std::string prefix = StrCat(topic.value.name, " ");
  Names prefixed;
  for (const auto& [name, id] : names) prefixed.emplace(StrCat(prefix, name), id);
  absl::StatusOr<Page> page = List(prefixed, prefix, page_size, token);
  if (!page.ok()) return page;
  for (std::string& name : page->names) name.erase(0, prefix.size());
  return page;
}

absl::StatusOr<Page> Catalog::List(const Names& names, std::string_view prefix, int32_t page_size,
                                   std::string_view token) const {
  if (page_size < pubsub::kPageSizeMin || page_size > pubsub::kPageSizeMax) return BadPageSize(page_size);
  auto at = names.lower_bound(prefix);
  if (!token.empty()) {
    const absl::StatusOr<std::string> last = ParsePageToken(prefix, token);
    if (!last.ok()) return last.status();
    at = names.upper_bound(*last);
  }
  const auto size = static_cast<size_t>(page_size == 0 ? pubsub::kPageSizeDefault : page_size);
  Page page;
  for (; at != names.end() && at->first.starts_with(prefix); ++at) {
    if (page.names.size() == size) {
      page.next_page_token = PageToken(prefix, page.names.back());
      break;
    }
    page.names.push_back(at->first);
  }
  return page;
}

// The last name of the page, and a checksum that tells our tokens from garbage.
std::string Catalog::PageToken(std::string_view prefix, std::string_view last) const {
  std::string bytes(last.substr(prefix.size()));
  const uint64_t hash = SipHash(options_.ack_id_key, last);
  for (size_t i = 0; i < kTokenChecksumBytes; ++i) bytes.push_back(static_cast<char>((hash >> (8 * i)) & 0xff));
  return absl::WebSafeBase64Escape(bytes);
}

absl::StatusOr<std::string> Catalog::ParsePageToken(std::string_view prefix, std::string_view token) const {
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(ToAbsl(token), &bytes) || bytes.size() < kTokenChecksumBytes)
    return BadPageToken(token);
  std::string last = StrCat(prefix, std::string_view(bytes).substr(0, bytes.size() - kTokenChecksumBytes));
  if (PageToken(prefix, last) != token) return BadPageToken(token);
  return last;
}

}  // namespace hopgap::broker
