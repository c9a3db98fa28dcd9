#include "store/disk_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "base/text.h"
#include "broker/broker.h"
#include "store/memory_directory.h"

namespace hopgap::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Contents = MemoryDirectory::Contents;

std::shared_ptr<Contents> CopyOf(const Contents& contents) {
  auto copy = std::make_shared<Contents>(contents);
  copy->locked = false;
  for (auto& [name, bytes] : copy->files) bytes = std::make_shared<std::string>(*bytes);
  return copy;
}

// A broker over a journal without threads: everything happens when Run() says so.
class Node {
 public:
  explicit Node(const std::shared_ptr<Contents>& kept, uint64_t segment_bytes = 64 << 10) : contents(kept) {
    auto opened = DiskJournal::Open(std::make_unique<MemoryDirectory>(contents),
                                    {.log = {.fresh_key = {1, 2}, .segment_bytes = segment_bytes},
                                     .threads = false,
                                     .on_failure = [this](const absl::Status& status) { failure = status; }});
    EXPECT_TRUE(opened.ok()) << opened.status();
    journal = *std::move(opened);
    broker::Broker::Options options;
    options.ack_id_key = journal->key();
    options.checkpoint_messages_per_slice = 50;
    broker = std::make_unique<broker::Broker>(std::move(options), sink);
    absl::Status replayed = journal->Replay([this](const broker::StoredRecord& record, const broker::FindBody& find) {
      return broker->Replay(record, find);
    });
    if (replayed.ok()) replayed = broker->ReplayDone(now);
    EXPECT_TRUE(replayed.ok()) << replayed;
  }

  absl::Status Call(pubsub::Method method, pubsub::Request request) {
    broker::Actions out;
    broker->SetPublishRoom(journal->PublishRoom());
    const broker::CallId call{++calls_};
    broker->OnCall(now, call, method, std::move(request), out);
    Perform(out);
    Run();
    const auto found = answers_.find(call);
    if (found == answers_.end()) return absl::CancelledError("no answer");
    payload = pubsub::Join(found->second.second);
    return found->second.first;
  }
  void Run() {
    do {
      for (const auto& [token, stored] : std::exchange(durable_, {})) {
        broker::Actions out;
        broker->OnStored(stored);
        broker->OnPersisted(now, token, out);
        if (!broker->checkpointing()) {
          if (auto plan = journal->NextCheckpoint(broker->live_bytes())) broker->StartCheckpoint(*plan, out);
        }
        Perform(out);
      }
    } while (journal->Step() || !durable_.empty());
  }

  absl::Status Make(bool exactly_once) {
    pubsub::Topic topic;
    topic.name = "projects/p/topics/top";
    absl::Status made = Call(pubsub::Method::kCreateTopic, pubsub::CreateTopicRequest{topic});
    pubsub::Subscription subscription;
    subscription.name = kSubscription;
    subscription.topic = topic.name;
    subscription.enable_exactly_once_delivery = exactly_once;
    if (made.ok()) made = Call(pubsub::Method::kCreateSubscription, pubsub::CreateSubscriptionRequest{subscription});
    return made;
  }
  absl::Status Publish(const std::string& data) {
    pubsub::PublishRequest request;
    request.topic = "projects/p/topics/top";
    request.messages.push_back(pubsub::Message::Make(data, {}));
    request.wire_size = data.size() + 100;
    return Call(pubsub::Method::kPublish, std::move(request));
  }
  std::vector<pubsub::ReceivedMessage> Pull(int32_t count) {
    pubsub::PullRequest request;
    request.subscription = kSubscription;
    request.max_messages = count;
    request.return_immediately = true;
    EXPECT_TRUE(Call(pubsub::Method::kPull, request).ok());
    auto received = pubsub::DecodePullResponse(pubsub::Bytes(payload));
    EXPECT_TRUE(received.ok());
    return *std::move(received);
  }
  absl::Status Ack(const std::vector<pubsub::ReceivedMessage>& messages) {
    pubsub::AcknowledgeRequest request;
    request.subscription = kSubscription;
    for (const auto& message : messages) request.ack_ids.push_back(message.ack_id);
    return Call(pubsub::Method::kAcknowledge, request);
  }
  uint64_t BytesOnDisk() const {
    uint64_t bytes = 0;
    for (const auto& [name, content] : contents->files) bytes += Segment::NumberOf(name) ? content->size() : 0;
    return bytes;
  }

  static constexpr char kSubscription[] = "projects/p/subscriptions/sub";
  Instant now = InstantFromNanos(1'000'000'000'000);
  trace::NullSink sink;
  std::shared_ptr<Contents> contents;
  std::unique_ptr<DiskJournal> journal;
  std::unique_ptr<broker::Broker> broker;
  absl::Status failure;
  std::string payload;

 private:
  void Perform(broker::Actions& out) {
    for (broker::Action& action : out) {
      if (action.kind == broker::Action::Kind::kReply) answers_[action.call] = {action.status, action.payload};
      if (action.kind != broker::Action::Kind::kPersist) continue;
      journal->Append(action.token, std::move(action.records), action.awaited,
                      [this](broker::PersistToken token, std::vector<broker::StoredRecord> stored) {
                        durable_.emplace_back(token, std::move(stored));
                      });
    }
  }

