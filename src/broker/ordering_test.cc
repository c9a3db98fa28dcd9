// Ordering keys.

#include <map>
#include <random>
#include <set>

#include "broker/world_testing.h"

namespace hopgap::broker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class OrderingTest : public ::testing::Test {
 protected:
  OrderingTest() { EXPECT_TRUE(world.CreateTopic("top").ok()); }
  void Subscribe(const std::string& id, bool exactly_once = false) {
    pubsub::Subscription value;
    value.enable_message_ordering = true;
    value.enable_exactly_once_delivery = exactly_once;
    value.ack_deadline_seconds = 10;
    EXPECT_TRUE(world.Create(id, "top", value).ok());
  }
  // The ack ids of what came, by body.
  std::map<std::string, std::string> ByData(const std::vector<pubsub::ReceivedMessage>& messages) {
    std::map<std::string, std::string> ids;
    for (const auto& message : messages) ids[std::string(message.message.data())] = message.ack_id;
    return ids;
  }
  void SwitchExactlyOnceOn(const std::string& id) {
    pubsub::Subscription body;
    body.name = World::Sub(id);
    body.enable_exactly_once_delivery = true;
    EXPECT_TRUE(world
                    .Do(pubsub::Method::kUpdateSubscription,
                        pubsub::UpdateSubscriptionRequest{body, {"enable_exactly_once_delivery"}})
                    .ok());
  }
  std::map<std::string, std::string> Codes(CallId call) {
    return pubsub::DecodeErrorMetadata(world.Await(call).details);
  }
  World world;
};

TEST_F(OrderingTest, C13_WhatComesBackTakesAlongAllThatWasSentAfterIt) {
  Subscribe("sub");
  world.PublishKeyed("top", "k", {"m1", "m2", "m3", "m4", "m5"});
  world.PublishKeyed("top", "other", {"o1"});
  auto ids = ByData(world.Pull("sub"));
  ASSERT_THAT(ids, SizeIs(6));
  EXPECT_TRUE(world.Ack("sub", {ids["m1"]}).ok());
  EXPECT_TRUE(world.Ack("sub", {ids["m3"]}).ok());
  EXPECT_THAT(world.Pull("sub"), IsEmpty());
  EXPECT_TRUE(world.Ack("sub", {ids["o1"]}).ok());
  EXPECT_TRUE(world.Modify("sub", {ids["m2"]}, 0).ok());
  const auto again = world.Pull("sub");
  EXPECT_THAT(DataOf(again), ElementsAre("m2", "m3", "m4", "m5")) << "m3 too, although acked";
  EXPECT_TRUE(world.Ack("sub", AckIdsOf(again)).ok());
  world.Advance(1h);
  EXPECT_THAT(world.Pull("sub"), IsEmpty());
}

TEST_F(OrderingTest, AnExpiredLeaseTakesAlongWhatWasExtended) {
  Subscribe("sub");
  world.PublishKeyed("top", "k", {"m1", "m2", "m3"});
  auto ids = ByData(world.Pull("sub"));
  EXPECT_TRUE(world.Modify("sub", {ids["m1"], ids["m3"]}, 60).ok());
  world.Advance(10s);
  EXPECT_THAT(world.Pull("sub"), IsEmpty()) << "m1 is out with somebody, and m2 waits for it";
  EXPECT_TRUE(world.Ack("sub", {ids["m1"]}).ok());
  EXPECT_THAT(DataOf(world.Pull("sub")), ElementsAre("m2", "m3"));
}

TEST_F(OrderingTest, C14_ASubscriptionWithoutOrderingDoesNotWait) {
  Subscribe("one");
  ASSERT_TRUE(world.CreateSubscription("two", "top", false).ok());
  world.PublishKeyed("top", "k", {"m1", "m2", "m3"});
  ASSERT_THAT(world.Pull("one", 1), SizeIs(1));
  const auto all = world.Pull("two");
  ASSERT_THAT(DataOf(all), ElementsAre("m1", "m2", "m3"));
  for (const auto& message : all) EXPECT_EQ(message.message.ordering_key(), "k");
  ASSERT_TRUE(world.CreateTopic("plain").ok());
  EXPECT_THAT(world.PublishKeyed("plain", "k", {"x"}), SizeIs(1)) << "no error without any such subscription";
}

