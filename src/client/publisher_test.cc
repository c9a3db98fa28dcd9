#include "client/publisher.h"

#include "client/test_world.h"

namespace hopgap::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using trace::What;

class PublisherWorld {
 public:
  struct Request {
    Instant at;
    std::vector<std::string> data;
    Duration timeout;
    std::vector<pubsub::Message> messages;
  };
  struct Result {
    Instant at;
    uint64_t publish;
    bool ok;
    std::string id, error;
  };
  explicit PublisherWorld(Publisher::Options options = {}) : publisher(Named(std::move(options)), log, next_rpc) {}
  static Publisher::Options Named(Publisher::Options options) {
    options.topic = "projects/p/topics/t-name";
    return options;
  }

  void Publish(Instant at, const std::string& data, std::function<void(Publisher::Call&)> edit = nullptr) {
    agenda.Post(at, [this, data, edit] {
      Publisher::Call call;
      call.publish = ++published;
      call.data = data;
      call.create = ContextOf(published);
      if (edit) edit(call);
      Do([&](Actions& out) { publisher.Publish(now, std::move(call), out); });
    });
  }
  void Do(const std::function<void(Actions&)>& step) {
    Actions out;
    step(out);
    for (const Action& action : out) {
      if (action.kind == Action::Kind::kPublished) {
        results.push_back({now, action.publish, action.ok, action.message_id, action.error});
      } else {
        PerformCall(action);
      }
    }
  }
  void PerformCall(const Action& action) {
    ASSERT_EQ(action.kind, Action::Kind::kCall);
    ASSERT_EQ(action.method, pubsub::Method::kPublish);
    auto request = pubsub::DecodeRequest(action.method, pubsub::Bytes(pubsub::Join(action.payload)));
    ASSERT_TRUE(request.ok()) << request.status();
    auto& publish = std::get<pubsub::PublishRequest>(*request);
    EXPECT_EQ(publish.topic, "projects/p/topics/t-name");
    Request seen{now, {}, action.timeout, publish.messages};
    std::vector<std::string> ids;
    for (const pubsub::Message& message : publish.messages) {
      seen.data.emplace_back(message.data());
      ids.push_back(std::to_string(++last_id));
    }
    requests.push_back(std::move(seen));
    const absl::Status status = server(requests.size());
    if (skip_id) ids.pop_back();
    agenda.Post(now + latency, [this, call = action.call, status, ids] {
      Do([&](Actions& out) {
        publisher.OnCallDone(now, call, status, status.ok() ? pubsub::EncodePublishResponse(ids) : pubsub::Bytes(),
                             out);
      });
    });
  }
  void RunUntil(Instant until) {
    for (;;) {
      const Instant next = std::min(agenda.Next(), publisher.NextDeadline().value_or(kNever));
      if (next > until) break;
      now = std::max(now, next);
      if (agenda.Next() <= now) {
        agenda.RunFirst();
      } else {
        ++wakeups;
        Do([this](Actions& out) { publisher.OnDeadline(now, out); });
      }
    }
    now = until;
  }

  Instant now = kStart;
  EventLog log;
  uint64_t next_rpc = 1;
  Publisher publisher;
  Agenda agenda;
  std::function<absl::Status(size_t)> server = [](size_t) { return absl::OkStatus(); };
  Duration latency{0};
  bool skip_id = false;
  std::vector<Request> requests;
  std::vector<Result> results;
  uint64_t published = 0, last_id = 0;
  int wakeups = 0;
};

TEST(PublisherTest, ALoneMessageWaitsForTheDelayFromTheFirstOfItsBundle) {
  PublisherWorld world;
  world.Publish(kStart + 1ms, "a");
  world.Publish(kStart + 9ms, "b");
  world.Publish(kStart + 12ms, "c");
  world.RunUntil(kStart + 11ms - 1ns);
  EXPECT_THAT(world.requests, IsEmpty());
  world.RunUntil(kStart + 1s);
  ASSERT_THAT(world.requests, SizeIs(2));
  EXPECT_EQ(world.requests[0].at, kStart + 11ms);
  EXPECT_THAT(world.requests[0].data, ElementsAre("a", "b"));
  EXPECT_EQ(world.requests[1].at, kStart + 22ms);
  EXPECT_EQ(world.requests[0].timeout, 60s);
  EXPECT_EQ(world.wakeups, 2);
  EXPECT_EQ(world.publisher.NextDeadline(), std::nullopt);
}