  uint64_t calls_ = 0;
  std::map<broker::CallId, std::pair<absl::Status, pubsub::Slices>> answers_;
  std::vector<std::pair<broker::PersistToken, std::vector<broker::StoredRecord>>> durable_;
};

// Messages come and go for long, so that segments are sealed, copied forward and
// used again; at any moment a crash must leave exactly what is not acknowledged.
TEST(DiskJournalTest, ACrashAtAnyTimeLeavesExactlyWhatIsNotAcknowledged) {
  for (const bool exactly_once : {false, true}) {
    SCOPED_TRACE(exactly_once ? "exactly once" : "standard");
    auto contents = std::make_shared<Contents>();
    Node node(contents, 16 << 10);
    ASSERT_TRUE(node.Make(exactly_once).ok());
    std::mt19937_64 engine(5);
    std::set<std::string> left;
    std::vector<pubsub::ReceivedMessage> leased;
    for (int step = 0; step < 900; ++step) {
      if (engine() % 2 == 0) {
        const std::string data = StrCat(step, ":", std::string(engine() % 900, 'x'));
        ASSERT_TRUE(node.Publish(data).ok());
        left.insert(data);
      } else if (leased.empty()) {
        leased = node.Pull(static_cast<int32_t>(1 + engine() % 9));
      } else {
        const size_t index = engine() % leased.size();  // a few stay for long
        if (engine() % 16 == 0) continue;
        ASSERT_TRUE(node.Ack({leased[index]}).ok());
        left.erase(std::string(leased[index].message.data()));
        leased.erase(leased.begin() + static_cast<std::ptrdiff_t>(index));
        node.Run();
      }
      if (step % 30 != 0) continue;
      Node after(CopyOf(*contents), 16 << 10);
      after.now += std::chrono::minutes{10};
      broker::Actions out;
      after.broker->OnDeadline(after.now, out);
      std::set<std::string> found;
      for (auto messages = after.Pull(1000); !messages.empty(); messages = after.Pull(1000)) {
        for (const auto& message : messages) EXPECT_TRUE(found.emplace(message.message.data()).second);
      }
      ASSERT_EQ(found, left) << "after step " << step;
    }
    EXPECT_GT(node.journal->figures().checkpoints, 3u);
    uint64_t live = 0;
    for (const std::string& data : left) live += data.size() + 60;
    EXPECT_LE(node.BytesOnDisk(), 2 * live + (4 << 14)) << "twice what is live, and the segments at work";
  }
}

