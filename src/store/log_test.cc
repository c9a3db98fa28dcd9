#include "store/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "broker/checkpoint_record.h"
#include "store/checkpoint_policy.h"
#include "store/crc32c.h"
#include "store/memory_directory.h"

namespace hopgap::store {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Contents = MemoryDirectory::Contents;
using Texts = std::vector<std::string>;

constexpr uint64_t kSmall = 4096;

std::shared_ptr<Contents> Copy(const Contents& contents) {
  auto copy = std::make_shared<Contents>(contents);
  copy->locked = false;
  for (auto& [name, bytes] : copy->files) bytes = std::make_shared<std::string>(*bytes);
  return copy;
}

absl::StatusOr<std::unique_ptr<Log>> OpenLog(const std::shared_ptr<Contents>& contents,
                                             uint64_t segment_bytes = kSmall) {
  return Log::Open(std::make_unique<MemoryDirectory>(contents), {.fresh_key = {1, 2}, .segment_bytes = segment_bytes});
}

// A log and what its replay gave.
struct Opened {
  std::unique_ptr<Log> log;
  Texts records;
  std::vector<broker::StoredRecord> stored;
  absl::Status status;
};
Opened Reopen(const std::shared_ptr<Contents>& contents, uint64_t segment_bytes = kSmall) {
  Opened opened;
  auto log = OpenLog(contents, segment_bytes);
  opened.status = log.status();
  if (!log.ok()) return opened;
  opened.log = *std::move(log);
  opened.status = opened.log->Replay([&](const broker::StoredRecord& record, const broker::FindBody&) {
    opened.records.emplace_back(record.bytes.view());
    opened.stored.push_back(record);
    return absl::OkStatus();
  });
  return opened;
}

// One group.
Log::Stored Write(Log& log, const Texts& texts) {
  std::vector<pubsub::Slices> records;
  for (const std::string& text : texts) {
    const size_t half = text.size() / 2;
    records.push_back({pubsub::Bytes(text.substr(0, half)), pubsub::Bytes(text.substr(half))});
  }
  std::vector<const pubsub::Slices*> pointers;
  for (const pubsub::Slices& record : records) pointers.push_back(&record);
  auto stored = log.Write(pointers);
  EXPECT_TRUE(stored.ok()) << stored.status();
  return stored.ok() ? *std::move(stored) : Log::Stored{};
}

std::string Text(const broker::CheckpointRecord& record) {
  return pubsub::Join(broker::EncodeCheckpointRecord(record));
}

TEST(Crc32cTest, BothWaysGiveTheKnownSumsInAnyPieces) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32cByTable("123456789"), 0xe3069283u);
  std::mt19937_64 engine(1);
  std::string bytes(5000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(engine());
  for (size_t at = 0; at <= bytes.size(); at += 37) {
    const std::string_view all = bytes;
    EXPECT_EQ(Crc32c(all.substr(at), Crc32c(all.substr(0, at))), Crc32cByTable(all));
  }
}

TEST(LogTest, WhatIsWrittenComesBackInOrderOverSegmentsAndRestarts) {
  auto contents = std::make_shared<Contents>();
  std::mt19937_64 engine(3);
  Texts all;
  for (int start = 0; start < 20; ++start) {
    Opened opened = Reopen(contents);
    ASSERT_TRUE(opened.status.ok()) << opened.status;
    ASSERT_THAT(opened.records, ElementsAreArray(all));
    for (uint64_t group = engine() % 20; group > 0; --group) {
      Texts texts;
      for (uint64_t i = 0; i <= engine() % 4; ++i) texts.emplace_back(engine() % 1200, static_cast<char>('a' + i));
      Write(*opened.log, texts);
      all.insert(all.end(), texts.begin(), texts.end());
      if (engine() % 2 == 0) {
        EXPECT_TRUE(opened.log->Work().ok());
      }
    }
  }
  EXPECT_GT(contents->files.size(), 20u) << "segments and two files";
}

TEST(LogTest, RecordsUpToTheSizeOfASegmentFit) {
  auto contents = std::make_shared<Contents>();
  Opened opened = Reopen(contents);
  const std::string largest(opened.log->record_bytes_max(), 'x');
  Write(*opened.log, {"a", largest, "b", largest});
  EXPECT_THAT(Reopen(Copy(*contents)).records, ElementsAre("a", largest, "b", largest));
}