TEST(PublisherTest, ABundleClosesAtItsCount) {
  for (const int n : {99, 100, 101}) {
    PublisherWorld world;
    for (int i = 0; i < n; ++i) world.Publish(kStart, "x");
    world.RunUntil(kStart);
    EXPECT_THAT(world.requests, SizeIs(n >= 100 ? 1 : 0));
    world.RunUntil(kStart + 10ms);
    EXPECT_THAT(world.requests, SizeIs(n == 101 ? 2 : 1));
  }
}

// The size is the encoded message's without the trace context: tag, length, data.
TEST(PublisherTest, ABundleClosesAtItsBytes) {
  for (const size_t size : {97u, 98u, 99u}) {
    Publisher::Options options;
    options.model.publish_bytes = 100;
    PublisherWorld world(options);
    world.Publish(kStart, std::string(size, 'x'));
    world.RunUntil(kStart);
    EXPECT_THAT(world.requests, SizeIs(size >= 98 ? 1 : 0));
  }
}

TEST(PublisherTest, AttributesCountInTheSizeAndTheContextDoesNot) {
  for (const size_t limit : {9u, 10u}) {
    Publisher::Options options;
    options.model.publish_bytes = limit;
    PublisherWorld world(options);
    // 9 bytes: tag, length, (tag, length, "k"), (tag, length, "vv").
    world.Publish(kStart, "", [](Publisher::Call& call) { call.attributes = {{"k", "vv"}}; });
    world.RunUntil(kStart);
    EXPECT_EQ(world.requests.size(), limit == 9 ? 1u : 0u);
  }
}

TEST(PublisherTest, AMessageThatFitsNoRequestIsRefused) {
  PublisherWorld world;
  world.Publish(kStart, "small");
  world.Publish(kStart, std::string(10'000'000, 'x'));
  world.RunUntil(kStart);
  ASSERT_THAT(world.results, SizeIs(1));
  EXPECT_EQ(world.results[0].publish, 2u);
  EXPECT_FALSE(world.results[0].ok);
  EXPECT_THAT(world.results[0].error, HasSubstr("does not fit into one request"));
  EXPECT_EQ(world.publisher.in_flight(), 1u);
}

TEST(PublisherTest, ABundleNeverExceedsOneRequest) {
  Publisher::Options options;
  options.model.publish_bytes = 100'000'000;
  PublisherWorld world(options);
  world.Publish(kStart, std::string(6'000'000, 'x'));
  world.Publish(kStart, std::string(6'000'000, 'y'));
  world.RunUntil(kStart);
  EXPECT_THAT(world.requests, SizeIs(1));
  world.RunUntil(kStart + 10ms);
  EXPECT_THAT(world.requests, SizeIs(2));
}

TEST(PublisherTest, TheCreateContextReplacesOneThatTheMessageCarried) {
  PublisherWorld world;
  world.Publish(kStart, "a", [](Publisher::Call& call) {
    call.attributes = {{"googclient_traceparent", pubsub::FormatTraceparent(ContextOf(99))}, {"k", "v"}};
  });
  world.Publish(kStart, "b", [](Publisher::Call& call) {
    call.create = {};
    call.attributes = {{"googclient_traceparent", "kept"}};
  });
  world.RunUntil(kStart + 1s);
  const auto& messages = world.requests.at(0).messages;
  EXPECT_EQ(messages[0].attribute_count(), 2u);
  EXPECT_EQ(messages[0].Attribute("googclient_traceparent"), pubsub::FormatTraceparent(ContextOf(1)));
  EXPECT_EQ(messages[0].Attribute("k"), "v");
  EXPECT_EQ(messages[1].Attribute("googclient_traceparent"), "kept");
  for (const trace::Event& event : world.log.events) EXPECT_EQ(event.message.trace_lo, 1u);
}