TEST_F(OrderingTest, C15_OneRequestHasOneKey) {
  Subscribe("sub");
  const CallId two =
      world.StartPublish("top", {pubsub::Message::Make("a", {}, "k1"), pubsub::Message::Make("b", {}, "k2")});
  EXPECT_THAT(world.Await(two).status, HasCode(kInvalid));
  EXPECT_THAT(world.Pull("sub"), IsEmpty());
  world.PublishKeyed("top", "k1", {"a", "b"});
  EXPECT_THAT(DataOf(world.Pull("sub")), ElementsAre("a", "b"));
}

TEST_F(OrderingTest, AKeySticksToOneStreamWhileItsMessagesAreOut) {
  Subscribe("sub");
  const StreamId a = world.Open("sub"), b = world.Open("sub");
  world.PublishKeyed("top", "k", {"m1"});
  world.PublishKeyed("top", "k", {"m2"});
  world.PublishKeyed("top", "other", {"o1"});
  EXPECT_THAT(DataOf(world.Log(a).Messages()), ElementsAre("m1", "m2"));
  EXPECT_THAT(DataOf(world.Log(b).Messages()), ElementsAre("o1"));
  // Nothing out: the key may go to whose turn it is.
  auto ids = ByData(world.Log(a).Messages());
  EXPECT_TRUE(world.Ack("sub", {ids["m1"], ids["m2"]}).ok());
  world.PublishKeyed("top", "x", {"x1"});
  world.PublishKeyed("top", "k", {"m3"});
  EXPECT_THAT(DataOf(world.Log(b).Messages()), ElementsAre("o1", "m3"));
}

TEST_F(OrderingTest, AFullStreamKeepsItsKeyAndOthersGoOn) {
  Subscribe("sub");
  auto one = World::First("sub");
  one.max_outstanding_messages = 1;
  const StreamId a = world.Open(one);
  world.PublishKeyed("top", "k", {"m1", "m2"});
  ASSERT_THAT(DataOf(world.Log(a).Messages()), ElementsAre("m1"));
  const StreamId b = world.Open("sub");
  for (int i = 0; i < 100; ++i) world.PublishKeyed("top", "key" + std::to_string(i), {"o"});
  EXPECT_THAT(world.Log(b).Messages(), SizeIs(100)) << "none waits behind the key that is taken";
  EXPECT_THAT(world.Pull("sub"), IsEmpty());
  EXPECT_TRUE(world.Ack("sub", AckIdsOf(world.Log(a).Messages())).ok());
  EXPECT_THAT(DataOf(world.Log(a).Messages()), ElementsAre("m1", "m2"));
}

TEST_F(OrderingTest, AKeyOfAStreamThatIsGoneWaitsForItsLeases) {
  Subscribe("sub");
  auto one = World::First("sub");
  one.max_outstanding_messages = 1;
  const StreamId a = world.Open(one);
  world.PublishKeyed("top", "k", {"m1", "m2", "m3"});
  ASSERT_THAT(DataOf(world.Log(a).Messages()), ElementsAre("m1"));
  world.Gone(a);
  const StreamId b = world.Open("sub");
  EXPECT_THAT(world.Log(b).Messages(), IsEmpty());
  world.Advance(10s);
  EXPECT_THAT(DataOf(world.Log(b).Messages()), ElementsAre("m1", "m2", "m3"));
}

TEST_F(OrderingTest, ExactlyOnceAcksGoInOrder) {
  Subscribe("sub", true);
  world.PublishKeyed("top", "k", {"m1", "m2", "m3"});
  auto ids = ByData(world.Pull("sub"));
  const CallId early = world.StartAck("sub", {ids["m2"]});
  EXPECT_THAT(world.Await(early).status, HasCode(kInvalid));
  EXPECT_EQ(Codes(early)[ids["m2"]], pubsub::kTransientUnordered);
  EXPECT_THAT(world.Await(early).status, SaysText("not acked yet"));
  EXPECT_TRUE(world.Ack("sub", {ids["m3"], ids["m1"], ids["m2"]}).ok()) << "in one request the order does not matter";
  world.Advance(1h);
  EXPECT_THAT(world.Pull("sub"), IsEmpty());
}

