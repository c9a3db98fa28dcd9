#include <random>
#include <set>

#include "broker/world_testing.h"

namespace hopgap::broker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

using Journal = std::vector<pubsub::Bytes>;

std::set<std::string> MessageIdsOf(const std::vector<pubsub::ReceivedMessage>& messages) {
  std::set<std::string> ids;
  for (const auto& message : messages) EXPECT_TRUE(ids.emplace(message.message.message_id()).second);
  return ids;
}

// What was visible outside, each with the number of records that were durable
// when it was: a journal cut behind fewer records cannot have led to it.
struct Facts {
  struct Sent {
    std::string message_id, ack_id;
    size_t durable;
  };
  struct Acked {
    std::string ack_id;
    size_t durable;
  };
  struct Published {
    std::string message_id;
    size_t durable;
  };
  struct Extended {
    Duration length;
    size_t durable;
  };
  std::vector<Sent> sent;
  std::vector<Acked> acked;
  std::vector<Published> published;
  std::vector<Extended> extended;
};

// What a prefix of the journal says about the exactly-once subscription, read
// by a model that knows the records only.
struct Model {
  explicit Model(const Journal& journal, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      absl::StatusOr<Record> record = DecodeRecord(journal[i]);
      EXPECT_TRUE(record.ok());
      if (const auto* made = std::get_if<SubscriptionCreated>(&*record)) {
        if (!made->value.enable_exactly_once_delivery) standard = made->subscription;
        if (!made->value.enable_exactly_once_delivery) continue;
        subscription = made->subscription;
        ceiling = made->lease_ceiling;
      }
      if (auto* published = std::get_if<Published>(&*record); published && subscription) {
        for (const auto& message : published->messages) ids.emplace_back(message.message_id());
      }
      if (auto* r = std::get_if<SendBoundRaised>(&*record)) bound = std::max(bound, r->bound);
      if (auto* r = std::get_if<LeaseCeilingRaised>(&*record)) ceiling = std::max(ceiling, r->ceiling);
      if (auto* r = std::get_if<Redelivered>(&*record)) {
        for (const auto& d : r->deliveries) newest[d.sequence] = d.generation;
      }
      if (auto* r = std::get_if<Nacked>(&*record)) {
        for (const auto& d : r->deliveries) nacked[d.sequence] = d.generation;
      }
      if (auto* r = std::get_if<Acked>(&*record)) {
        for (const auto& d : r->deliveries)
          (r->subscription == subscription ? acked : acked_standard)[d.sequence] = d.generation;
      }
    }
  }
  Generation Newest(Sequence s) const { return newest.contains(s) ? newest.at(s) : Generation{s < bound ? 1u : 0u}; }
  bool Held(Sequence s) const {
    return !acked.contains(s) && s < bound && !(nacked.contains(s) && nacked.at(s) == Newest(s));
  }
  std::set<std::string> Ids(bool held) const {
    std::set<std::string> found;
    for (Sequence s = 0; s < ids.size(); ++s) {
      if (!acked.contains(s) && Held(s) == held) found.insert(ids[s]);
    }
    return found;
  }
  Incarnation subscription = 0, standard = 0;
  Sequence bound = 0;
  Duration ceiling{0};
  std::vector<std::string> ids;
  std::map<Sequence, Generation> newest, nacked, acked, acked_standard;
};

// A seeded run of everything: publishes, streams and pulls, acks, nacks,
// extensions, expiries, and a journal that is late by a random number of groups.
class Workload {
 public:
  explicit Workload(uint64_t seed) : random_(seed) {
    EXPECT_TRUE(world.CreateTopic("top").ok());
    EXPECT_TRUE(world.CreateSubscription("eos", "top", true).ok());
    EXPECT_TRUE(world.CreateSubscription("std", "top", false).ok());
    world.journal_waits = true;
    for (int i = 0; i < 120; ++i) Step();
    world.PersistAll();
    Collect();
  }