TEST(PublisherTest, EventsAndResult) {
  PublisherWorld world;
  world.latency = 4ms;
  world.last_id = 40;
  world.Publish(kStart + 1ms, "a", [](Publisher::Call& call) {
    call.parent = 77;
    call.scheduled = kStart + 500us;
    call.slot_label = 5;
  });
  world.RunUntil(kStart + 1s);
  const auto& events = world.log.events;
  ASSERT_THAT(events, SizeIs(5));
  const std::vector<std::pair<What, Duration>> want = {{What::kPublishCall, 1ms},
                                                       {What::kPublisherAdmitted, 1ms},
                                                       {What::kBatchingEnd, 11ms},
                                                       {What::kPublishStart, 11ms},
                                                       {What::kPublishEnd, 15ms}};
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(events[i].what, want[i].first);
    EXPECT_EQ(events[i].at, kStart + want[i].second);
    EXPECT_EQ(events[i].message, (trace::MessageKey{7, 1, 101}));
  }
  EXPECT_EQ(events[0].rpc, 77u);
  EXPECT_EQ(events[0].value, 500'000);
  EXPECT_EQ(events[0].delivery, 5u);
  EXPECT_EQ(events[3].rpc, 1u);
  EXPECT_EQ(events[3].count, 1);
  EXPECT_EQ(events[4].delivery, 41u);
  EXPECT_EQ(events[4].value, 0);
  ASSERT_THAT(world.results, SizeIs(1));
  EXPECT_TRUE(world.results[0].ok);
  EXPECT_EQ(world.results[0].id, "41");
  EXPECT_EQ(world.next_rpc, 2u);
}

TEST(PublisherTest, WhichErrorsAreRetried) {
  struct Case {
    absl::Status status;
    bool retried;
  };
  const std::vector<Case> cases = {
      {absl::AbortedError(""), true},           {absl::CancelledError(""), true},
      {absl::InternalError(""), true},          {absl::InternalError("string field contains invalid UTF-8"), false},
      {absl::ResourceExhaustedError(""), true}, {absl::UnknownError(""), true},
      {absl::UnavailableError(""), true},       {absl::DeadlineExceededError(""), true},
      {absl::NotFoundError(""), false},         {absl::InvalidArgumentError(""), false},
      {absl::PermissionDeniedError(""), false}, {absl::FailedPreconditionError(""), false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.status.ToString());
    PublisherWorld world;
    world.server = [&](size_t n) { return n == 1 ? c.status : absl::OkStatus(); };
    world.Publish(kStart, "a");
    world.RunUntil(kStart + 1s);
    EXPECT_THAT(world.requests, SizeIs(c.retried ? 2 : 1));
    ASSERT_THAT(world.results, SizeIs(1));
    EXPECT_EQ(world.results[0].ok, c.retried);
    EXPECT_THAT(world.log.Of(What::kPublishStart), SizeIs(1));  // retries are inside
    EXPECT_THAT(world.log.Of(What::kPublishEnd), SizeIs(1));
    if (!c.retried) continue;
    EXPECT_LE(world.requests[1].at, kStart + 10ms + 100ms);
    EXPECT_EQ(world.requests[1].timeout, 60s - (world.requests[1].at - world.requests[0].at));
  }
}

TEST(PublisherTest, APublishFailsWhenItsTimeoutIsOver) {
  PublisherWorld world;
  world.server = [](size_t) { return absl::UnavailableError("down"); };
  world.Publish(kStart, "a");
  world.RunUntil(kStart + 10ms + 60s - 1ns);
  EXPECT_THAT(world.results, IsEmpty());
  EXPECT_EQ(world.publisher.in_flight(), 1u);
  world.RunUntil(kStart + 10ms + 60s);
  ASSERT_THAT(world.results, SizeIs(1));
  EXPECT_FALSE(world.results[0].ok);
  EXPECT_THAT(world.results[0].error, HasSubstr("down"));
  EXPECT_EQ(world.publisher.in_flight(), 0u);
}

TEST(PublisherTest, BundlesBeyondTheWorkersWaitInOrder) {
  Publisher::Options options;
  options.model.publish_calls_max = 2;
  options.model.publish_count = 1;
  PublisherWorld world(options);
  world.latency = 10ms;
  for (const char* data : {"a", "b", "c", "d"}) world.Publish(kStart, data);
  world.RunUntil(kStart + 5ms);
  EXPECT_THAT(world.requests, SizeIs(2));
  EXPECT_EQ(world.publisher.NextDeadline(), std::nullopt);  // nothing to wake up for
  world.RunUntil(kStart + 1s);
  ASSERT_THAT(world.requests, SizeIs(4));
  EXPECT_THAT(world.requests[2].data, ElementsAre("c"));
  EXPECT_EQ(world.requests[2].at, kStart + 10ms);
  EXPECT_EQ(world.log.At(What::kBatchingEnd).at(2), kStart + 10ms);
}