TEST_F(OrderingTest, AnAckBehindOneThatIsOnItsWayToTheJournalIsInOrder) {
  Subscribe("sub", true);
  world.PublishKeyed("top", "k", {"m1", "m2"});
  auto ids = ByData(world.Pull("sub"));
  world.journal_waits = true;
  const CallId first = world.StartAck("sub", {ids["m1"]}), second = world.StartAck("sub", {ids["m2"]});
  EXPECT_FALSE(world.Answered(second));
  world.PersistAll();
  EXPECT_TRUE(world.Await(first).status.ok());
  EXPECT_TRUE(world.Await(second).status.ok());
}

TEST_F(OrderingTest, ExactlyOnceANackMakesTheLaterIdsInvalid) {
  Subscribe("sub", true);
  world.PublishKeyed("top", "k", {"m1", "m2", "m3"});
  auto ids = ByData(world.Pull("sub"));
  EXPECT_TRUE(world.Modify("sub", {ids["m1"]}, 0).ok());
  const CallId late = world.StartAck("sub", {ids["m2"]});
  EXPECT_EQ(Codes(late)[ids["m2"]], pubsub::kPermanentInvalidAckId);
  EXPECT_THAT(world.Await(late).status, SaysText("came back"));
  const auto again = world.Pull("sub");
  EXPECT_THAT(DataOf(again), ElementsAre("m1", "m2", "m3"));
  EXPECT_TRUE(world.Ack("sub", AckIdsOf(again)).ok());
}

TEST_F(OrderingTest, AKeyWaitsForTheHoldOfItsHeadAfterARestart) {
  Subscribe("sub", true);
  world.PublishKeyed("top", "k", {"m1", "m2"});
  auto ids = ByData(world.Pull("sub", 1));
  ASSERT_THAT(ids, SizeIs(1));
  world.PublishKeyed("top", "k", {"m3"});
  world.PublishKeyed("top", "other", {"o1"});
  World after;
  after.Replay(world.records, world.records.size());
  EXPECT_THAT(DataOf(after.Pull("sub")), ElementsAre("o1")) << "m1 is held, and its key with it";
  EXPECT_TRUE(after.Ack("sub", {ids["m1"]}).ok()) << "by who had it";
  EXPECT_THAT(after.Pull("sub"), IsEmpty()) << "m2 was below the bound: held as well";
  after.Advance(60s);
  EXPECT_THAT(DataOf(after.Pull("sub")), ElementsAre("o1", "m2", "m3"));
}

TEST_F(OrderingTest, AnEarlyAckIsForgottenByACrashAndKeptOnceItIsInOrder) {
  Subscribe("sub");
  world.PublishKeyed("top", "k", {"m1", "m2", "m3"});
  auto ids = ByData(world.Pull("sub"));
  EXPECT_TRUE(world.Ack("sub", {ids["m2"]}).ok());
  {
    World after;
    after.Replay(world.records, world.records.size());
    EXPECT_THAT(DataOf(after.Pull("sub")), ElementsAre("m1", "m2", "m3"));
  }
  EXPECT_TRUE(world.Ack("sub", {ids["m1"]}).ok());
  World after;
  after.Replay(world.records, world.records.size());
  EXPECT_THAT(DataOf(after.Pull("sub")), ElementsAre("m3"));
}

TEST_F(OrderingTest, AnEarlyAckIsKeptToo_WhenExactlyOnceWasSwitchedOnMeanwhile) {
  Subscribe("sub");
  world.PublishKeyed("top", "k", {"m1", "m2", "m3"});
  auto ids = ByData(world.Pull("sub"));
  EXPECT_TRUE(world.Ack("sub", {ids["m2"]}).ok());
  SwitchExactlyOnceOn("sub");
  EXPECT_TRUE(world.Ack("sub", {ids["m1"]}).ok());
  World after;
  after.Replay(world.records, world.records.size());
  after.Advance(60s);
  EXPECT_THAT(DataOf(after.Pull("sub")), ElementsAre("m3"));
}

