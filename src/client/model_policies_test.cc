// What each model waits for, in virtual time: one message, one backlog, one failure.
#include "client/test_world.h"

namespace hopgap::client {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using World = SubscriberWorld;
using Call = World::CallSeen;
using Callback = World::Callback;

constexpr Duration kModack = 80ms;

Subscriber::Options Of(const char* model) {
  Subscriber::Options options;
  options.model = *FindModel(model);
  return options;
}

std::vector<Call> Modacks(const World& world) {
  std::vector<Call> found;
  for (const Call& call : world.calls) {
    if (call.seconds > 0) found.push_back(call);
  }
  return found;
}
std::vector<Call> AcksOf(const World& world) {
  std::vector<Call> found;
  for (const Call& call : world.calls) {
    if (call.seconds < 0) found.push_back(call);
  }
  return found;
}
std::vector<Instant> StartsOf(const World& world) {
  std::vector<Instant> starts;
  for (const Callback& callback : world.callbacks) starts.push_back(callback.at);
  return starts;
}

// A lone message, received at 30 ms, works for 50 ms. Tickers tick at 100, 200, …
// and where the sender waits, its ack's tick comes 1 ms before its receipt's.
struct Lone {
  const char* model;
  bool exactly_once;
  Duration receipt;  // when it leaves; 0: never
  int seconds;       // what it asks for
  Duration callback, ack;
};
constexpr Duration kNeverSent{0};

TEST(ModelPoliciesTest, ALoneMessageWaitsForWhatItsLibraryWaitsFor) {
  for (const Lone& c : {
           Lone{"go", true, 30ms, 60, 110ms, 200ms},
           Lone{"go-v1", true, 30ms, 60, 110ms, 200ms},
           Lone{"python", true, 30ms, 60, 110ms, 160ms},  // a lone ack leaves at once
           Lone{"java", true, 100ms, 60, 180ms, 300ms},   // the job's tick, then the round trip
           Lone{"node", true, 130ms, 60, 210ms, 360ms},   // its own 100 ms, then the round trip
           Lone{"cpp", true, kNeverSent, 0, 30ms, 80ms},  // no receipt, acks at once
           Lone{"pipelined", true, 30ms, 60, 110ms, 200ms},
           Lone{"overlap", true, 30ms, 60, 30ms, 100ms},
           Lone{"go", false, 101ms, 10, 30ms, 100ms},
           Lone{"go-v1", false, 101ms, 10, 30ms, 100ms},
           Lone{"python", false, 30ms, 10, 110ms, 160ms},  // also on a standard subscription
           Lone{"java", false, 100ms, 10, 30ms, 100ms},
           Lone{"node", false, 130ms, 10, 30ms, 180ms},
           Lone{"cpp", false, kNeverSent, 0, 30ms, 80ms},
           Lone{"pipelined", false, 101ms, 10, 30ms, 100ms},
           Lone{"overlap", false, 101ms, 10, 30ms, 100ms},
       }) {
    SCOPED_TRACE(std::string(c.model) + (c.exactly_once ? " exactly-once" : " standard"));
    Subscriber::Options options = Of(c.model);
    options.model.first_lease_tick = 1h;
    World world(options);
    world.work = 50ms;
    world.server = [](const Call& call) { return World::Ok(call.seconds > 0 ? kModack : 1ms); };
    world.Start();
    world.Respond(kStart + 30ms, {"a"}, c.exactly_once);
    world.RunUntil(kStart + 900ms);
    const auto modacks = Modacks(world);
    if (c.receipt == kNeverSent) {
      EXPECT_THAT(modacks, IsEmpty());
    } else {
      // A random lease timer may add an extension before the ack.
      ASSERT_FALSE(modacks.empty());
      const auto receipts = world.log.Of(trace::What::kReceiptModackStart);
      ASSERT_THAT(receipts, SizeIs(1));
      EXPECT_EQ(receipts[0].at, kStart + c.receipt);
      EXPECT_EQ(receipts[0].value, c.seconds);
    }
    EXPECT_THAT(StartsOf(world), ElementsAre(kStart + c.callback));
    EXPECT_THAT(AcksOf(world), ElementsAre(Call{kStart + c.ack, -1, {"id-a"}}));
    EXPECT_THAT(world.done, SizeIs(1));
  }
}

// Three responses of one message come at once on one stream: who reads on?
TEST(ModelPoliciesTest, WhoReadsOnWhileReceiptsAreInFlight) {
  struct Case {
    const char* model;
    std::vector<Duration> callbacks;
  };
  for (const Case& c : {Case{"go", {80ms, 160ms, 240ms}},  // stop and wait
                        Case{"python", {80ms, 160ms, 240ms}}, Case{"pipelined", {80ms, 80ms, 80ms}},
                        Case{"java", {180ms, 180ms, 180ms}}, Case{"node", {180ms, 180ms, 180ms}},
                        Case{"overlap", {0ms, 0ms, 0ms}}, Case{"cpp", {0ms, 0ms, 0ms}}}) {
    SCOPED_TRACE(c.model);
    Subscriber::Options options = Of(c.model);
    options.tick_phase =
        options.model.batch_timer == BatchTimer::kTicker ? std::vector<Duration>{99ms} : std::vector<Duration>{};
    options.model.lease_timer = LeaseTimer::kBeforeDeadline;
    World world(options);
    world.hold = true;
    world.server = [](const Call&) { return World::Ok(kModack); };
    world.Start();
    for (const char* name : {"a", "b", "c"}) world.Respond(kStart + 1s, {name}, true);
    world.RunUntil(kStart + 2s);
    std::vector<Instant> want;
    const bool ticker = std::string(c.model) == "java";  // whose next tick is at 1,099 ms
    for (const Duration after : c.callbacks) want.push_back(kStart + 1s + after - (ticker ? 1ms : 0ms));
    EXPECT_EQ(StartsOf(world), want);
  }
}

// The first of three receipts takes longest.
TEST(ModelPoliciesTest, JavaReleasesInOrderNodeAndPipelinedDoNot) {
  struct Case {
    const char* model;
    Duration first, others;
  };
  for (const Case& c : {Case{"java", 300ms, 300ms}, Case{"pipelined", 300ms, 20ms}}) {
    SCOPED_TRACE(c.model);
    Subscriber::Options options = Of(c.model);
    options.model.ids_per_call = 1;
    World world(options);
    world.hold = true;
    world.server = [](const Call& call) { return World::Ok(call.ids[0] == "id-a" ? 300ms : 20ms); };
    world.Start();
    for (const char* name : {"a", "b", "c"}) world.Respond(kStart, {name}, true);
    world.RunUntil(kStart + 1s);
    std::map<std::string, Instant> at;
    for (const Callback& callback : world.callbacks) at[callback.data] = callback.at;
    EXPECT_EQ(at["a"], kStart + c.first);
    EXPECT_EQ(at["b"], kStart + c.others);
    EXPECT_EQ(at["c"], kStart + c.others);
  }
}

TEST(ModelPoliciesTest, MessagesOfAKeyKeepTheirOrderWhereOthersOvertake) {
  Subscriber::Options options = Of("pipelined");
  options.model.ids_per_call = 1;
  World world(options);
  world.work = 5ms;
  world.server = [](const Call& call) { return World::Ok(call.ids[0] == "k1" ? 300ms : 20ms); };
  world.Start();
  world.Respond(kStart, {}, true, 0, [](pubsub::StreamingPullResponse& response) {
    response.properties.message_ordering_enabled = true;
    for (const char* name : {"k1", "k2", "q1"}) {
      response.received_messages.push_back(
          {.ack_id = name, .message = pubsub::Message::Make(name, {}, std::string(1, name[0]))});
    }
  });
  world.RunUntil(kStart + 1s);
  EXPECT_THAT(world.callbacks, ElementsAre(Callback{kStart + 20ms, "q1"}, Callback{kStart + 300ms, "k1"},
                                           Callback{kStart + 305ms, "k2"}));
}

// The limit of a stream that reads on: what flow control lets out at once.
TEST(ModelPoliciesTest, AStreamThatReadsOnStopsWhenAsManyWaitAsMayBeOutstanding) {
  Subscriber::Options options = Of("pipelined");
  options.model.max_outstanding_messages = 2;
  World world(options);
  world.hold = true;
  world.server = [](const Call&) { return World::Ok(kModack); };
  world.Start();
  for (const char* name : {"a", "b", "c", "d"}) world.Respond(kStart, {name}, true);
  world.RunUntil(kStart + kModack - 1ns);
  EXPECT_THAT(Modacks(world), SizeIs(2));
  EXPECT_THAT(world.read_posted, IsEmpty());
  world.RunUntil(kStart + kModack);
  EXPECT_THAT(world.callbacks, SizeIs(2));
  EXPECT_THAT(Modacks(world), SizeIs(4));  // c and d are read, and wait for credits
  world.RunUntil(kStart + 1s);
  EXPECT_THAT(world.callbacks, SizeIs(2));
  EXPECT_THAT(world.read_posted, IsEmpty());
}

TEST(ModelPoliciesTest, AFailedReceiptDropsTheMessageButNotInPythonUnlessItsIdIsInvalid) {
  struct Case {
    const char* model;
    pubsub::AckIdFailures failures;
    size_t callbacks;
  };
  const std::string invalid(pubsub::kPermanentInvalidAckId);
  for (const Case& c : {Case{"go", {{"id-a", invalid}}, 0}, Case{"go", {}, 0}, Case{"java", {{"id-a", invalid}}, 0},
                        Case{"java", {{"id-z", invalid}}, 1},  // an id it does not name is well
                        Case{"node", {}, 0}, Case{"python", {{"id-a", invalid}}, 0}, Case{"python", {}, 1},
                        Case{"pipelined", {}, 0}, Case{"overlap", {{"id-a", invalid}}, 1}}) {
    SCOPED_TRACE(std::string(c.model) + " names " + std::to_string(c.failures.size()));
    World world(Of(c.model));
    world.hold = true;
    world.server = [&](const Call& call) {
      return call.seconds > 0 ? World::Error(absl::InvalidArgumentError("some"), c.failures) : World::Ok(0ms);
    };
    world.Start();
    world.Respond(kStart, {"a"}, true);
    world.RunUntil(kStart + 4s);
    EXPECT_THAT(world.callbacks, SizeIs(c.callbacks));
    EXPECT_THAT(world.log.At(trace::What::kReceiptFailed), SizeIs(1 - c.callbacks));
    EXPECT_THAT(world.read_posted, SizeIs(1));
    EXPECT_THAT(world.failures, IsEmpty());
  }
}

// Java's job and Node's queues send on while a call hangs; Go's sender does not.
TEST(ModelPoliciesTest, WhoseAcksWaitForARunningCall) {
  struct Case {
    const char* model;
    std::vector<Duration> acks;
  };
  for (const Case& c : {Case{"go", {100ms, 600ms}}, Case{"java", {100ms, 200ms}}, Case{"node", {110ms, 260ms}},
                        Case{"python", {10ms, 520ms}}, Case{"cpp", {10ms, 160ms}}}) {
    SCOPED_TRACE(c.model);
    Subscriber::Options options = Of(c.model);
    options.model.standard = {};  // without receipts
    options.model.standard.sending = ReceiptSending::kNever;
    World world(options);
    world.work = 10ms;
    world.server = [](const Call&) { return World::Ok(500ms); };
    world.Start();
    world.Respond(kStart, {"a"}, false);
    world.Respond(kStart + 150ms, {"b"}, false);
    world.RunUntil(kStart + 2s);
    std::vector<Duration> acks;
    for (const Call& call : AcksOf(world)) acks.push_back(call.at - kStart);
    EXPECT_EQ(acks, c.acks);
  }
}

TEST(ModelPoliciesTest, CppSendsOneIdPerAckCall) {
  World world(Of("cpp"));
  world.Start();
  world.Respond(kStart, {"a", "b", "c"}, true);
  world.RunUntil(kStart + 1ms);
  EXPECT_THAT(AcksOf(world),
              ElementsAre(Call{kStart, -1, {"id-a"}}, Call{kStart, -1, {"id-b"}}, Call{kStart, -1, {"id-c"}}));
}

TEST(ModelPoliciesTest, CallbacksAtOnce) {
  struct Case {
    const char* model;
    uint32_t streams;
    size_t callbacks;
  };
  for (const Case& c : {Case{"go", 1, 40}, Case{"java", 1, 5}, Case{"java", 2, 10}, Case{"python", 1, 10},
                        Case{"node", 1, 40}, Case{"cpp", 1, 4}}) {
    SCOPED_TRACE(c.model);
    Subscriber::Options options = Of(c.model);
    options.streams = c.streams;
    World world(options);
    world.hold = true;
    world.Start();
    std::vector<std::string> names;
    for (int i = 0; i < 40; ++i) names.push_back(std::to_string(i));
    world.Respond(kStart, names, false);
    world.RunUntil(kStart + 1s);
    EXPECT_THAT(world.callbacks, SizeIs(c.callbacks));
  }
}

// Acked but not returned: Go's credits stay out, the others' are back.
TEST(ModelPoliciesTest, CreditsComeBackWithTheAckOrWithTheReturn) {
  for (const auto& [model, callbacks] : {std::pair{"go", 1u}, {"java", 2u}, {"python", 2u}, {"node", 2u}}) {
    SCOPED_TRACE(model);
    Subscriber::Options options = Of(model);
    options.model.max_outstanding_messages = 1;
    World world(options);
    world.hold = true;
    world.Start();
    world.Respond(kStart, {"a", "b"}, false);
    world.RunUntil(kStart + 1s);
    EXPECT_THAT(world.callbacks, SizeIs(1));
    world.Do([&](Actions& out) { world.subscriber.Ack(world.now, world.handed[0], out); });
    EXPECT_THAT(world.callbacks, SizeIs(callbacks));
    world.Do([&](Actions& out) { world.subscriber.OnCallbackReturned(world.now, world.handed[0], out); });
    EXPECT_THAT(world.callbacks, SizeIs(2));
  }
}

// Its streams gather in one queue of receipts and one of acks, whose timers start with the first item of any.
TEST(ModelPoliciesTest, NodesStreamsShareTheirQueues) {
  Subscriber::Options options = Of("node");
  options.streams = 3;
  World world(options);
  world.work = 30ms;
  world.server = [](const Call&) { return World::Ok(kModack); };
  world.Start();
  world.Respond(kStart, {"a"}, true, 0);
  world.Respond(kStart + 40ms, {"b", "c"}, true, 2);
  world.Respond(kStart + 99ms, {"d"}, true, 1);
  world.RunUntil(kStart + 5s);
  const Instant receipts = kStart + 100ms, handed = receipts + kModack, acks = handed + 130ms;
  EXPECT_THAT(Modacks(world), ElementsAre(Call{receipts, 60, {"id-a", "id-b", "id-c", "id-d"}}));
  EXPECT_THAT(StartsOf(world), ElementsAre(handed, handed, handed, handed));
  ASSERT_THAT(AcksOf(world), SizeIs(1));
  EXPECT_EQ(AcksOf(world)[0].at, acks);
  EXPECT_THAT(AcksOf(world)[0].ids, testing::UnorderedElementsAre("id-a", "id-b", "id-c", "id-d"));
  EXPECT_THAT(world.done, SizeIs(4));
  EXPECT_EQ(world.subscriber.outstanding(), 0u);

  world.Respond(kStart + 5s, {"e"}, true, 1);
  world.RunUntil(kStart + 5s + 100ms + kModack);
  world.Do([&](Actions& out) { world.subscriber.Stop(world.now, out); });
  world.RunUntil(kStart + 7s);
  EXPECT_THAT(world.done, SizeIs(5)) << "acked, whichever stream's sender it leaves with";
  EXPECT_TRUE(world.subscriber.Stopped());
}

TEST(ModelPoliciesTest, NodeTellsItsStreamsTheNewDeadlineAtOnce) {
  World world(Of("node"));
  world.Start();
  EXPECT_EQ(world.stream_actions[0].request.stream_ack_deadline_seconds, 10);
  EXPECT_EQ(world.stream_actions[0].request.protocol_version, 0);
  world.Respond(kStart + 1s, {}, true);
  world.RunUntil(kStart + 2s);
  std::vector<World::StreamSeen> sent;
  for (const World::StreamSeen& seen : world.stream_actions) {
    if (seen.kind == Action::Kind::kSend) sent.push_back(seen);
  }
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].at, kStart + 1s);
  EXPECT_EQ(sent[0].request.stream_ack_deadline_seconds, 60);
}

