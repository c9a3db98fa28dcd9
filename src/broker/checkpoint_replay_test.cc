// The promise of a checkpoint, over everything that a broker may be told to do.

#include <map>
#include <random>

#include "broker/checkpoint.h"
#include "broker/world_testing.h"

namespace hopgap::broker {
namespace {

using pubsub::Method;

using RecordBytes = std::vector<pubsub::Bytes>;

constexpr uint64_t kSeeds = 8;
constexpr int kSteps = 300;

std::string SnapshotName(const std::string& id) { return "projects/p/snapshots/" + id; }

// Everything that changes the durable state, drawn from a seed; the journal is
// slow, so that much is on its way when a checkpoint begins and between its slices.
class Workload {
 public:
  static Broker::Options SlicesOfThree() {
    Broker::Options options = World::Defaults();
    options.checkpoint_messages_per_slice = 3;
    return options;
  }

  explicit Workload(uint64_t seed) : engine_(seed), world(SlicesOfThree()) {
    for (const char* topic : {"tp0", "tp1", "dead"}) EXPECT_TRUE(world.CreateTopic(topic).ok());
    for (const char* sub : {"eos", "std"}) {
      pubsub::Subscription value = Value("tp0");
      value.enable_exactly_once_delivery = std::string(sub) == "eos";
      value.enable_message_ordering = true;
      value.dead_letter_policy = {.dead_letter_topic = World::Topic("dead"), .max_delivery_attempts = 5};
      value.retry_policy.reset();
      EXPECT_TRUE(world.Create(sub, "tp0", value).ok());
    }
    world.journal_waits = true;
    for (int step = 0; step < kSteps; ++step) Step();
    world.PersistAll();
  }

 private:
  uint64_t Draw(uint64_t bound) { return engine_() % bound; }
  bool OneIn(uint64_t bound) { return Draw(bound) == 0; }
  std::string Numbered(const std::string& name, uint64_t count) { return name + std::to_string(Draw(count)); }
  std::string AnySub() { return OneIn(3) ? "std" : OneIn(3) ? Numbered("sub", 4) : "eos"; }
  std::string AnyTopic() { return OneIn(8) ? "dead" : OneIn(2) ? "tp0" : Numbered("tp", 3); }

  void Step() {
    switch (Draw(20)) {
      case 0:
      case 1:
      case 2: return Publish();
      case 3:
      case 4: return Pull();
      case 5:
      case 6: return Ack();
      case 7:
      case 8:
      case 9: return Nack();
      case 10: return world.Advance(OneIn(8) ? Duration{250s} : Duration{std::chrono::seconds{Draw(12)}});
      case 11: return ChangeTopic();
      case 12: return ChangeSubscription();
      case 13: return Update();
      case 14: return ChangeSnapshot();
      case 15: return Seek();
      case 16:
      case 17:
        StartCheckpoint();
        if (OneIn(6)) world.Advance(650s);
        return OneIn(5) ? FailOften() : void();
      default:
        for (uint64_t i = Draw(4); i > 0 && !world.waiting_tokens.empty(); --i) world.PersistOne();
    }
  }

  void StartCheckpoint() {
    if (world.broker.checkpointing()) return;
    world.Do([](Broker& broker, Actions& out) { broker.StartCheckpoint({}, out); });
  }
  // Until some messages are dead, the last time inside a checkpoint.
  void FailOften() {
    const std::string sub = OneIn(2) ? "eos" : "std";
    for (int round = 1; round <= 6; ++round) {
      const CallId call = world.StartPull(sub, 4, true);
      world.PersistAll();
      if (!world.Answered(call) || !world.Await(call).status.ok()) return;
      const auto received = world.Received(call);
      if (round >= 4) StartCheckpoint();
      if (!received.empty()) world.StartModify(sub, AckIdsOf(received), 0);
    }
  }

  void Publish() {
    std::vector<pubsub::Message> messages;
    for (uint64_t i = 0; i <= Draw(5); ++i) {
      std::vector<std::pair<std::string, std::string>> attributes;
      if (OneIn(2)) attributes.emplace_back("f", "1");
      messages.push_back(pubsub::Message::Make(Numbered("m", 10), attributes, OneIn(2) ? "" : Numbered("k", 3)));
    }
    world.StartPublish(AnyTopic(), std::move(messages));
  }