TEST(PublisherTest, APublishBeyondTheBufferFailsAtOnce) {
  Publisher::Options options;
  options.buffered_messages_max = 2;
  PublisherWorld world(options);
  for (const char* data : {"a", "b", "c"}) world.Publish(kStart, data);
  world.RunUntil(kStart);
  ASSERT_THAT(world.results, SizeIs(1));
  EXPECT_EQ(world.results[0].publish, 3u);
  EXPECT_THAT(world.results[0].error, HasSubstr("limit is 2"));
  world.RunUntil(kStart + 1s);
  EXPECT_THAT(world.results, SizeIs(3));
}

TEST(PublisherTest, FlushDoesNotWaitForTheDelay) {
  PublisherWorld world;
  world.Publish(kStart + 1ms, "a");
  world.RunUntil(kStart + 2ms);
  world.Do([&](Actions& out) { world.publisher.Flush(world.now, out); });
  ASSERT_THAT(world.requests, SizeIs(1));
  EXPECT_EQ(world.requests[0].at, kStart + 2ms);
}

TEST(PublisherTest, PlantedBatchingDelaysOnlyTheLeaving) {
  Publisher::Options options;
  options.planted.batching = 7ms;
  PublisherWorld world(options);
  world.latency = 4ms;
  world.Publish(kStart, "a");
  world.Publish(kStart + 12ms, "b");  // the bundle of a has closed already
  world.RunUntil(kStart + 1s);
  EXPECT_THAT(world.log.At(What::kPublisherAdmitted), ElementsAre(kStart, kStart + 12ms));
  EXPECT_THAT(world.log.At(What::kBatchingEnd), ElementsAre(kStart + 17ms, kStart + 29ms));
  EXPECT_THAT(world.log.At(What::kPublishStart), ElementsAre(kStart + 17ms, kStart + 29ms));
  EXPECT_THAT(world.log.At(What::kPublishEnd), ElementsAre(kStart + 21ms, kStart + 33ms));
}

TEST(PublisherTest, AnAnswerWithTooFewIdsIsAnError) {
  PublisherWorld world;
  world.skip_id = true;
  world.Publish(kStart, "a");
  world.Publish(kStart, "b");
  world.RunUntil(kStart + 1s);
  ASSERT_THAT(world.results, SizeIs(2));
  EXPECT_THAT(world.results[0].error, HasSubstr("1 message ids for 2 messages"));
}

// ---- ordering keys ----

std::function<void(Publisher::Call&)> On(const char* key) {
  return [key](Publisher::Call& call) { call.ordering_key = key; };
}
Publisher::Options OneMessageABundle() {
  Publisher::Options options;
  options.model.publish_count = 1;
  return options;
}
// "k1 q1 …": the bodies in the order in which they were sent.
std::string Sent(const PublisherWorld& world) {
  std::string sent;
  for (const PublisherWorld::Request& request : world.requests) {
    for (const std::string& data : request.data) sent += (sent.empty() ? "" : " ") + data;
  }
  return sent;
}

TEST(PublisherOrderingTest, OfAKeyOneBundleIsOnItsWayAndTheRestGathersBehindIt) {
  PublisherWorld world;
  world.latency = 50ms;
  world.Publish(kStart, "k1", On("k"));
  for (int i = 0; i < 3; ++i) world.Publish(kStart + 25ms * (i + 1), "k" + std::to_string(i + 2), On("k"));
  world.Publish(kStart + 20ms, "free");
  world.RunUntil(kStart + 1s);
  ASSERT_THAT(world.requests, SizeIs(4));
  EXPECT_EQ(world.requests[0].at, kStart + 10ms);
  EXPECT_EQ(world.requests[0].messages[0].ordering_key(), "k");
  EXPECT_EQ(world.requests[1].at, kStart + 30ms);  // without a key: waits for nobody
  EXPECT_EQ(world.requests[2].at, kStart + 60ms);  // its delay passed long ago
  EXPECT_THAT(world.requests[2].data, ElementsAre("k2", "k3"));
  EXPECT_EQ(world.requests[3].at, kStart + 110ms);
  EXPECT_EQ(Sent(world), "k1 free k2 k3 k4");
  world.RunUntil(kStart + 2s);
  EXPECT_EQ(world.publisher.in_flight(), 0u);
}