TEST(DiskJournalTest, AFullDiskRefusesPublishesIsDrainedAndTakesThemAgain) {
  for (const bool exactly_once : {false, true}) {
    SCOPED_TRACE(exactly_once ? "exactly once" : "standard");
    auto contents = std::make_shared<Contents>();
    contents->bytes_max = 16 << 20;
    Node node(contents, 1 << 20);
    ASSERT_TRUE(node.Make(exactly_once).ok());
    for (int round = 0; round < 3; ++round) {
      SCOPED_TRACE(round);
      int published = 0;
      absl::Status status;
      while ((status = node.Publish(std::string(20'000, 'x'))).ok()) ASSERT_LT(++published, 1000);
      EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
      EXPECT_THAT(std::string(status.message()), HasSubstr("disk is full"));
      EXPECT_GT(published, 600) << "most of 16 MiB is for messages";
      // What can be done on a full disk: be killed, start, ack, delete.
      Node after(CopyOf(*contents), 1 << 20);
      EXPECT_EQ(after.Publish(std::string(20'000, 'x')).code(), absl::StatusCode::kResourceExhausted);
      int acked = 0;
      for (;;) {
        const auto messages = node.Pull(100);
        if (messages.empty()) break;
        ASSERT_TRUE(node.Ack(messages).ok());
        acked += static_cast<int>(messages.size());
      }
      EXPECT_EQ(acked, published);
      EXPECT_TRUE(node.failure.ok()) << node.failure;
    }
    EXPECT_TRUE(node.Publish("again").ok());
    node.Run();
    EXPECT_LE(node.BytesOnDisk(), uint64_t{4} << 20) << "what nobody needs is given back";
  }
}

// Bodies are in the segments: memory counts an index.
TEST(DiskJournalTest, ABacklogCountsInMemoryAsAnIndexOnly) {
  auto contents = std::make_shared<Contents>();
  Node node(contents, 1 << 20);
  ASSERT_TRUE(node.Make(true).ok());
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(node.Publish(std::string(100'000, 'x')).ok());
  EXPECT_GT(node.broker->live_bytes().total(), 3'000'000u);
  const auto messages = node.Pull(2);
  EXPECT_EQ(messages.at(0).message.data().size(), 100'000u);
}

class BrokenFile final : public File {
 public:
  BrokenFile(std::unique_ptr<File> file, const int& syncs_left)
      : file_(std::move(file)), syncs_left_(const_cast<int&>(syncs_left)) {}
  absl::Status Write(uint64_t offset, std::string_view bytes) override { return file_->Write(offset, bytes); }
  absl::Status Sync() override {
    return syncs_left_-- > 0 ? file_->Sync() : absl::InternalError("fdatasync of it: Input/output error");
  }
  absl::StatusOr<pubsub::Bytes> Map() override { return file_->Map(); }
  uint64_t size() const override { return file_->size(); }

 private:
  const std::unique_ptr<File> file_;
  int& syncs_left_;
};
class BreakingDirectory final : public Directory {
 public:
  BreakingDirectory(std::shared_ptr<Contents> contents, int& syncs_left)
      : real_(std::move(contents)), syncs_left_(syncs_left) {}
  absl::StatusOr<std::unique_ptr<File>> Create(std::string_view name, uint64_t size, Fill fill) override {
    return Wrap(real_.Create(name, size, fill));
  }
  absl::StatusOr<std::unique_ptr<File>> Open(std::string_view name) override { return Wrap(real_.Open(name)); }
  absl::StatusOr<std::vector<std::string>> List() override { return real_.List(); }
  absl::Status Rename(std::string_view from, std::string_view to) override { return real_.Rename(from, to); }
  absl::Status Remove(std::string_view name) override { return real_.Remove(name); }
  absl::Status Sync() override { return real_.Sync(); }
  absl::StatusOr<uint64_t> FreeBytes() override { return real_.FreeBytes(); }
  absl::Status Lock() override { return real_.Lock(); }
  std::string name() const override { return real_.name(); }

 private:
  absl::StatusOr<std::unique_ptr<File>> Wrap(absl::StatusOr<std::unique_ptr<File>> file) {
    if (!file.ok()) return file;
    return std::make_unique<BrokenFile>(*std::move(file), syncs_left_);
  }
  MemoryDirectory real_;
  int& syncs_left_;
};

TEST(DiskJournalTest, AfterAFailedSyncNothingIsAnsweredAndNothingIsTriedAgain) {
  int syncs_left = 1000;
  std::vector<absl::Status> failures;
  auto opened = DiskJournal::Open(std::make_unique<BreakingDirectory>(std::make_shared<Contents>(), syncs_left),
                                  {.log = {.fresh_key = {1, 2}, .segment_bytes = 4096},
                                   .threads = false,
                                   .on_failure = [&](const absl::Status& status) { failures.push_back(status); }});
  ASSERT_TRUE(opened.ok()) << opened.status();
  DiskJournal& journal = **opened;
  ASSERT_TRUE(journal.Replay([](const auto&, const auto&) { return absl::OkStatus(); }).ok());
  std::vector<broker::PersistToken> done;
  const auto append = [&](broker::PersistToken token) {
    journal.Append(token, {{pubsub::Bytes(std::string("record"))}}, true,
                   [&](broker::PersistToken at, const auto&) { done.push_back(at); });
  };
  append(1);
  while (journal.Step()) {
  }
  syncs_left = 0;
  append(2);
  EXPECT_FALSE(journal.Step());
  syncs_left = 1000;
  append(3);
  EXPECT_FALSE(journal.Step());
  EXPECT_THAT(done, ElementsAre(1));
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(std::string(failures[0].message()), HasSubstr("fdatasync of it: Input/output error"));
}

// With threads: every group is answered once, lazy ones too, and is there afterwards.
TEST(DiskJournalTest, ThreadsAnswerEveryGroupOnceAndCloseWritesWhatIsLazy) {
  auto contents = std::make_shared<Contents>();
  constexpr uint64_t kGroups = 3000;
  const auto open = [&] {
    auto opened = DiskJournal::Open(std::make_unique<MemoryDirectory>(contents),
                                    {.log = {.fresh_key = {1, 2}, .segment_bytes = 64 << 10},
                                     .lazy_wait = std::chrono::hours{1},
                                     .on_failure = [](const absl::Status& status) { FAIL() << status; }});
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  };
  std::mutex mu;
  std::map<broker::PersistToken, int> answers;
  {
    const auto journal = open();
    ASSERT_TRUE(journal->Replay([](const auto&, const auto&) { return absl::OkStatus(); }).ok());
    for (uint64_t token = 1; token <= kGroups; ++token) {
      const bool awaited = token < kGroups / 2 && token % 3 == 0;
      journal->Append(token, {{pubsub::Bytes(StrCat("record ", token, std::string(token % 90, '.')))}}, awaited,
                      [&](broker::PersistToken at, const auto&) {
                        const std::lock_guard lock(mu);
                        ++answers[at];
                      });
    }
    journal->Close();
    EXPECT_EQ(answers.size(), kGroups);
    for (const auto& [token, count] : answers) EXPECT_EQ(count, 1) << token;
    EXPECT_LT(journal->figures().writes, kGroups / 2) << "groups are written together";
  }
  uint64_t at = 0;
  const auto journal = open();
  ASSERT_TRUE(journal
                  ->Replay([&](const broker::StoredRecord& record, const broker::FindBody&) {
                    ++at;
                    EXPECT_EQ(record.bytes.view(), StrCat("record ", at, std::string(at % 90, '.')));
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(at, kGroups);
}

}  // namespace
}  // namespace hopgap::store