// A loss of power in the middle of the last write: any part of it, cut at any
// byte, from the front, from the back, or with a hole.
TEST(LogTest, ATornLastGroupIsCutOffAndTheJournalGoesOn) {
  auto contents = std::make_shared<Contents>();
  Opened opened = Reopen(contents);
  Write(*opened.log, {"one", "two"});
  const std::shared_ptr<Contents> before = Copy(*contents);
  Write(*opened.log, {"three", "four", std::string(300, 'f')});
  const std::string name = Segment::NameOf(1);
  const std::string old = *before->files[name], now = *contents->files[name];
  const auto differs = std::mismatch(old.begin(), old.end(), now.begin());
  const auto first = static_cast<size_t>(differs.first - old.begin());
  size_t end = old.size();
  while (old[end - 1] == now[end - 1]) --end;
  for (size_t cut = first; cut <= end; ++cut) {
    for (const int kind : {0, 1, 2}) {
      SCOPED_TRACE("cut at " + std::to_string(cut) + ", kind " + std::to_string(kind));
      auto torn = Copy(*contents);
      std::string& bytes = *torn->files[name];
      if (kind == 0) bytes.replace(cut, end - cut, old, cut, end - cut);
      if (kind == 1) bytes.replace(first, cut - first, old, first, cut - first);
      if (kind == 2) bytes.replace(cut, std::min<size_t>(8, end - cut), old, cut, std::min<size_t>(8, end - cut));
      Opened again = Reopen(torn);
      ASSERT_TRUE(again.status.ok()) << again.status;
      ASSERT_GE(again.records.size(), 2u);
      ASSERT_LE(again.records.size(), 5u);
      Texts want = again.records;
      // As long as "three": what is left of the torn group would follow it exactly.
      Write(*again.log, {"3333E"});
      want.push_back("3333E");
      again.log.reset();
      Opened last = Reopen(torn);
      ASSERT_TRUE(last.status.ok()) << last.status;
      ASSERT_THAT(last.records, ElementsAreArray(want));
    }
  }
}

// However often it is torn before it is written once: in front, so that later
// records of it are there and no earlier ones, or behind.
TEST(LogTest, AGroupThatIsTornAfterEveryStartIsCutOffEveryTime) {
  for (const bool front : {true, false}) {
    SCOPED_TRACE(front ? "the front is missing" : "the end is missing");
    auto contents = std::make_shared<Contents>();
    Write(*Reopen(contents).log, {"one", "two"});
    const std::string name = Segment::NameOf(1);
    for (int start = 0; start < 4; ++start) {
      contents = Copy(*contents);
      Opened opened = Reopen(contents);
      ASSERT_TRUE(opened.status.ok()) << "start " << start << ": " << opened.status;
      ASSERT_THAT(opened.records, ElementsAre("one", "two"));
      const std::string before = *contents->files[name];
      Write(*opened.log, {std::string(100, 'x'), std::string(100, 'y'), std::string(100, 'z')});
      const size_t at = before.find("two") + 5, length = 100;  // the end of "two", and a part of what follows
      std::string& bytes = *contents->files[name];
      front ? bytes.replace(at, length, before, at, length) : bytes.replace(at + 300, 200, before, at + 300, 200);
    }
  }
}

TEST(LogTest, ATornFirstGroupOfASegmentIsTornToo) {
  auto contents = std::make_shared<Contents>();
  Opened opened = Reopen(contents);
  Write(*opened.log, {std::string(3990, 'a')});
  Write(*opened.log, {"bbbb", "cccc"});
  auto torn = Copy(*contents);
  (*torn->files[Segment::NameOf(2)])[Segment::kHeaderBytes] ^= 1;
  Opened again = Reopen(torn);
  ASSERT_TRUE(again.status.ok()) << again.status;
  EXPECT_THAT(again.records, SizeIs(1));
  Write(*again.log, {"dddd"});
  again.log.reset();
  EXPECT_THAT(Reopen(torn).records, ElementsAre(std::string(3990, 'a'), "dddd"));
}

TEST(LogTest, DamageBeforeALaterGroupRefusesToStartAndSaysWhere) {
  auto contents = std::make_shared<Contents>();
  Opened opened = Reopen(contents);
  Write(*opened.log, {"one", "two"});
  Write(*opened.log, {"three"});
  Write(*opened.log, {std::string(3700, 'x')});
  Write(*opened.log, {std::string(1000, 'y'), "z"});
  struct Case {
    uint64_t segment, offset;
    const char* want;
  };
  // The records' frames begin at 64, 104 and 144; the fifth is in the second segment.
  for (const Case& c :
       {Case{1, 64 + 40 - 6, "segment-0000000000000001, offset 64: a record is damaged here, and later"},
        Case{1, 104, "segment-0000000000000001, offset 104: "},
        Case{1, 144 + 33, "segment-0000000000000001, offset 144: "},
        Case{1, 1000, "segment-0000000000000001, offset 184: "}}) {
    SCOPED_TRACE(c.offset);
    auto damaged = Copy(*contents);
    (*damaged->files[Segment::NameOf(c.segment)])[c.offset] ^= 4;
    const Opened again = Reopen(damaged);
    EXPECT_EQ(again.status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(again.status.message()), HasSubstr(c.want));
  }
  auto header = Copy(*contents);
  (*header->files[Segment::NameOf(2)])[20] ^= 1;
  EXPECT_THAT(std::string(Reopen(header).status.message()),
              HasSubstr("segment-0000000000000002, offset 0: its header"));
  auto gone = Copy(*contents);
  gone->files.erase(Segment::NameOf(1));
  EXPECT_THAT(std::string(Reopen(gone).status.message()),
              HasSubstr("segment-0000000000000001, offset 64: the file is missing"));
}