TEST_F(OrderingTest, ARepeatOfAnEarlyAckWaitsForARecordOfIt) {
  Subscribe("sub");
  world.PublishKeyed("top", "k", {"m1", "m2", "m3"});
  auto ids = ByData(world.Pull("sub"));
  EXPECT_TRUE(world.Ack("sub", {ids["m2"]}).ok());
  SwitchExactlyOnceOn("sub");
  world.journal_waits = true;
  const CallId first = world.StartAck("sub", {ids["m1"]});
  world.PersistOne();
  EXPECT_TRUE(world.Await(first).status.ok());
  ASSERT_THAT(world.awaited.back(), false) << "the record of m2, which nobody waits for";

  const CallId repeat = world.StartAck("sub", {ids["m2"]});
  EXPECT_FALSE(world.Answered(repeat)) << "a crash now would bring m2 back";
  EXPECT_TRUE(world.awaited.back());
  world.PersistAll();
  EXPECT_TRUE(world.Await(repeat).status.ok());
  const size_t records = world.records.size();
  EXPECT_TRUE(world.Ack("sub", {ids["m2"]}).ok());
  EXPECT_THAT(world.records, SizeIs(records)) << "once it is on the disk, a repeat needs none";
}

// Any number of publishes, streams that come and go, pulls, acks, nacks and
// expiries: a message is only ever sent when each before it in its key is
// finished, or out with the same subscriber. And all is finished in the end.
class OrderCheck {
 public:
  OrderCheck(uint64_t seed, bool exactly_once) : random_(seed), exactly_once_(exactly_once) {
    EXPECT_TRUE(world_.CreateTopic("top").ok());
    pubsub::Subscription value;
    value.enable_message_ordering = true;
    value.enable_exactly_once_delivery = exactly_once;
    value.ack_deadline_seconds = 10;
    EXPECT_TRUE(world_.Create("sub", "top", value).ok());
    for (int i = 0; i < 300 && !::testing::Test::HasFailure(); ++i) Step();
    Drain();
  }

 private:
  struct Line {
    std::vector<std::string> data;           // in order of publication
    std::map<std::string, uint64_t> holder;  // of what is out
    std::set<std::string> finished;
  };
  uint64_t Below(uint64_t n) { return random_() % n; }