  World world;
  Facts facts;

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }

  void Step() {
    switch (Below(12)) {
      case 0:
      case 1: publishes_.push_back(Publish()); break;
      case 2:
        if (streams_.size() < 3) OpenStream();
        break;
      case 3: pulls_.push_back(world.StartPull("eos", 2, true)); break;
      case 4:
      case 5:
        if (!seen_.empty()) acks_.emplace_back(world.StartAck("eos", {Any()}), last_);
        break;
      case 6:
        if (!seen_.empty()) world.StartModify("eos", {Any()}, 0);
        break;
      case 7:
        if (!seen_.empty()) Extend();
        break;
      case 8: world.Advance(std::chrono::milliseconds{Below(8000)}); break;
      case 9:
        for (const auto& m : world.Pull("std", 2)) {
          if (Below(2)) world.StartAck("std", {m.ack_id});
        }
        break;
      default:
        if (!world.waiting_tokens.empty()) world.PersistOne();
        break;
    }
    Collect();
  }
  CallId Publish() {
    std::vector<pubsub::Message> messages(1 + Below(3), pubsub::Message::Make("m", {}));
    return world.StartPublish("top", messages);
  }
  void OpenStream() {
    auto first = World::First("eos", static_cast<int32_t>(10 + Below(60)));
    first.max_outstanding_messages = 3;
    streams_.push_back(world.Open(first));
  }
  void Extend() {
    const auto seconds = static_cast<int32_t>(20 + Below(80));
    extensions_.emplace_back(world.StartModify("eos", {Any()}, seconds), std::chrono::seconds{seconds});
  }
  std::string Any() { return last_ = seen_[Below(seen_.size())]; }

  void Collect() {
    for (auto& [id, log] : world.streams) {
      for (size_t& i = collected_[id]; i < log.responses.size(); ++i)
        Sent(log.responses[i].received_messages, log.durable[i]);
    }
    std::erase_if(pulls_, [&](CallId call) {
      if (world.Answered(call)) Sent(world.Received(call), world.Await(call).durable);
      return world.Answered(call);
    });
    std::erase_if(publishes_, [&](CallId call) {
      if (!world.Answered(call)) return false;
      for (const auto& id : world.Ids(call)) facts.published.push_back({id, world.Await(call).durable});
      return true;
    });
    std::erase_if(extensions_, [&](const auto& extension) {
      if (!world.Answered(extension.first)) return false;
      const World::Answer& answer = world.Await(extension.first);
      if (answer.status.ok()) facts.extended.push_back({extension.second, answer.durable});
      return true;
    });
    std::erase_if(acks_, [&](const auto& ack) {
      if (!world.Answered(ack.first)) return false;
      const World::Answer& answer = world.Await(ack.first);
      if (answer.status.ok()) facts.acked.push_back({ack.second, answer.durable});
      return true;
    });
  }
  void Sent(const std::vector<pubsub::ReceivedMessage>& messages, size_t durable) {
    for (const auto& message : messages) {
      facts.sent.push_back({std::string(message.message.message_id()), message.ack_id, durable});
      seen_.push_back(message.ack_id);
    }
  }

  std::mt19937_64 random_;
  std::vector<CallId> publishes_, pulls_;
  std::vector<std::pair<CallId, std::string>> acks_;
  std::vector<std::pair<CallId, Duration>> extensions_;
  std::vector<StreamId> streams_;
  std::map<StreamId, size_t> collected_;
  std::vector<std::string> seen_;
  std::string last_;
};

AckId Parsed(const std::string& ack_id) { return *ParseAckId(kKey, ack_id); }

