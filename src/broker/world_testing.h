#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/ack_id.h"
#include "broker/broker.h"
#include "broker/journal_record.h"
#include "pubsub/error_details.h"

namespace hopgap::broker {

using namespace std::chrono_literals;  // NOLINT: a header for tests only

inline constexpr Instant kStart = InstantFromNanos(1'000'000'000'000);
inline constexpr HashKey kKey{11, 22};

// Keeps what the broker records.
class KeepingSink final : public trace::EventSink {
 public:
  void Record(const trace::Event& event) override { events.push_back(event); }
  uint16_t AddPlace(const trace::Place& place) override {
    places.push_back(place);
    return static_cast<uint16_t>(places.size() - 1);
  }
  std::vector<trace::Event> Of(trace::What what) const {
    std::vector<trace::Event> found;
    for (const trace::Event& event : events) {
      if (event.what == what) found.push_back(event);
    }
    return found;
  }
  std::vector<trace::Event> events;
  std::vector<trace::Place> places;
};

// The adapter's part, with a clock that the test turns: performs actions, keeps
// answers, and checks what every adapter relies on (one write in flight, one
// answer per call, tokens that rise by one). The journal and the writes answer
// at once unless told to wait.
class World {
 public:
  struct Answer {
    absl::Status status;
    std::string details;
    std::string payload;
    Instant at;
    size_t durable = 0;   // records that were durable when it went out
  };
  struct StreamLog {
    std::vector<pubsub::StreamingPullResponse> responses;
    std::vector<Instant> at;
    std::vector<size_t> durable;
    std::optional<absl::Status> closed;
    bool write_in_flight = false;
    std::vector<pubsub::ReceivedMessage> Messages() const {
      std::vector<pubsub::ReceivedMessage> all;
      for (const auto& response : responses) {
        all.insert(all.end(), response.received_messages.begin(), response.received_messages.end());
      }
      return all;
    }
  };

  static Broker::Options Defaults() {
    Broker::Options options;
    options.anchor = {.steady = kStart, .wall = WallTime{Duration{1'700'000'000'000'000'000}}};
    options.ack_id_key = kKey;
    return options;
  }

  explicit World(Broker::Options options = Defaults()) : broker(std::move(options), sink) {}

  // Calls. The answer is there at once unless something holds it.
  CallId Start(pubsub::Method method, pubsub::Request request) {
    const CallId call{next_call_++};
    Actions out;
    broker.OnCall(now, call, method, std::move(request), out);
    Perform(out);
    return call;
  }
  const Answer& Await(CallId call) {
    EXPECT_TRUE(answers.contains(call)) << "the call has no answer";
    return answers[call];
  }
  bool Answered(CallId call) const { return answers.contains(call); }
  absl::Status Do(pubsub::Method method, pubsub::Request request) { return Await(Start(method, std::move(request))).status; }