TEST(LogTest, AJournalThatIsInUseNewerOrNoneIsRefused) {
  auto contents = std::make_shared<Contents>();
  Opened opened = Reopen(contents);
  EXPECT_EQ(Reopen(contents).status.code(), absl::StatusCode::kFailedPrecondition);

  auto newer = Copy(*contents);
  *newer->files["journal"] = "hopgap journal\nversion 2\nwhatever\n";
  const absl::Status status = Reopen(newer).status;
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("version 2 was written by a newer hopgap; this one reads version 1"));

  auto edited = Copy(*contents);
  (*edited->files["journal"])[60] ^= 1;
  EXPECT_THAT(std::string(Reopen(edited).status.message()), HasSubstr("its sum does not fit"));
  auto headless = Copy(*contents);
  headless->files.erase("journal");
  EXPECT_THAT(std::string(Reopen(headless).status.message()), HasSubstr("but no file journal"));
  auto other = Copy(*contents);
  *other->files["journal"] = "#!/bin/sh\n";
  EXPECT_THAT(std::string(Reopen(other).status.message()), HasSubstr("is no journal of hopgap's"));
}

// Began, some parts between other records, and the end, which names the segments
// in which bodies lie.
void WriteCheckpoint(Log& log, const std::vector<uint64_t>& bodies) {
  Write(log, {Text(broker::CheckpointBegan{.last_incarnation = 1, .next_message_id = 1}), "between"});
  Write(log, {Text(broker::CheckpointEnded{.segments = bodies})});
}

TEST(LogTest, AReplayBeginsAtTheNewestCompleteCheckpointAndOlderSegmentsAreUsedAgain) {
  auto contents = std::make_shared<Contents>();
  Opened opened = Reopen(contents);
  std::set<std::string> names;
  for (int round = 0; round < 60; ++round) {
    Write(*opened.log, {std::string(1500, 'a'), std::string(1500, 'b')});
    if (round % 3 == 2) WriteCheckpoint(*opened.log, {});
    while (*opened.log->Work()) {
    }
    ASSERT_LE(contents->files.size(), 2u + 6u) << "the journal, the checkpoint, and few segments";
  }
  Write(*opened.log, {"tail"});
  Write(*opened.log, {Text(broker::CheckpointBegan{}), "half a checkpoint"});
  const Opened again = Reopen(Copy(*contents));
  ASSERT_TRUE(again.status.ok()) << again.status;
  ASSERT_GE(again.records.size(), 6u);
  EXPECT_EQ(broker::KindOf(again.records[0]), broker::RecordKind::kCheckpointBegan);
  EXPECT_EQ(again.records[1], "between");
  EXPECT_EQ(again.records[3], "tail");
}

TEST(LogTest, SegmentsInWhichBodiesLieStayUntilACheckpointNamesThemNoMore) {
  auto contents = std::make_shared<Contents>();
  Opened opened = Reopen(contents);
  const std::string body = pubsub::Join(broker::EncodeCheckpointRecord(
      broker::BodiesCopied{.topic = 1, .items = {{0, pubsub::Message::Make("body", {})}}}));
  const Log::Stored stored = Write(*opened.log, {body});
  ASSERT_TRUE(stored[0].has_value());
  EXPECT_EQ(stored[0]->bytes.view(), body);
  for (int i = 0; i < 4; ++i) Write(*opened.log, {std::string(3000, 'x')});
  WriteCheckpoint(*opened.log, {1});
  while (*opened.log->Work()) {
  }
  EXPECT_TRUE(contents->files.contains(Segment::NameOf(1)));
  EXPECT_FALSE(contents->files.contains(Segment::NameOf(2)));
  auto log = OpenLog(Copy(*contents));
  ASSERT_TRUE(log.ok());
  absl::StatusOr<pubsub::Bytes> found, behind, elsewhere;
  ASSERT_TRUE((*log)
                  ->Replay([&](const broker::StoredRecord&, const broker::FindBody& find) {
                    found = find({.segment = 1, .frame = 64, .offset = 2}, 3);
                    behind = find({.segment = 1, .frame = 64, .offset = 2}, static_cast<uint32_t>(body.size()));
                    elsewhere = find({.segment = 2, .frame = 64, .offset = 2}, 1);
                    return absl::OkStatus();
                  })
                  .ok());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->view(), body.substr(2, 3));
  EXPECT_EQ(behind.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(elsewhere.status().message()),
              HasSubstr("segment-0000000000000002, offset 64: the file is missing"));

  WriteCheckpoint(*opened.log, {});
  while (*opened.log->Work()) {
  }
  EXPECT_FALSE(contents->files.contains(Segment::NameOf(1)));
  EXPECT_EQ(stored[0]->bytes.view(), body) << "whoever still reads it keeps it";
}

