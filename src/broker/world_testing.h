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
#include "broker/keeping_sink_testing.h"
#include "pubsub/error_details.h"

namespace hopgap::broker {

using namespace std::chrono_literals;  // NOLINT: a header for tests only

inline constexpr Instant kStart = InstantFromNanos(1'000'000'000'000);
inline constexpr WallTime kWall{Duration{1'700'000'000'000'000'000}};  // at kStart
inline constexpr HashKey kKey{11, 22};

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
    size_t durable = 0;  // records that were durable when it went out
  };
  struct StreamLog {
    std::vector<pubsub::StreamingPullResponse> responses;
    std::vector<Instant> at;
    std::vector<size_t> durable;
    std::optional<absl::Status> closed;
    bool write_in_flight = false;
    std::vector<pubsub::ReceivedMessage> Messages() const;
  };

  static Broker::Options Defaults();
  explicit World(Broker::Options options = Defaults()) : broker(std::move(options), sink) {}

  // Calls. The answer is there at once unless something holds it.
  CallId Start(pubsub::Method method, pubsub::Request request);
  const Answer& Await(CallId call);
  bool Answered(CallId call) const { return answers.contains(call); }
  absl::Status Do(pubsub::Method method, pubsub::Request request) {
    return Await(Start(method, std::move(request))).status;
  }
  absl::Status CreateTopic(const std::string& id);
  absl::Status CreateSubscription(const std::string& id, const std::string& topic, bool exactly_once,
                                  int32_t ack_deadline_seconds = 10);
  // With whatever fields `value` has; the names are short ids.
  absl::Status Create(const std::string& id, const std::string& topic, pubsub::Subscription value);
  std::vector<std::string> PublishKeyed(const std::string& topic, const std::string& key,
                                        const std::vector<std::string>& data);
  CallId StartPublish(const std::string& topic, std::vector<pubsub::Message> messages);
  std::vector<std::string> Publish(const std::string& topic, const std::vector<std::string>& data);
  std::vector<std::string> Ids(CallId call);
  CallId StartPull(const std::string& sub, int32_t max, bool immediately = false);
  std::vector<pubsub::ReceivedMessage> Received(CallId call);
  // What is there now; empty if nothing is.
  std::vector<pubsub::ReceivedMessage> Pull(const std::string& sub, int32_t max = 1000);
  CallId StartAck(const std::string& sub, std::vector<std::string> ids);
  absl::Status Ack(const std::string& sub, std::vector<std::string> ids) {
    return Await(StartAck(sub, std::move(ids))).status;
  }
  CallId StartModify(const std::string& sub, std::vector<std::string> ids, int32_t seconds);
  absl::Status Modify(const std::string& sub, std::vector<std::string> ids, int32_t seconds);

  // Streams.
  static pubsub::StreamingPullRequest First(const std::string& sub, int32_t seconds = 10);
  StreamLog& Log(StreamId id) { return streams[id]; }
  StreamId Open(pubsub::StreamingPullRequest first);
  StreamId Open(const std::string& sub) { return Open(First(sub)); }
  void Send(StreamId id, pubsub::StreamingPullRequest request);
  void HalfClose(StreamId id);
  void Gone(StreamId id);
  void WriteDone(StreamId id);
  void Cancel(CallId call);
  absl::StatusOr<uint64_t> Admin(const AdminRequest& request);
  void Stop();
  // Anything else of the broker, and what follows from it.
  template <typename Task>
  void Do(Task task) {
    Actions out;
    task(broker, out);
    Perform(out);
  }
  // Time: wakes the broker at each of its deadlines on the way.
  void AdvanceTo(Instant then);
  void Advance(Duration length) { AdvanceTo(now + length); }
  void Tick();
  // The oldest group that waits for the journal becomes durable.
  void PersistOne();
  void PersistAll();
  // Rebuilds from the first `count` records of `journal`.
  void Replay(const std::vector<pubsub::Bytes>& journal, size_t count);
  // The records of the given type of everything persisted so far.
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
  std::vector<pubsub::Bytes> records;                          // all persisted so far
  std::vector<bool> awaited;                                   // by group
  std::deque<std::pair<PersistToken, size_t>> waiting_tokens;  // and the records up to the end of its group
  size_t durable_records = 0;

 private:
  void Perform(Actions& out);
  void OnReply(Action& action);
  void OnWrite(Action& action, Actions& out);
  void OnClose(Action& action);
  void OnPersist(Action& action, Actions& out);

  uint64_t next_call_ = 1;
  uint64_t next_stream_ = 0;  // 0 is a stream like any other
  PersistToken last_token_ = 0;
};

// The world as a crash of `before`'s broker leaves it, at the same instant, with
// the first `count` records of `journal`.
std::unique_ptr<World> AfterCrash(const World& before, const std::vector<pubsub::Bytes>& journal, size_t count);

std::vector<std::string> DataOf(const std::vector<pubsub::ReceivedMessage>& messages);
std::vector<std::string> AckIdsOf(const std::vector<pubsub::ReceivedMessage>& messages);

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
inline constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
inline constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
inline constexpr auto kUnavailable = absl::StatusCode::kUnavailable;

}  // namespace hopgap::broker
