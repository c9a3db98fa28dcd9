#include "trace/sorted_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "trace/scratch_testing.h"

namespace hopgap::trace {
namespace {

using Record = std::pair<SortedRuns::Key, std::string>;

// Few keys, so that many are equal; lengths from none to more than a buffer.
std::vector<Record> Some(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Record> records;
  for (size_t i = 0; i < n; ++i) {
    SortedRuns::Key key{random() % 3, random() % 3, random() % 3, random() % 2};
    const size_t length = random() % 100 == 0 ? random() % 20'000 : random() % 50;
    records.emplace_back(key, std::string(length, static_cast<char>('a' + i % 26)));
  }
  return records;
}

std::vector<Record> Read(const SortedRuns& runs) {
  std::vector<Record> out;
  SortedRuns::Cursor cursor(runs);
  while (cursor.Next()) out.emplace_back(cursor.key(), cursor.bytes());
  EXPECT_TRUE(cursor.status().ok()) << cursor.status();
  return out;
}

absl::Status StatusOfReading(const SortedRuns& runs) {
  SortedRuns::Cursor cursor(runs);
  while (cursor.Next()) {
  }
  EXPECT_FALSE(cursor.Next());  // once failed it stays so
  return cursor.status();
}

void Fill(const std::vector<Record>& records, SortedRuns& runs) {
  for (const auto& [key, bytes] : records) ASSERT_TRUE(runs.Add(key, bytes).ok());
  ASSERT_TRUE(runs.Finish().ok());
}

constexpr size_t kChunk = size_t{1} << 20;  // what it takes at a time

TEST(SortedRunsTest, GivesRecordsInOrderWhateverFitsIntoMemory) {
  constexpr uint64_t kRunSeed = 20240611;
  SCOPED_TRACE(kRunSeed);
  std::vector<Record> records = Some(5'000, kRunSeed);
  std::vector<Record> sorted = records;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Record& a, const Record& b) { return a.first < b.first; });
  for (const size_t limit : {size_t{1}, kChunk + 1'000, kChunk + 60'000, 100 * kChunk}) {
    ScratchFake scratch;
    SortedRuns runs(&scratch, limit);
    Fill(records, runs);
    EXPECT_EQ(runs.size(), records.size());
    EXPECT_EQ(runs.runs() > 0, limit < 100 * kChunk) << limit;
    EXPECT_EQ(Read(runs), sorted) << limit;
    EXPECT_EQ(Read(runs), sorted) << "once more " << limit;
  }
}

TEST(SortedRunsTest, WithoutAScratchEverythingStaysInMemory) {
  SortedRuns runs(nullptr, 1);
  const std::vector<Record> records = Some(100, 1);
  Fill(records, runs);
  EXPECT_EQ(runs.runs(), 0u);
  EXPECT_EQ(Read(runs).size(), records.size());
}

TEST(SortedRunsTest, NothingIsNothing) {
  ScratchFake scratch;
  SortedRuns runs(&scratch, 1);
  Fill({}, runs);
  EXPECT_TRUE(Read(runs).empty());
  EXPECT_TRUE(scratch.files.empty());
}

TEST(SortedRunsTest, AFullScratchIsSaid) {
  ScratchFake scratch(100);
  SortedRuns runs(&scratch, 1);
  absl::Status status = runs.Add({}, std::string(40, 'a'));
  EXPECT_TRUE(status.ok()) << status;
  status = runs.Add({}, std::string(40, 'b'));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
}

TEST(SortedRunsTest, AScratchThatLostBytesIsSaidAndNotRead) {
  for (const size_t left : {size_t{0}, size_t{10}, size_t{45}, size_t{60}}) {
    ScratchFake scratch;
    SortedRuns runs(&scratch, 1);
    Fill({{{1, 2, 3, 4}, "some bytes"}, {{1, 2, 3, 5}, "more"}}, runs);
    scratch.files[0]->resize(left);
    EXPECT_EQ(StatusOfReading(runs).code(), absl::StatusCode::kDataLoss) << left;
  }
}

TEST(SortedRunsTest, ALengthThatCannotBeIsDamage) {
  for (const char byte : {'\x01', '\x7f'}) {
    for (const size_t at : {size_t{1}, size_t{7}}) {
      ScratchFake scratch;
      SortedRuns runs(&scratch, 1);
      Fill({{{1, 2, 3, 4}, "some bytes"}}, runs);
      (*scratch.files[0])[at] = byte;
      EXPECT_EQ(StatusOfReading(runs).code(), absl::StatusCode::kDataLoss) << at;
    }
  }
}

}  // namespace
}  // namespace hopgap::trace
