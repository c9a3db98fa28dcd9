#include "server/seeding.h"

#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "pubsub/limits.h"

namespace hopgap::server {
namespace {

using formats::SeedField;
using formats::SeedMessage;
using formats::SeedResource;

// Of one Publish; half of what the broker takes, so that framing does not matter.
constexpr size_t kBatchMessagesMax = 1000;
constexpr size_t kBatchBytesMax = 4'000'000;

absl::Status Failed(int line, std::string_view entry, const absl::Status& status) {
  return absl::Status(status.code(), StrCat("line ", line, ": ", entry, ": ", MessageOf(status)));
}

// The broker's errors name the field that they are about: its line, or the
// entry's if they name none.
absl::Status Refused(const SeedResource& resource, const absl::Status& status) {
  const SeedField* about = nullptr;
  for (const SeedField& field : resource.fields) {
    if (MessageOf(status).find(field.name) == std::string_view::npos) continue;
    if (about == nullptr || about->name.size() < field.name.size()) about = &field;
  }
  if (about == nullptr) return Failed(resource.line, resource.entry, status);
  return Failed(about->line, StrCat(resource.entry, ".", about->name), status);
}

absl::StatusOr<LocalRequest> Creating(const SeedResource& resource) {
  const bool topic = resource.kind == SeedResource::Kind::kTopic;
  const pubsub::Method method = topic ? pubsub::Method::kCreateTopic : pubsub::Method::kCreateSubscription;
  absl::StatusOr<pubsub::Request> request = pubsub::DecodeRequest(method, pubsub::Bytes(resource.wire()));
  if (!request.ok()) return request.status();
  return LocalRequest{method, *std::move(request)};
}

absl::Status CheckExisting(const SeedResource& resource, LocalCalls& broker) {
  const bool topic = resource.kind == SeedResource::Kind::kTopic;
  const absl::StatusOr<pubsub::Bytes> existing = broker.Ask(
      topic ? pubsub::Method::kGetTopic : pubsub::Method::kGetSubscription, pubsub::NameRequest{.name = resource.name});
  if (!existing.ok()) return Refused(resource, existing.status());
  for (const SeedField& field : resource.fields) {
    if (formats::HasSeedField(resource.kind, existing->view(), field)) continue;
    return Failed(field.line, StrCat(resource.entry, ".", field.name),
                  absl::FailedPreconditionError(
                      StrCat(resource.name, " exists with another value: delete or update it, or change the seed")));
  }
  return absl::OkStatus();
}

// Returns the names of those that are new.
absl::StatusOr<std::set<std::string>> Create(const std::vector<SeedResource>& resources, LocalCalls& broker) {
  std::vector<LocalRequest> requests;
  requests.reserve(resources.size());
  for (const SeedResource& resource : resources) {
    absl::StatusOr<LocalRequest> request = Creating(resource);
    if (!request.ok()) return Refused(resource, request.status());
    requests.push_back(*std::move(request));
  }
  const std::vector<absl::StatusOr<pubsub::Bytes>> answers = broker.AskAll(std::move(requests));
  std::set<std::string> made;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].ok()) {
      made.insert(resources[i].name);
      continue;
    }
    if (!absl::IsAlreadyExists(answers[i].status())) return Refused(resources[i], answers[i].status());
    if (absl::Status status = CheckExisting(resources[i], broker); !status.ok()) return status;
  }
  return made;
}

using Batch = std::vector<const SeedMessage*>;

absl::Status Publish(const Batch& batch, LocalCalls& broker) {
  pubsub::PublishRequest request;
  request.topic = batch.front()->topic;
  for (const SeedMessage* message : batch) {
    absl::StatusOr<pubsub::Message> parsed = pubsub::Message::Parse(pubsub::Bytes(message->wire));
    if (!parsed.ok()) return Failed(message->line, message->entry, parsed.status());
    request.messages.push_back(*std::move(parsed));
  }
  request.wire_size = pubsub::TotalSize(pubsub::Encode(request));
  const absl::Status status = broker.Ask(pubsub::Method::kPublish, std::move(request)).status();
  if (status.ok()) return status;
  if (batch.size() == 1) return Failed(batch.front()->line, batch.front()->entry, status);
  // Nothing of it was taken. One by one, the one at fault is found.
  for (const SeedMessage* message : batch) {
    if (absl::Status single = Publish({message}, broker); !single.ok()) return single;
  }
  return absl::OkStatus();
}

absl::Status PublishAll(const std::vector<SeedMessage>& messages, const std::set<std::string>& topics,
                        LocalCalls& broker, size_t& published) {
  Batch batch;
  size_t bytes = 0;
  const auto flush = [&]() -> absl::Status {
    if (batch.empty()) return absl::OkStatus();
    const absl::Status status = Publish(batch, broker);
    if (status.ok()) published += batch.size();
    batch.clear();
    bytes = 0;
    return status;
  };
  for (const SeedMessage& message : messages) {
    if (!topics.contains(message.topic)) continue;
    const bool full = batch.size() >= kBatchMessagesMax || bytes + message.wire.size() > kBatchBytesMax;
    // One Publish takes messages of one ordering key.
    const bool fits =
        batch.empty() || (batch.front()->topic == message.topic && batch.front()->ordering_key == message.ordering_key);
    if (full || !fits) {
      if (absl::Status status = flush(); !status.ok()) return status;
    }
    batch.push_back(&message);
    bytes += message.wire.size();
  }
  return flush();
}

}  // namespace

absl::StatusOr<Seeded> ApplySeed(const formats::Seed& seed, LocalCalls& broker) {
  Seeded seeded;
  const absl::StatusOr<std::set<std::string>> topics = Create(seed.topics, broker);
  if (!topics.ok()) return topics.status();
  const absl::StatusOr<std::set<std::string>> subscriptions = Create(seed.subscriptions, broker);
  if (!subscriptions.ok()) return subscriptions.status();
  seeded.topics = topics->size();
  seeded.subscriptions = subscriptions->size();
  seeded.found = seed.topics.size() + seed.subscriptions.size() - seeded.topics - seeded.subscriptions;
  if (absl::Status status = PublishAll(seed.messages, *topics, broker, seeded.messages); !status.ok()) return status;
  return seeded;
}

}  // namespace hopgap::server