  absl::Status CreateTopic(const std::string& id) {
    return Do(pubsub::Method::kCreateTopic, pubsub::CreateTopicRequest{.topic = {.name = Topic(id), .labels = {}, .unknown = {}}});
  }
  absl::Status CreateSubscription(const std::string& id, const std::string& topic, bool exactly_once,
                                  int32_t ack_deadline_seconds = 10) {
    pubsub::Subscription value;
    value.name = Sub(id);
    value.topic = Topic(topic);
    value.ack_deadline_seconds = ack_deadline_seconds;
    value.enable_exactly_once_delivery = exactly_once;
    return Do(pubsub::Method::kCreateSubscription, pubsub::CreateSubscriptionRequest{.subscription = value});
  }
  CallId StartPublish(const std::string& topic, std::vector<pubsub::Message> messages) {
    pubsub::PublishRequest request{.topic = Topic(topic), .messages = std::move(messages), .wire_size = 0};
    request.wire_size = pubsub::TotalSize(pubsub::Encode(request));
    return Start(pubsub::Method::kPublish, std::move(request));
  }
  std::vector<std::string> Publish(const std::string& topic, const std::vector<std::string>& data) {
    std::vector<pubsub::Message> messages;
    for (const std::string& text : data) messages.push_back(pubsub::Message::Make(text, {}));
    return Ids(StartPublish(topic, std::move(messages)));
  }
  std::vector<std::string> Ids(CallId call) {
    const Answer& answer = Await(call);
    EXPECT_TRUE(answer.status.ok()) << answer.status;
    auto ids = pubsub::DecodePublishResponse(answer.payload);
    EXPECT_TRUE(ids.ok());
    return ids.ok() ? *ids : std::vector<std::string>{};
  }
  CallId StartPull(const std::string& sub, int32_t max, bool immediately = false) {
    return Start(pubsub::Method::kPull, pubsub::PullRequest{.subscription = Sub(sub), .return_immediately = immediately, .max_messages = max});
  }
  std::vector<pubsub::ReceivedMessage> Received(CallId call) {
    const Answer& answer = Await(call);
    EXPECT_TRUE(answer.status.ok()) << answer.status;
    auto messages = pubsub::DecodePullResponse(pubsub::Bytes(answer.payload));
    EXPECT_TRUE(messages.ok());
    return messages.ok() ? *messages : std::vector<pubsub::ReceivedMessage>{};
  }
  // What is there now; empty if nothing is.
  std::vector<pubsub::ReceivedMessage> Pull(const std::string& sub, int32_t max = 1000) {
    std::vector<pubsub::ReceivedMessage> all;
    while (static_cast<int32_t>(all.size()) < max) {
      // One pull takes what the first commit sets free; the rest is there next.
      auto some = Received(StartPull(sub, max - static_cast<int32_t>(all.size()), true));
      if (some.empty()) break;
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  CallId StartAck(const std::string& sub, std::vector<std::string> ids) {
    return Start(pubsub::Method::kAcknowledge, pubsub::AcknowledgeRequest{.subscription = Sub(sub), .ack_ids = std::move(ids), .wire_size = 0});
  }
  absl::Status Ack(const std::string& sub, std::vector<std::string> ids) { return Await(StartAck(sub, std::move(ids))).status; }
  CallId StartModify(const std::string& sub, std::vector<std::string> ids, int32_t seconds) {
    return Start(pubsub::Method::kModifyAckDeadline,
                 pubsub::ModifyAckDeadlineRequest{.subscription = Sub(sub), .ack_ids = std::move(ids), .ack_deadline_seconds = seconds, .wire_size = 0});
  }
  absl::Status Modify(const std::string& sub, std::vector<std::string> ids, int32_t seconds) {
    return Await(StartModify(sub, std::move(ids), seconds)).status;
  }

  // Streams.
  static pubsub::StreamingPullRequest First(const std::string& sub, int32_t seconds = 10) {
    pubsub::StreamingPullRequest first;
    first.subscription = Sub(sub);
    first.stream_ack_deadline_seconds = seconds;
    return first;
  }
  StreamLog& Log(StreamId id) { return streams[id]; }
  StreamId Open(pubsub::StreamingPullRequest first) {
    const StreamId id{next_stream_++};
    streams[id];
    Actions out;
    broker.OnStreamOpen(now, id, std::move(first), out);
    Perform(out);
    return id;
  }
  StreamId Open(const std::string& sub) { return Open(First(sub)); }
  void Send(StreamId id, pubsub::StreamingPullRequest request) {
    Actions out;
    broker.OnStreamRequest(now, id, std::move(request), out);
    Perform(out);
  }
  void HalfClose(StreamId id) {
    Actions out;
    broker.OnStreamHalfClosed(now, id, out);
    Perform(out);
  }
  void Gone(StreamId id) {
    Actions out;
    broker.OnStreamGone(now, id, out);
    Perform(out);
  }
  void WriteDone(StreamId id) {
    EXPECT_TRUE(streams[id].write_in_flight);
    streams[id].write_in_flight = false;
    Actions out;
    broker.OnWriteDone(now, id, out);
    Perform(out);
  }
  void Cancel(CallId call) {
    Actions out;
    broker.OnCallCancelled(now, call, out);
    Perform(out);
  }
  void Stop() {
    Actions out;
    broker.Stop(now, out);
    Perform(out);
  }

  // Time: wakes the broker at each of its deadlines on the way.
  void AdvanceTo(Instant then) {
    for (std::optional<Instant> next = broker.NextDeadline(); next && *next <= then; next = broker.NextDeadline()) {
      now = std::max(now, *next);
      Tick();
    }
    now = then;
    Tick();
  }
  void Advance(Duration length) { AdvanceTo(now + length); }
  void Tick() {
    Actions out;
    broker.OnDeadline(now, out);
    Perform(out);
  }

  // The oldest group that waits for the journal becomes durable.
  void PersistOne() {
    ASSERT_FALSE(waiting_tokens.empty());
    const auto [token, count] = waiting_tokens.front();
    waiting_tokens.pop_front();
    durable_records = count;
    Actions out;
    broker.OnPersisted(now, token, out);
    Perform(out);
  }
  void PersistAll() {
    while (!waiting_tokens.empty()) PersistOne();
  }

  // Rebuilds from the first `count` records of `journal`. False on an error.
  void Replay(const std::vector<pubsub::Bytes>& journal, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const absl::Status status = broker.Replay(journal[i]);
      ASSERT_TRUE(status.ok()) << "record " << i << ": " << status;
    }
    broker.ReplayDone(now);
    Tick();
  }

  // Keeps the records of the given type of everything persisted so far.
  template <typename T>
  std::vector<T> Records() const {
    std::vector<T> found;
    for (const pubsub::Bytes& bytes : records) {
      absl::StatusOr<Record> record = DecodeRecord(bytes);
      EXPECT_TRUE(record.ok()) << record.status();
      if (record.ok() && std::holds_alternative<T>(*record)) found.push_back(std::get<T>(*record));
    }
    return found;
  }

  static std::string Topic(const std::string& id) { return "projects/p/topics/" + id; }
  static std::string Sub(const std::string& id) { return "projects/p/subscriptions/" + id; }

  KeepingSink sink;
  Instant now = kStart;
  bool journal_waits = false;
  bool writes_wait = false;
  Broker broker;
  std::map<CallId, Answer> answers;
  std::map<StreamId, StreamLog> streams;
  std::vector<pubsub::Bytes> records;       // all persisted so far
  std::vector<bool> awaited;                // by group
  std::deque<std::pair<PersistToken, size_t>> waiting_tokens;  // and the records up to the end of its group
  size_t durable_records = 0;

 private:
  void Perform(Actions& out) {
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
  void OnReply(Action& action) {
    const bool fresh = answers.emplace(action.call, Answer{action.status, action.details, pubsub::Join(action.payload), now, durable_records}).second;
    EXPECT_TRUE(fresh) << "a call was answered twice";
  }
  void OnWrite(Action& action, Actions& out) {
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
  void OnClose(Action& action) {
    StreamLog& stream = streams.at(action.stream);
    EXPECT_FALSE(stream.write_in_flight) << "closed while a write is in flight";
    EXPECT_FALSE(stream.closed) << "closed twice";
    stream.closed = action.status;
  }
  void OnPersist(Action& action, Actions& out) {
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

  uint64_t next_call_ = 1;
  uint64_t next_stream_ = 0;  // 0 is a stream like any other
  PersistToken last_token_ = 0;
};

inline std::vector<std::string> DataOf(const std::vector<pubsub::ReceivedMessage>& messages) {
  std::vector<std::string> data;
  for (const pubsub::ReceivedMessage& message : messages) data.emplace_back(message.message.data());
  return data;
}
inline std::vector<std::string> AckIdsOf(const std::vector<pubsub::ReceivedMessage>& messages) {
  std::vector<std::string> ids;
  for (const pubsub::ReceivedMessage& message : messages) ids.push_back(message.ack_id);
  return ids;
}

MATCHER_P(HasCode, code, "") {
  *result_listener << "which is " << arg;
  return arg.code() == code;
}
MATCHER_P(SaysText, text, "") {
  *result_listener << "which is " << arg;
  return std::string(arg.message()).find(text) != std::string::npos;
}
inline constexpr auto kOk = absl::StatusCode::kOk;
inline constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
inline constexpr auto kNotFound = absl::StatusCode::kNotFound;
inline constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
inline constexpr auto kUnavailable = absl::StatusCode::kUnavailable;

}  // namespace hopgap::broker
