#include "store/memory_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hopgap::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<pubsub::Slices> Group(const std::vector<std::string>& records) {
  std::vector<pubsub::Slices> group;
  for (const std::string& record : records) {
    group.push_back({pubsub::Bytes(record.substr(0, 1)), pubsub::Bytes(record.substr(1))});
  }
  return group;
}

TEST(MemoryJournalTest, AGroupIsDoneWhenItIsGivenWhetherAwaitedOrNot) {
  MemoryJournal journal;
  std::vector<broker::PersistToken> done;
  const auto note = [&](broker::PersistToken token, const auto&) { done.push_back(token); };
  journal.Append(1, Group({"ab"}), true, note);
  EXPECT_THAT(done, ElementsAre(1));
  journal.Append(2, Group({"cd", "ef"}), false, note);
  EXPECT_THAT(done, ElementsAre(1, 2));
  EXPECT_EQ(journal.groups(), 2u);
  EXPECT_THAT(journal.records(), IsEmpty()) << "it forgets";
}

TEST(MemoryJournalTest, OnRequestItKeepsRecordsInOrderEachInOnePiece) {
  MemoryJournal journal(MemoryJournal::Keep::kRecords);
  journal.Append(1, Group({"ab", "cd"}), true, [](broker::PersistToken, const auto&) {});
  journal.Append(2, Group({"ef"}), true, [](broker::PersistToken, const auto&) {});
  std::vector<std::string> kept;
  for (const pubsub::Bytes& record : journal.records()) kept.emplace_back(record.view());
  EXPECT_THAT(kept, ElementsAre("ab", "cd", "ef"));
}

}  // namespace
}  // namespace hopgap::store