TEST(LogTest, ATornCheckpointFileLeavesTheOneBefore) {
  auto contents = std::make_shared<Contents>();
  Opened opened = Reopen(contents);
  for (int i = 1; i <= 3; ++i) {
    WriteCheckpoint(*opened.log, {});
    auto torn = Copy(*contents);
    std::string& bytes = *torn->files["checkpoint"];
    bytes[(i % 2 == 1 ? 0 : 4096) + 20] ^= 1;
    const Opened again = Reopen(Copy(*torn));
    ASSERT_TRUE(again.status.ok()) << again.status;
    EXPECT_EQ(again.records.size(), i == 1 ? 3u : 6u);
    bytes[(i % 2 == 1 ? 4096 : 0) + 20] ^= 1;
    if (i > 1) {
      EXPECT_THAT(std::string(Reopen(torn).status.message()), HasSubstr("both of its slots"));
    }
  }
}

TEST(CheckpointPolicyTest, ItIsDueWhenTheDiskHoldsTwiceWhatIsLiveOrTheTailGrowsLong) {
  constexpr uint64_t kSegment = 1000;
  struct Case {
    const char* name;
    Log::State state;
    bool full;
    std::map<uint64_t, uint64_t> live;
    std::optional<std::vector<uint64_t>> want;
  };
  const auto state = [](std::vector<uint64_t> sealed, uint64_t tail = 0, uint64_t room = 900,
                        uint64_t checkpoint = 10) {
    return Log::State{.segment_bytes = kSegment,
                      .sealed = std::move(sealed),
                      .since_checkpoint = tail,
                      .checkpoint_bytes = 10,
                      .checkpoint_parts_bytes = checkpoint,
                      .room = room,
                      .files = 0};
  };
  using Numbers = std::vector<uint64_t>;
  for (const Case& c : {
           Case{"nothing sealed", state({}), false, {}, std::nullopt},
           Case{"all dead", state({1}), false, {}, Numbers{}},
           Case{"half live", state({1, 2}), false, {{1, 500}, {2, 500}}, std::nullopt},
           Case{"just less", state({1, 2}), false, {{1, 489}, {2, 500}}, Numbers{1}},
           Case{"the sparse ones are emptied",
                state({1, 2, 3, 4}),
                false,
                {{1, 249}, {2, 900}, {4, 100}},
                Numbers{1, 4}},
           Case{"a quarter is not sparse", state({1, 2}), false, {{1, 250}, {2, 750}}, std::nullopt},
           Case{"the tail at its limit", state({1}, 4000), false, {{1, 900}}, std::nullopt},
           Case{"the tail above it", state({1}, 4001), false, {{1, 900}}, Numbers{}},
           Case{"full, nothing to win", state({1, 2}), true, {{1, 900}, {2, 900}}, std::nullopt},
           Case{"full, one to win", state({1, 2}), true, {{1, 900}, {2, 200}}, Numbers{2}},
           Case{"what the newest checkpoint fills", state({1, 2, 3}, 0, 900, 1500), false, {}, std::nullopt},
           Case{"more than that", state({1, 2, 3, 4}, 0, 900, 1500), false, {}, Numbers{}},
           Case{"full of checkpoints", state({1, 2, 3}, 0, 900, 1500), true, {}, std::nullopt},
           Case{"full, and more to win", state({1, 2, 3, 4}, 0, 900, 1500), true, {}, Numbers{}},
           Case{"full, no room to copy", state({1, 2}, 0, 399), true, {{1, 900}, {2, 200}}, std::nullopt},
       }) {
    SCOPED_TRACE(c.name);
    broker::LiveBytes live;
    for (const auto& [segment, bytes] : c.live) live.Add(segment, bytes);
    const auto plan = PlanCheckpoint(c.state, c.full, live);
    ASSERT_EQ(plan.has_value(), c.want.has_value());
    if (plan) {
      EXPECT_EQ(plan->copy_forward, *c.want);
    }
  }
}

}  // namespace
}  // namespace hopgap::store