  void Step() {
    switch (Below(10)) {
      case 0:
      case 1: Publish(); break;
      case 2: OpenOrClose(); break;
      case 3: Pull(); break;
      case 4:
      case 5:
      case 6: AckAny(); break;
      case 7: NackAny(); break;
      case 8: world_.journal_waits = Below(2) == 0; break;
      default:
        if (!world_.waiting_tokens.empty()) world_.PersistOne();
    }
    Collect();
  }
  void Pull() {
    const bool waits = std::exchange(world_.journal_waits, false);
    world_.PersistAll();
    Collect();
    Take(world_.Received(world_.StartPull("sub", static_cast<int32_t>(1 + Below(3)), true)), next_pull_++);
    world_.journal_waits = waits;
  }
  void Publish() {
    const std::string key = "k" + std::to_string(Below(4));
    std::vector<pubsub::Message> messages;
    for (uint64_t i = 0; i <= Below(3); ++i) {
      const std::string data = key + "." + std::to_string(lines_[key].data.size());
      lines_[key].data.push_back(data);
      messages.push_back(pubsub::Message::Make(data, {}, key));
    }
    world_.StartPublish("top", messages);
  }
  void OpenOrClose() {
    if (streams_.size() < 3) {
      auto first = World::First("sub", 600);
      first.max_outstanding_messages = static_cast<int64_t>(Below(4));
      streams_.push_back(world_.Open(first));
    } else {
      world_.Gone(streams_.front());
      streams_.erase(streams_.begin());
    }
  }
  void Collect() {
    for (auto& [id, log] : world_.streams) {
      for (size_t& i = seen_[id]; i < log.responses.size(); ++i) {
        Take(log.responses[i].received_messages, 1'000'000 + static_cast<uint64_t>(id));
      }
    }
  }
  void Take(const std::vector<pubsub::ReceivedMessage>& messages, uint64_t holder) {
    for (const auto& message : messages) {
      const std::string data(message.message.data());
      Line& line = lines_[std::string(message.message.ordering_key())];
      EXPECT_FALSE(line.finished.contains(data)) << data << " came after its ack";
      for (const std::string& before : line.data) {
        if (before == data) break;
        const auto out = line.holder.find(before);
        EXPECT_TRUE(line.finished.contains(before) || (out != line.holder.end() && out->second == holder))
            << data << " overtook " << before;
      }
      line.holder[data] = holder;
      ids_[data] = message.ack_id;
      key_[data] = std::string(message.message.ordering_key());
    }
  }
  std::string AnyOut() {
    std::vector<std::string> all;
    for (auto& [key, line] : lines_) {
      for (auto& [data, holder] : line.holder) all.push_back(data);
    }
    return all.empty() ? "" : all[Below(all.size())];
  }
  void AckAny() {
    const std::string data = AnyOut();
    if (data.empty()) return;
    Line& line = lines_[key_[data]];
    const bool waits = std::exchange(world_.journal_waits, false);
    world_.PersistAll();
    Collect();
    const bool first = FirstUnfinished(line) == data;
    const absl::Status status = world_.Ack("sub", {ids_[data]});
    if (exactly_once_ && !first) {
      EXPECT_THAT(status, HasCode(kInvalid));
    } else {
      EXPECT_TRUE(status.ok()) << status;
      if (!exactly_once_ && !first) early_.insert(data);
      if (first) Finish(line, data);
    }
    world_.journal_waits = waits;
  }
  static std::string FirstUnfinished(const Line& line) {
    for (const std::string& data : line.data) {
      if (!line.finished.contains(data)) return data;
    }
    return "";
  }
  void Finish(Line& line, std::string data) {
    do {
      early_.erase(data);
      line.finished.insert(data);
      line.holder.erase(data);
      data = FirstUnfinished(line);
    } while (early_.contains(data));
  }
  void NackAny() {
    const std::string data = AnyOut();
    if (data.empty() || early_.contains(data)) return;
    Line& line = lines_[key_[data]];
    // This and all that was sent after it come back, before the broker says so.
    const auto at = std::find(line.data.begin(), line.data.end(), data);
    for (auto later = at; later != line.data.end(); ++later) {
      line.holder.erase(*later);
      early_.erase(*later);
    }
    EXPECT_TRUE(world_.Await(world_.StartModify("sub", {ids_[data]}, 0)).status.ok());
  }
  void Drain() {
    world_.journal_waits = false;
    world_.PersistAll();
    Collect();
    for (StreamId stream : streams_) world_.Gone(stream);
    for (auto& [key, line] : lines_) {
      line.holder.clear();
    }
    early_.clear();
    world_.Advance(601s);
    while (!::testing::Test::HasFailure()) {
      const auto messages = world_.Pull("sub");
      if (messages.empty()) break;
      Take(messages, next_pull_++);
      EXPECT_TRUE(world_.Ack("sub", AckIdsOf(messages)).ok());
      for (const auto& message : messages) {
        Finish(lines_[std::string(message.message.ordering_key())], std::string(message.message.data()));
      }
    }
    for (auto& [key, line] : lines_) EXPECT_EQ(line.finished.size(), line.data.size()) << key;
    World after;
    after.Replay(world_.records, world_.records.size());
    after.Advance(600s);
    EXPECT_THAT(after.Pull("sub"), IsEmpty());
  }

  std::mt19937_64 random_;
  const bool exactly_once_;
  World world_;
  std::map<std::string, Line> lines_;
  std::map<std::string, std::string> ids_, key_;
  std::set<std::string> early_;
  std::map<StreamId, size_t> seen_;
  std::vector<StreamId> streams_;
  uint64_t next_pull_ = 1;
};

TEST(OrderingRandomTest, NothingOvertakesItsKey) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    OrderCheck check(seed, seed % 2 == 0);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace hopgap::broker