// Deliveries after a crash behind `count` records.
void CheckDeliveries(const Journal& journal, size_t count, const Facts& facts) {
  const Model model(journal, count);
  World after;
  ASSERT_NO_FATAL_FAILURE(after.Replay(journal, count));
  if (model.subscription == 0) return;

  const auto at_once = after.Pull("eos", 10'000);
  EXPECT_EQ(MessageIdsOf(at_once), model.Ids(false)) << "at or above B, and nacked: at once";
  if (!at_once.empty()) {
    EXPECT_TRUE(after.Ack("eos", AckIdsOf(at_once)).ok());
  }
  after.AdvanceTo(kStart + model.ceiling - 1ns);
  EXPECT_THAT(after.Pull("eos", 10'000), IsEmpty()) << "held until restart + L";
  after.AdvanceTo(kStart + model.ceiling);
  const auto held = after.Pull("eos", 10'000);
  EXPECT_EQ(MessageIdsOf(held), model.Ids(true));
  EXPECT_EQ(after.broker.counters().expired_leases, 0u) << "the end of a hold is no attempt";

  std::set<std::string> delivered = MessageIdsOf(at_once), fresh_ids;
  delivered.merge(MessageIdsOf(held));
  std::set<Sequence> acked, sent_now;
  for (const auto& fact : facts.acked) {
    if (fact.durable <= count) acked.insert(Parsed(fact.ack_id).sequence);
  }
  std::map<Sequence, Generation> newest_sent;
  for (const auto& fact : facts.sent) {
    if (fact.durable > count) continue;
    const AckId id = Parsed(fact.ack_id);
    newest_sent[id.sequence] = std::max(newest_sent[id.sequence], id.generation);
    EXPECT_LT(id.sequence, model.bound) << "sent above the send bound";
    EXPECT_LE(id.generation, model.Newest(id.sequence)) << "a generation sent before it was durable";
  }
  for (const auto& messages : {at_once, held}) {
    for (const auto& message : messages) {
      const AckId id = Parsed(message.ack_id);
      EXPECT_FALSE(acked.contains(id.sequence)) << "delivered after an answered ack";
      EXPECT_GT(id.generation, newest_sent[id.sequence]) << "a generation used twice";
    }
  }
  for (const auto& fact : facts.extended) {
    if (fact.durable <= count) {
      EXPECT_LE(fact.length, model.ceiling) << "a lease longer than the hold";
    }
  }
  std::set<std::string> acked_ids;
  for (const auto& [sequence, generation] : model.acked) acked_ids.insert(model.ids[sequence]);
  for (const auto& fact : facts.published) {
    if (fact.durable > count) continue;
    EXPECT_TRUE(delivered.contains(fact.message_id) || acked_ids.contains(fact.message_id))
        << "lost " << fact.message_id;
  }
}

// Old ids after a crash behind `count` records, during the hold.
void CheckIds(const Journal& journal, size_t count, const Facts& facts) {
  const Model model(journal, count);
  World after;
  ASSERT_NO_FATAL_FAILURE(after.Replay(journal, count));
  for (const auto& fact : facts.acked) {
    if (fact.durable <= count) {
      EXPECT_TRUE(after.Ack("eos", {fact.ack_id}).ok()) << "a repeat";
    }
  }
  for (const auto& fact : facts.sent) {
    if (fact.durable > count) continue;
    const AckId id = Parsed(fact.ack_id);
    if (model.acked.contains(id.sequence)) {
      EXPECT_EQ(after.Ack("eos", {fact.ack_id}).ok(), model.acked.at(id.sequence) == id.generation);
      continue;
    }
    const bool newest = model.Held(id.sequence) && id.generation == model.Newest(id.sequence);
    EXPECT_THAT(after.Modify("eos", {fact.ack_id}, 30), HasCode(newest ? kOk : kInvalid));
    EXPECT_THAT(after.Ack("eos", {fact.ack_id}), HasCode(newest ? kOk : kInvalid));
    if (newest) {
      EXPECT_THAT(after.Ack("eos", {fact.ack_id}), HasCode(kOk));
    }
  }
  // What was acked in the hold never comes.
  after.Advance(model.ceiling);
  std::set<Sequence> acked;
  for (const Acked& record : after.Records<Acked>()) {
    for (const auto& delivery : record.deliveries) acked.insert(delivery.sequence);
  }
  if (model.subscription == 0) return;
  for (const auto& message : after.Pull("eos", 10'000)) EXPECT_FALSE(acked.contains(Parsed(message.ack_id).sequence));
}

void CheckStandard(const Journal& journal, size_t count) {
  const Model model(journal, count);
  if (model.standard == 0) return;
  World after;
  ASSERT_NO_FATAL_FAILURE(after.Replay(journal, count));
  std::set<std::string> want;
  for (Sequence s = 0; s < model.ids.size(); ++s) {
    if (!model.acked_standard.contains(s)) want.insert(model.ids[s]);
  }
  EXPECT_EQ(MessageIdsOf(after.Pull("std", 10'000)), want) << "standard never holds";
}

TEST(ReplayTest, EveryPrefixOfTheJournalKeepsThePromises) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Workload run(seed);
    ASSERT_GT(run.facts.acked.size(), 0u);
    ASSERT_GT(run.facts.sent.size(), 5u);
    for (size_t count = 0; count <= run.world.records.size(); ++count) {
      SCOPED_TRACE("records " + std::to_string(count));
      CheckDeliveries(run.world.records, count, run.facts);
      CheckIds(run.world.records, count, run.facts);
      CheckStandard(run.world.records, count);
      if (HasFailure()) return;
    }
  }
}

// A second crash, after a first whose replay went on writing.
TEST(ReplayTest, GenerationsAreNeverReusedOverTwoCrashes) {
  World first;
  ASSERT_TRUE(first.CreateTopic("top").ok());
  ASSERT_TRUE(first.CreateSubscription("eos", "top", true).ok());
  first.Publish("top", {"m"});
  Journal journal;
  std::vector<AckId> sent{Parsed(first.Pull("eos").at(0).ack_id)};
  journal = first.records;
  for (int crash = 0; crash < 3; ++crash) {
    World next;
    ASSERT_NO_FATAL_FAILURE(next.Replay(journal, journal.size()));
    next.Advance(60s);
    sent.push_back(Parsed(next.Pull("eos").at(0).ack_id));
    journal.insert(journal.end(), next.records.begin(), next.records.end());
  }
  for (size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(sent[i].generation, i + 1);
}

TEST(ReplayTest, TheNewestIdMayExtendDuringTheHold) {
  World first;
  ASSERT_TRUE(first.CreateTopic("top").ok());
  ASSERT_TRUE(first.CreateSubscription("eos", "top", true).ok());
  first.Publish("top", {"m"});
  const std::string id = first.Pull("eos").at(0).ack_id;
  World next;
  ASSERT_NO_FATAL_FAILURE(next.Replay(first.records, first.records.size()));
  next.Advance(59s);
  EXPECT_TRUE(next.Modify("eos", {id}, 30).ok());
  next.Advance(30s - 1ns);
  EXPECT_THAT(next.Pull("eos"), IsEmpty());
  next.Advance(1ns);
  EXPECT_THAT(next.Pull("eos"), SizeIs(1));
  EXPECT_THAT(next.Ack("eos", {id}), HasCode(kInvalid));
}

class CleanStopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(first_.CreateTopic("top").ok());
    ASSERT_TRUE(first_.CreateSubscription("eos", "top", true).ok());
    first_.Publish("top", {"leased", "returned"});
    for (const auto& message : first_.Pull("eos")) ids_[std::string(message.message.data())] = message.ack_id;
    first_.Advance(4s);
    ASSERT_TRUE(first_.Modify("eos", {ids_["returned"]}, 0).ok());
    first_.Stop();
  }
  World first_;
  std::map<std::string, std::string> ids_;
};

TEST_F(CleanStopTest, TheNextStartHoldsOnlyTheExactLeases) {
  World next;
  ASSERT_NO_FATAL_FAILURE(next.Replay(first_.records, first_.records.size()));
  EXPECT_THAT(DataOf(next.Pull("eos")), ElementsAre("returned"));
  next.Advance(6s - 1ns);
  EXPECT_THAT(next.Pull("eos"), IsEmpty());
  next.Advance(1ns);
  EXPECT_THAT(DataOf(next.Pull("eos")), ElementsAre("leased"));
}

TEST_F(CleanStopTest, TheHolderMayAckAfterTheStart) {
  World next;
  ASSERT_NO_FATAL_FAILURE(next.Replay(first_.records, first_.records.size()));
  EXPECT_TRUE(next.Ack("eos", {ids_["leased"]}).ok());
  EXPECT_THAT(next.Ack("eos", {ids_["returned"]}), HasCode(kInvalid));
}

// Else a crash would hold for the lease as it was at the stop.
TEST_F(CleanStopTest, NoLeaseStartsOrGrowsBeforeARecordMakesTheStopVoid) {
  World next;
  ASSERT_NO_FATAL_FAILURE(next.Replay(first_.records, first_.records.size()));
  next.journal_waits = true;
  const CallId extend = next.StartModify("eos", {ids_["leased"]}, 30);
  EXPECT_FALSE(next.Answered(extend));
  ASSERT_THAT(next.Records<LeaseCeilingRaised>(), SizeIs(1));
  EXPECT_EQ(next.Records<LeaseCeilingRaised>()[0].ceiling, 60s) << "never below what L was";
  next.PersistAll();
  EXPECT_TRUE(next.Await(extend).status.ok());

  Journal journal = first_.records;
  journal.insert(journal.end(), next.records.begin(), next.records.end());
  World third;
  ASSERT_NO_FATAL_FAILURE(third.Replay(journal, journal.size()));
  third.Advance(60s - 1ns);
  EXPECT_THAT(DataOf(third.Pull("eos")), ElementsAre("returned")) << "its nack is known";
  third.Advance(1ns);
  EXPECT_THAT(DataOf(third.Pull("eos")), ElementsAre("leased"));
}

TEST(ReplayTest, ResourcesComeBackAsTheyWere) {
  World first;
  ASSERT_TRUE(first.CreateTopic("gone").ok());
  ASSERT_TRUE(first.CreateTopic("top").ok());
  ASSERT_TRUE(first.CreateSubscription("keeps", "gone", false).ok());
  ASSERT_TRUE(first.CreateSubscription("dies", "gone", true).ok());
  const auto ids = first.Publish("gone", {"m"});
  ASSERT_TRUE(first.Do(pubsub::Method::kDeleteTopic, pubsub::NameRequest{World::Topic("gone")}).ok());
  ASSERT_TRUE(first.Do(pubsub::Method::kDeleteSubscription, pubsub::NameRequest{World::Sub("dies")}).ok());
  World next;
  ASSERT_NO_FATAL_FAILURE(next.Replay(first.records, first.records.size()));
  EXPECT_THAT(next.Do(pubsub::Method::kGetTopic, pubsub::NameRequest{World::Topic("gone")}), HasCode(kNotFound));
  EXPECT_THAT(next.Do(pubsub::Method::kGetSubscription, pubsub::NameRequest{World::Sub("dies")}), HasCode(kNotFound));
  EXPECT_THAT(next.Do(pubsub::Method::kGetTopic, pubsub::NameRequest{World::Topic("top")}), HasCode(kOk));
  const auto got = next.Pull("keeps");
  ASSERT_THAT(got, SizeIs(1));
  EXPECT_EQ(got[0].message.message_id(), ids[0]);
  EXPECT_EQ(got[0].message.publish_time(), (WallTime{Duration{1'700'000'000'000'000'000}}));
  EXPECT_TRUE(next.CreateTopic("gone").ok()) << "the name is free";
  EXPECT_GT(next.Publish("top", {"n"})[0], ids[0]) << "message ids go on";
  EXPECT_THAT(next.Pull("keeps"), IsEmpty()) << "a topic made again is another topic";
}

TEST(ReplayTest, ARecordThatDoesNotFitIsAnError) {
  const pubsub::Topic topic{.name = World::Topic("top"), .labels = {}, .unknown = {}};
  pubsub::Subscription subscription;
  subscription.name = World::Sub("sub");
  const Record bad[] = {
      TopicCreated{.topic = 1, .value = topic},
      TopicCreated{.topic = 2, .value = topic},
      TopicCreated{.topic = 3, .value = {.name = "nonsense", .labels = {}, .unknown = {}}},
      TopicDeleted{.topic = 9},
      SubscriptionCreated{
          .subscription = 5, .topic = 9, .first = 0, .send_bound = 0, .lease_ceiling = 60s, .value = subscription},
      SubscriptionCreated{
          .subscription = 5, .topic = 1, .first = 1, .send_bound = 0, .lease_ceiling = 60s, .value = subscription},
      SubscriptionDeleted{.subscription = 9},
      Published{.topic = 9, .first = 0, .messages = {}},
      Published{.topic = 1, .first = 7, .messages = {}},
      Published{.topic = 1, .first = 0, .messages = {pubsub::Message::Make("no id", {})}},
      Acked{.subscription = 9, .deliveries = {}},
      Redelivered{.subscription = 9, .deliveries = {}},
      SendBoundRaised{.subscription = 9, .bound = 1},
      LeaseCeilingRaised{.subscription = 9, .ceiling = 1s},
      Nacked{.subscription = 9, .deliveries = {}},
      LeaseLength{.subscription = 9, .delivery = {}, .length = 1s},
  };
  for (const Record& record : bad) {
    SCOPED_TRACE(record.index());
    World world;
    ASSERT_TRUE(world.CreateTopic("top").ok());
    World next;
    ASSERT_TRUE(next.broker.Replay(world.records[0]).ok());
    EXPECT_THAT(next.broker.Replay(pubsub::Bytes(pubsub::Join(EncodeRecord(record)))),
                HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST(ReplayTest, StandardIdsFromBeforeARestartStillAck) {
  World first;
  ASSERT_TRUE(first.CreateTopic("top").ok());
  ASSERT_TRUE(first.CreateSubscription("std", "top", false).ok());
  first.Publish("top", {"m"});
  first.Pull("std");
  first.Advance(10s);
  const std::string id = first.Pull("std").at(0).ack_id;
  World next;
  ASSERT_NO_FATAL_FAILURE(next.Replay(first.records, first.records.size()));
  EXPECT_TRUE(next.Ack("std", {id}).ok());
  EXPECT_THAT(next.Pull("std"), IsEmpty());
}

}  // namespace
}  // namespace hopgap::broker