  // What is asked for comes when the journal has what it needs, perhaps only
  // after other things were started.
  void Pull() {
    const std::string sub = AnySub();
    pulls_.emplace_back(sub, world.StartPull(sub, static_cast<int32_t>(1 + Draw(6)), true));
    if (OneIn(2)) world.PersistAll();
    std::erase_if(pulls_, [&](const auto& pull) {
      if (!world.Answered(pull.second)) return false;
      if (!world.Await(pull.second).status.ok()) return true;
      for (const auto& received : world.Received(pull.second)) ids_.emplace_back(pull.first, received.ack_id);
      return true;
    });
  }
  // The newest mostly: older ones may have been delivered again.
  std::pair<std::string, std::vector<std::string>> Ids() {
    const size_t first = ids_.size() - std::min<size_t>(ids_.size(), OneIn(5) ? 1000 : 8);
    const std::string sub = ids_[first + Draw(ids_.size() - first)].first;
    std::vector<std::string> chosen;
    for (size_t i = first; i < ids_.size(); ++i) {
      if (ids_[i].first == sub && !OneIn(3)) chosen.push_back(ids_[i].second);
    }
    return {sub, chosen};
  }
  void Ack() {
    if (ids_.empty()) return;
    const auto [sub, ids] = Ids();
    if (!ids.empty()) world.StartAck(sub, ids);
  }
  void Nack() {
    if (ids_.empty()) return Pull();
    const auto [sub, ids] = Ids();
    if (!ids.empty()) world.StartModify(sub, ids, OneIn(4) ? static_cast<int32_t>(60 + Draw(120)) : 0);
    if (OneIn(2)) Pull();
  }

  pubsub::Subscription Value(const std::string& topic) {
    pubsub::Subscription value;
    value.topic = World::Topic(topic);
    value.ack_deadline_seconds = 10;
    value.enable_exactly_once_delivery = OneIn(2);
    value.enable_message_ordering = OneIn(2);
    value.retain_acked_messages = OneIn(2);
    if (OneIn(3)) value.filter = "attributes:f";
    if (OneIn(3)) value.message_retention_duration = 600s;
    if (OneIn(4)) value.retry_policy = pubsub::RetryPolicy{1s, 5s};
    if (OneIn(2)) value.dead_letter_policy = {.dead_letter_topic = World::Topic("dead"), .max_delivery_attempts = 5};
    if (OneIn(4)) value.labels = {{"l", Numbered("v", 3)}};
    return value;
  }

  void ChangeTopic() {
    pubsub::Topic value;
    value.name = World::Topic(AnyTopic());
    if (OneIn(2)) value.message_retention_duration = 600s;
    if (OneIn(2)) value.labels = {{"l", Numbered("v", 3)}};
    if (OneIn(4) && (value.name != World::Topic("tp0") || OneIn(12))) {
      world.Start(Method::kDeleteTopic, pubsub::NameRequest{value.name});
    } else if (OneIn(2)) {
      world.Start(Method::kCreateTopic, pubsub::CreateTopicRequest{value});
    } else {
      world.Start(Method::kUpdateTopic, pubsub::UpdateTopicRequest{value, {"message_retention_duration", "labels"}});
    }
  }
  void ChangeSubscription() {
    const std::string name = World::Sub(Numbered("sub", 4));
    switch (Draw(5)) {
      case 0: world.Start(Method::kDeleteSubscription, pubsub::NameRequest{name}); return;
      case 1: world.Start(Method::kDetachSubscription, pubsub::NameRequest{name}); return;
      default: {
        pubsub::Subscription value = Value(Numbered("tp", 3));
        value.name = name;
        world.Start(Method::kCreateSubscription, pubsub::CreateSubscriptionRequest{value});
      }
    }
  }
  void Update() {
    pubsub::Subscription value = Value("tp0");
    value.name = World::Sub(AnySub());
    pubsub::UpdateMask mask;
    for (const char* path : {"enable_exactly_once_delivery", "retain_acked_messages", "message_retention_duration",
                             "retry_policy", "labels"}) {
      if (OneIn(2)) mask.emplace_back(path);
    }
    if (OneIn(4)) mask.emplace_back("dead_letter_policy");
    world.Start(Method::kUpdateSubscription, pubsub::UpdateSubscriptionRequest{value, mask});
  }
  void ChangeSnapshot() {
    const std::string name = SnapshotName(Numbered("snap", 3));
    switch (Draw(5)) {
      case 0: world.Start(Method::kDeleteSnapshot, pubsub::NameRequest{name}); return;
      case 1: {
        pubsub::Snapshot value;
        value.name = name;
        value.labels = {{"l", Numbered("v", 3)}};
        value.expire_time = kWall + (world.now - kStart) + std::chrono::seconds{60 + Draw(600)};
        world.Start(Method::kUpdateSnapshot, pubsub::UpdateSnapshotRequest{value, {"labels", "expire_time"}});
        return;
      }
      default:
        world.Start(Method::kCreateSnapshot,
                    pubsub::CreateSnapshotRequest{.name = name, .subscription = World::Sub(AnySub()), .labels = {}});
    }
  }
  void Seek() {
    pubsub::SeekRequest request{.subscription = World::Sub(AnySub()), .target = SnapshotName(Numbered("snap", 3))};
    if (OneIn(2)) request.target = kWall + (world.now - kStart) - std::chrono::seconds{Draw(30)};
    world.Start(Method::kSeek, request);
  }