// C41 (b) of the others: who pauses before the first retry, and who gives up.
TEST(ModelPoliciesTest, C41_b_TransientFailuresAreRetriedAsEachLibraryDoes) {
  struct Case {
    const char* model;
    bool at_once;
    Duration pause_max;
  };
  for (const Case& c :
       {Case{"go", true, 0s}, Case{"java", false, 100ms}, Case{"python", false, 1s}, Case{"node", false, 1s}}) {
    SCOPED_TRACE(c.model);
    Subscriber::Options options = Of(c.model);
    options.model.lease_timer = LeaseTimer::kBeforeDeadline;
    World world(options);
    world.hold = true;
    world.server = [left = 1](const Call& call) mutable {
      if (call.seconds <= 0 || left-- <= 0) return World::Ok(0ms);
      return World::Error(absl::AbortedError("later"), {{"id-a", std::string(pubsub::kTransientUnavailable)}});
    };
    world.Start();
    world.Respond(kStart, {"a"}, true);
    world.RunUntil(kStart + 3s);
    const auto modacks = Modacks(world);
    ASSERT_THAT(modacks, SizeIs(2));
    const Duration pause = modacks[1].at - modacks[0].at;
    EXPECT_EQ(pause == 0s, c.at_once);
    EXPECT_LE(pause, c.pause_max);
    EXPECT_THAT(StartsOf(world), ElementsAre(modacks[1].at));
  }
}

