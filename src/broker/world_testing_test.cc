#include "broker/world_testing.h"

// The harness of this room's tests. Its name ends like a test's so that it is
// linked into them and not into the library.

namespace hopgap::broker {

std::vector<pubsub::ReceivedMessage> World::StreamLog::Messages() const {
  std::vector<pubsub::ReceivedMessage> all;
  for (const auto& response : responses) {
    all.insert(all.end(), response.received_messages.begin(), response.received_messages.end());
  }
  return all;
}

Broker::Options World::Defaults() {
  Broker::Options options;
  options.anchor = {.steady = kStart, .wall = WallTime{Duration{1'700'000'000'000'000'000}}};
  options.ack_id_key = kKey;
  return options;
}

CallId World::Start(pubsub::Method method, pubsub::Request request) {
  const CallId call{next_call_++};
  Actions out;
  broker.OnCall(now, call, method, std::move(request), out);
  Perform(out);
  return call;
}

const World::Answer& World::Await(CallId call) {
  EXPECT_TRUE(answers.contains(call)) << "the call has no answer";
  return answers[call];
}

absl::Status World::CreateTopic(const std::string& id) {
  return Do(pubsub::Method::kCreateTopic,
            pubsub::CreateTopicRequest{.topic = {.name = Topic(id), .labels = {}, .unknown = {}}});
}

absl::Status World::CreateSubscription(const std::string& id, const std::string& topic, bool exactly_once,
                                       int32_t ack_deadline_seconds) {
  pubsub::Subscription value;
  value.ack_deadline_seconds = ack_deadline_seconds;
  value.enable_exactly_once_delivery = exactly_once;
  return Create(id, topic, value);
}

absl::Status World::Create(const std::string& id, const std::string& topic, pubsub::Subscription value) {
  value.name = Sub(id);
  value.topic = Topic(topic);
  return Do(pubsub::Method::kCreateSubscription, pubsub::CreateSubscriptionRequest{.subscription = std::move(value)});
}

std::vector<std::string> World::PublishKeyed(const std::string& topic, const std::string& key,
                                             const std::vector<std::string>& data) {
  std::vector<pubsub::Message> messages;
  for (const std::string& text : data) messages.push_back(pubsub::Message::Make(text, {}, key));
  return Ids(StartPublish(topic, std::move(messages)));
}

CallId World::StartPublish(const std::string& topic, std::vector<pubsub::Message> messages) {
  pubsub::PublishRequest request{.topic = Topic(topic), .messages = std::move(messages), .wire_size = 0};
  request.wire_size = pubsub::TotalSize(pubsub::Encode(request));
  return Start(pubsub::Method::kPublish, std::move(request));
}

std::vector<std::string> World::Publish(const std::string& topic, const std::vector<std::string>& data) {
  std::vector<pubsub::Message> messages;
  for (const std::string& text : data) messages.push_back(pubsub::Message::Make(text, {}));
  return Ids(StartPublish(topic, std::move(messages)));
}

std::vector<std::string> World::Ids(CallId call) {
  const Answer& answer = Await(call);
  EXPECT_TRUE(answer.status.ok()) << answer.status;
  auto ids = pubsub::DecodePublishResponse(answer.payload);
  EXPECT_TRUE(ids.ok());
  return ids.ok() ? *ids : std::vector<std::string>{};
}

CallId World::StartPull(const std::string& sub, int32_t max, bool immediately) {
  return Start(pubsub::Method::kPull,
               pubsub::PullRequest{.subscription = Sub(sub), .return_immediately = immediately, .max_messages = max});
}

std::vector<pubsub::ReceivedMessage> World::Received(CallId call) {
  const Answer& answer = Await(call);
  EXPECT_TRUE(answer.status.ok()) << answer.status;
  auto messages = pubsub::DecodePullResponse(pubsub::Bytes(answer.payload));
  EXPECT_TRUE(messages.ok());
  return messages.ok() ? *messages : std::vector<pubsub::ReceivedMessage>{};
}

std::vector<pubsub::ReceivedMessage> World::Pull(const std::string& sub, int32_t max) {
  std::vector<pubsub::ReceivedMessage> all;
  while (static_cast<int32_t>(all.size()) < max) {
    // One pull takes what the first commit sets free; the rest is there next.
    auto some = Received(StartPull(sub, max - static_cast<int32_t>(all.size()), true));
    if (some.empty()) break;
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

CallId World::StartAck(const std::string& sub, std::vector<std::string> ids) {
  return Start(pubsub::Method::kAcknowledge,
               pubsub::AcknowledgeRequest{.subscription = Sub(sub), .ack_ids = std::move(ids), .wire_size = 0});
}

CallId World::StartModify(const std::string& sub, std::vector<std::string> ids, int32_t seconds) {
  return Start(
      pubsub::Method::kModifyAckDeadline,
      pubsub::ModifyAckDeadlineRequest{
          .subscription = Sub(sub), .ack_ids = std::move(ids), .ack_deadline_seconds = seconds, .wire_size = 0});
}

absl::Status World::Modify(const std::string& sub, std::vector<std::string> ids, int32_t seconds) {
  return Await(StartModify(sub, std::move(ids), seconds)).status;
}

pubsub::StreamingPullRequest World::First(const std::string& sub, int32_t seconds) {
  pubsub::StreamingPullRequest first;
  first.subscription = Sub(sub);
  first.stream_ack_deadline_seconds = seconds;
  return first;
}

StreamId World::Open(pubsub::StreamingPullRequest first) {
  const StreamId id{next_stream_++};
  streams[id];
  Actions out;
  broker.OnStreamOpen(now, id, std::move(first), out);
  Perform(out);
  return id;
}

void World::Send(StreamId id, pubsub::StreamingPullRequest request) {
  Actions out;
  broker.OnStreamRequest(now, id, std::move(request), out);
  Perform(out);
}

void World::HalfClose(StreamId id) {
  Actions out;
  broker.OnStreamHalfClosed(now, id, out);
  Perform(out);
}

void World::Gone(StreamId id) {
  Actions out;
  broker.OnStreamGone(now, id, out);
  Perform(out);
}

void World::WriteDone(StreamId id) {
  EXPECT_TRUE(streams[id].write_in_flight);
  streams[id].write_in_flight = false;
  Actions out;
  broker.OnWriteDone(now, id, out);
  Perform(out);
}

absl::StatusOr<uint64_t> World::Admin(const AdminRequest& request) {
  Actions out;
  const absl::StatusOr<uint64_t> touched = broker.OnAdmin(now, request, out);
  Perform(out);
  return touched;
}

void World::Cancel(CallId call) {
  Actions out;
  broker.OnCallCancelled(now, call, out);
  Perform(out);
}

void World::Stop() {
  Actions out;
  broker.Stop(now, out);
  Perform(out);
}

void World::AdvanceTo(Instant then) {
  for (std::optional<Instant> next = broker.NextDeadline(); next && *next <= then; next = broker.NextDeadline()) {
    now = std::max(now, *next);
    Tick();
  }
  now = then;
  Tick();
}

void World::Tick() {
  Actions out;
  broker.OnDeadline(now, out);
  Perform(out);
}

void World::PersistOne() {
  ASSERT_FALSE(waiting_tokens.empty());
  const auto [token, count] = waiting_tokens.front();
  waiting_tokens.pop_front();
  durable_records = count;
  Actions out;
  broker.OnPersisted(now, token, out);
  Perform(out);
}

void World::PersistAll() {
  while (!waiting_tokens.empty()) PersistOne();
}

void World::Replay(const std::vector<pubsub::Bytes>& journal, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const absl::Status status = broker.Replay(journal[i]);
    ASSERT_TRUE(status.ok()) << "record " << i << ": " << status;
  }
  ASSERT_TRUE(broker.ReplayDone(now).ok());
  Tick();
}

void World::Perform(Actions& out) {
  for (size_t i = 0; i < out.size(); ++i) {
    Action action = std::move(out[i]);
    switch (action.kind) {
      case Action::Kind::kReply: OnReply(action); break;
      case Action::Kind::kWrite: OnWrite(action, out); break;
      case Action::Kind::kCloseStream: OnClose(action); break;
      case Action::Kind::kPersist: OnPersist(action, out); break;
    }
  }
}

void World::OnReply(Action& action) {
  const bool fresh = answers
                         .emplace(action.call, Answer{action.status, action.details, pubsub::Join(action.payload), now,
                                                      durable_records})
                         .second;
  EXPECT_TRUE(fresh) << "a call was answered twice";
}

void World::OnWrite(Action& action, Actions& out) {
  StreamLog& stream = streams.at(action.stream);
  EXPECT_FALSE(stream.write_in_flight) << "two writes in flight on one stream";
  EXPECT_FALSE(stream.closed) << "a write after the close";
  auto response = pubsub::DecodeStreamingPullResponse(pubsub::Bytes(pubsub::Join(action.payload)));
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_TRUE(response->has_properties) << "a response without subscription_properties";
  stream.responses.push_back(*response);
  stream.at.push_back(now);
  stream.durable.push_back(durable_records);
  if (writes_wait) {
    stream.write_in_flight = true;
  } else {
    broker.OnWriteDone(now, action.stream, out);
  }
}

void World::OnClose(Action& action) {
  StreamLog& stream = streams.at(action.stream);
  EXPECT_FALSE(stream.write_in_flight) << "closed while a write is in flight";
  EXPECT_FALSE(stream.closed) << "closed twice";
  stream.closed = action.status;
}

void World::OnPersist(Action& action, Actions& out) {
  EXPECT_EQ(action.token, ++last_token_);
  for (const pubsub::Slices& record : action.records) records.emplace_back(pubsub::Join(record));
  awaited.push_back(action.awaited);
  if (journal_waits) {
    waiting_tokens.emplace_back(action.token, records.size());
  } else {
    durable_records = records.size();
    broker.OnPersisted(now, action.token, out);
  }
}

std::unique_ptr<World> AfterCrash(const World& before, const std::vector<pubsub::Bytes>& journal, size_t count) {
  auto after = std::make_unique<World>();
  after->now = before.now;
  after->Replay(journal, count);
  after->records.insert(after->records.begin(), journal.begin(), journal.begin() + static_cast<std::ptrdiff_t>(count));
  after->durable_records += count;
  return after;
}

std::vector<std::string> DataOf(const std::vector<pubsub::ReceivedMessage>& messages) {
  std::vector<std::string> data;
  for (const pubsub::ReceivedMessage& message : messages) data.emplace_back(message.message.data());
  return data;
}

std::vector<std::string> AckIdsOf(const std::vector<pubsub::ReceivedMessage>& messages) {
  std::vector<std::string> ids;
  for (const pubsub::ReceivedMessage& message : messages) ids.push_back(message.ack_id);
  return ids;
}

}  // namespace hopgap::broker