TEST(PublisherOrderingTest, ARetryKeepsItsKeyWaiting) {
  PublisherWorld world(OneMessageABundle());
  world.server = [](size_t n) { return n == 1 ? absl::UnavailableError("later") : absl::OkStatus(); };
  world.Publish(kStart, "k1", On("k"));
  world.Publish(kStart, "k2", On("k"));
  world.RunUntil(kStart + 1s);
  EXPECT_EQ(Sent(world), "k1 k1 k2");
  EXPECT_THAT(world.results, SizeIs(2));
}

TEST(PublisherOrderingTest, C44_AFailedPublishPausesItsKeyUntilItIsResumed) {
  PublisherWorld world(OneMessageABundle());
  world.latency = 10ms;
  world.server = [&world](size_t) {
    return world.requests.back().data[0] == "k3" ? absl::PermissionDeniedError("not yours") : absl::OkStatus();
  };
  for (const char* data : {"k1", "k2", "k3", "k4", "k5"}) world.Publish(kStart, data, On("k"));
  for (const char* data : {"q1", "q2"}) world.Publish(kStart, data, On("q"));
  world.RunUntil(kStart + 30ms);
  ASSERT_THAT(world.results, SizeIs(7));
  std::vector<PublisherWorld::Result> failed;
  for (const auto& result : world.results) {
    if (!result.ok) failed.push_back(result);
  }
  ASSERT_THAT(failed, SizeIs(3));  // k3 itself and those behind it, at once
  EXPECT_THAT(failed[0].error, HasSubstr("not yours"));
  for (const size_t i : {1u, 2u}) {
    EXPECT_EQ(failed[i].at, kStart + 30ms);
    EXPECT_EQ(failed[i].publish, 3 + i);
    EXPECT_THAT(failed[i].error, HasSubstr("ordering key 'k' is paused"));
    EXPECT_THAT(failed[i].error, HasSubstr("not yours"));
  }
  EXPECT_THAT(world.publisher.PausedKeys(), ElementsAre("k"));

  world.Publish(kStart + 40ms, "k6", On("k"));
  world.Publish(kStart + 40ms, "q3", On("q"));
  world.RunUntil(kStart + 100ms);
  EXPECT_THAT(world.results[7].error, HasSubstr("is paused"));
  EXPECT_EQ(world.results[7].at, kStart + 40ms);
  EXPECT_TRUE(world.results[8].ok);

  EXPECT_EQ(world.publisher.ResumeKey("q").code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(world.publisher.ResumeKey("k").ok());
  EXPECT_THAT(world.publisher.PausedKeys(), IsEmpty());
  for (const char* data : {"k7", "k8"}) world.Publish(kStart + 200ms, data, On("k"));
  world.RunUntil(kStart + 1s);
  EXPECT_EQ(Sent(world), "k1 q1 k2 q2 k3 q3 k7 k8");
  EXPECT_EQ(world.publisher.in_flight(), 0u);
  EXPECT_EQ(world.publisher.NextDeadline(), std::nullopt);
}

TEST(PublisherOrderingTest, KeysAreLimited) {
  Publisher::Options options;
  options.ordering_keys_max = 2;
  PublisherWorld world(options);
  for (const char* key : {"a", "b", "a", "c"}) world.Publish(kStart, key, On(key));
  world.RunUntil(kStart);
  ASSERT_THAT(world.results, SizeIs(1));
  EXPECT_EQ(world.results[0].publish, 4u);
  EXPECT_THAT(world.results[0].error, HasSubstr("the limit is 2"));
  world.RunUntil(kStart + 1s);
  world.Publish(kStart + 1s, "c", On("c"));  // a and b are done, and forgotten
  world.RunUntil(kStart + 2s);
  EXPECT_THAT(world.results, SizeIs(5));
  EXPECT_TRUE(world.results.back().ok);
}

TEST(PublisherOrderingTest, AFlushSendsKeyedMessagesToo) {
  PublisherWorld world;
  world.Publish(kStart, "k1", On("k"));
  world.RunUntil(kStart + 1ms);
  world.Do([&](Actions& out) { world.publisher.Flush(world.now, out); });
  EXPECT_EQ(Sent(world), "k1");
}

}  // namespace
}  // namespace hopgap::client