// Keeps the leases as a server would and counts ids that came too late.
class LeaseBook {
 public:
  LeaseBook(World& world, Duration reply_after) : world_(world) {
    world.server = [this, reply_after](const Call& call) {
      for (const std::string& id : call.ids) {
        if (ends_[id] < world_.now) ++late_;
        ends_[id] = world_.now + std::chrono::seconds{std::max(call.seconds, 0)};
        if (call.seconds < 0) ends_[id] = kNever;
      }
      return World::Ok(call.seconds < 0 ? 0ms : reply_after);
    };
  }
  // One response of so many messages, now.
  void Deliver(int count, Duration lease) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
      names.push_back(std::to_string(i));
      ends_["id-" + names.back()] = world_.now + lease;
    }
    world_.Respond(world_.now, names, true);
  }
  int late() const { return late_; }

 private:
  World& world_;
  std::map<std::string, Instant> ends_;
  int late_ = 0;
};

// C42 of every model: what waits in the client keeps its lease.
TEST(ModelPoliciesTest, C42_WaitingMessagesKeepTheirLeasesInEveryModel) {
  for (const std::string& name : ModelNames()) {
    SCOPED_TRACE(name);
    Subscriber::Options options = Of(name.c_str());
    options.model.max_outstanding_messages = 10;
    World world(options);
    world.work = 100s;
    LeaseBook leases(world, 0ms);
    world.Start();
    EXPECT_EQ(world.stream_actions[0].request.max_outstanding_messages, 10);
    leases.Deliver(15, options.model.stream_ack_deadline);
    world.RunUntil(kStart + 700s);
    EXPECT_EQ(leases.late(), 0);
    EXPECT_THAT(world.done, SizeIs(15));
    EXPECT_TRUE(std::all_of(world.done.begin(), world.done.end(), [](const auto& done) { return done.ok; }));
    EXPECT_THAT(world.AckIds(), SizeIs(15));
  }
}

// The case at its own size, in every model.
TEST(ModelPoliciesTest, C43_NoLeaseEndsWhenEveryModackTakes20Seconds) {
  for (const std::string& name : ModelNames()) {
    SCOPED_TRACE(name);
    Subscriber::Options options = Of(name.c_str());
    World world(options);
    world.work = 1200ms;
    LeaseBook leases(world, 20s);
    world.Start();
    leases.Deliver(500, options.model.stream_ack_deadline);
    world.RunUntil(kStart + 400s);
    EXPECT_EQ(leases.late(), 0);
    EXPECT_THAT(world.AckIds(), SizeIs(500));
    for (const Call& call : Modacks(world)) EXPECT_GE(call.seconds, 60);
  }
}

}  // namespace
}  // namespace hopgap::client