  std::mt19937_64 engine_;
  std::vector<std::pair<std::string, CallId>> pulls_;
  std::vector<std::pair<std::string, std::string>> ids_;

 public:
  World world;
};

std::unique_ptr<World> Replayed(const RecordBytes& journal, size_t first, size_t end, Instant now = kStart) {
  auto world = std::make_unique<World>(Workload::SlicesOfThree());
  world->now = now;
  for (size_t i = first; i < end; ++i) {
    const absl::Status status = world->broker.Replay(journal[i]);
    EXPECT_TRUE(status.ok()) << "record " << i << ": " << status;
    if (!status.ok()) return world;
  }
  const absl::Status done = world->broker.ReplayDone(world->now);
  EXPECT_TRUE(done.ok()) << done;
  return world;
}

// The state as a checkpoint writes it, however it was cut into slices.
std::vector<std::string> WrittenState(World& world) {
  const size_t before = world.records.size();
  world.Do([](Broker& broker, Actions& out) { broker.StartCheckpoint({}, out); });
  std::vector<std::string> state;
  for (size_t i = before; i < world.records.size(); ++i) {
    const auto record = DecodeCheckpointRecord(world.records[i]);
    EXPECT_TRUE(record.ok()) << record.status();
    const auto* states = record.ok() ? std::get_if<DeliveryStates>(&*record) : nullptr;
    if (states == nullptr) state.emplace_back(world.records[i].view());
    for (size_t k = 0; states != nullptr && k < states->items.size(); ++k) {
      const DeliveryStates::Item& item = states->items[k];
      state.push_back("subscription " + std::to_string(states->subscription) + " message " +
                      std::to_string(item.sequence) + " generation " + std::to_string(item.generation) + " nacked " +
                      std::to_string(item.nacked) + " failures " + std::to_string(item.failures) + " failed " +
                      std::to_string(item.failed));
    }
  }
  return state;
}

// What users would see of it: every message with its key, attempt and ack id, in
// the order in which it comes, before and after seeks to everything that is there.
std::vector<std::string> Told(World& world) {
  std::vector<std::string> told;
  const auto say = [&](const std::string& what, const absl::Status& status) {
    told.push_back(what + " " + std::string(absl::StatusCodeToString(status.code())));
  };
  const std::vector<std::string> subs = {"eos", "std", "sub0", "sub1", "sub2", "sub3"};
  const auto pull_all = [&](const std::string& sub) {
    for (int turn = 0; turn < 3; ++turn) {
      const CallId call = world.StartPull(sub, 1000, true);
      say("pull " + sub, world.Await(call).status);
      if (!world.Await(call).status.ok()) return;
      const auto messages = world.Received(call);
      for (const auto& received : messages) {
        told.push_back(std::string(received.message.message_id()) + " " + std::string(received.message.data()) + " " +
                       std::string(received.message.ordering_key()) + " " + std::to_string(received.delivery_attempt) +
                       " " + received.ack_id);
      }
      if (!messages.empty()) say("ack", world.Ack(sub, AckIdsOf(messages)));
    }
  };
  world.Tick();
  world.Advance(190s);  // what was held comes back
  for (const std::string& sub : subs) pull_all(sub);
  for (const std::string& sub : subs) {
    for (const std::string target : {"snap0", "snap1", "snap2", ""}) {
      pubsub::SeekRequest request{.subscription = World::Sub(sub), .target = SnapshotName(target)};
      if (target.empty()) request.target = WallTime{};
      say("seek " + sub + " " + target, world.Do(Method::kSeek, request));
      pull_all(sub);
    }
  }
  for (const auto& [method, parent] :
       {std::pair(Method::kListSubscriptions, "projects/p"), std::pair(Method::kListSnapshots, "projects/p"),
        std::pair(Method::kListTopics, "projects/p")}) {
    told.push_back(world.Await(world.Start(method, pubsub::ListRequest{parent, 0, ""})).payload);
  }
  return told;
}

// The first that differ, readable.
::testing::AssertionResult Same(const std::vector<std::string>& got, const std::vector<std::string>& want) {
  for (size_t i = 0; i < std::max(got.size(), want.size()); ++i) {
    const std::string left = i < got.size() ? got[i] : "(nothing)", right = i < want.size() ? want[i] : "(nothing)";
    if (left == right) continue;
    return ::testing::AssertionFailure() << "at " << i << ": " << ::testing::PrintToString(left) << " instead of "
                                         << ::testing::PrintToString(right);
  }
  return ::testing::AssertionSuccess();
}

// Beginning at the newest complete checkpoint leads to the same state as
// beginning at the first record, wherever the journal ends; and that state is
// the one of the broker that wrote the journal.
TEST(CheckpointReplayTest, TheNewestCompleteOneAndTheTailGiveTheStateOfTheWholeJournalAtEveryRecord) {
  size_t compared = 0;
  std::map<std::string, size_t> inside;  // kinds of records between the parts of a checkpoint
  size_t dead_letters_inside = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Workload run(seed);
    const RecordBytes journal = run.world.records;
    run.world.journal_waits = false;
    std::optional<size_t> began, newest;
    bool open = false;
    for (size_t i = 0; i < journal.size(); ++i) {
      const RecordKind kind = KindOf(journal[i].view());
      if (kind == RecordKind::kCheckpointBegan) began = i;
      if (kind == RecordKind::kCheckpointEnded) newest = began;
      open = kind == RecordKind::kCheckpointBegan || (open && kind != RecordKind::kCheckpointEnded);
      if (kind == RecordKind::kOrdinary || kind == RecordKind::kPublished) {
        const auto record = DecodeRecord(journal[i]);
        ASSERT_TRUE(record.ok());
        if (open) ++inside[std::to_string(record->index())];
        const auto* published = std::get_if<Published>(&*record);
        if (open && published != nullptr && published->dead_lettered_by != 0) ++dead_letters_inside;
      }
      if (!newest) continue;
      SCOPED_TRACE("records " + std::to_string(i + 1) + ", checkpoint at " + std::to_string(*newest));
      const auto short_way = Replayed(journal, *newest, i + 1, run.world.now);
      const auto long_way = Replayed(journal, 0, i + 1, run.world.now);
      ASSERT_FALSE(::testing::Test::HasFailure());
      ASSERT_TRUE(Same(WrittenState(*short_way), WrittenState(*long_way)));
      if (i % 5 == 0 || i + 1 == journal.size()) {
        ASSERT_TRUE(Same(Told(*short_way), Told(*long_way)));
      }
      ++compared;
    }
    EXPECT_TRUE(Same(WrittenState(*Replayed(journal, 0, journal.size())), WrittenState(run.world)));
  }
  EXPECT_GT(compared, 2000u);
  EXPECT_GT(dead_letters_inside, 3u);
  for (size_t kind = 0; kind < std::variant_size_v<Record>; ++kind) {
    const bool written = kind != Record(LeaseLength{}).index() && kind != Record(CleanStop{}).index();
    EXPECT_EQ(inside.contains(std::to_string(kind)), written) << "kind " << kind;
  }
}

}  // namespace
}  // namespace hopgap::broker
