#include "formats/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "formats/ledger_csv.h"
#include "formats/temporary_folder_testing.h"

namespace hopgap::formats {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::vector<std::string> NamesIn(const std::string& path) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}
std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(RunFolderTest, HasItsNameOnlyWhenItIsWhole) {
  const TemporaryFolder parent;
  const std::string path = parent.path() + "/runs/one";
  absl::StatusOr<RunFolder> folder = RunFolder::Create(path);
  ASSERT_TRUE(folder.ok()) << folder.status();
  ASSERT_TRUE(folder->Append("run.json", "{}").ok());
  ASSERT_TRUE(folder->Append("ledger", "a\n").ok());
  ASSERT_TRUE(folder->Append("ledger", "b\n").ok());
  EXPECT_FALSE(fs::exists(path));
  ASSERT_EQ(NamesIn(parent.path() + "/runs").size(), 1u);
  EXPECT_THAT(NamesIn(parent.path() + "/runs")[0], testing::StartsWith(".one.partial-"));

  const auto written = folder->Commit();
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_THAT(*written, ElementsAre(Pair("ledger", 4), Pair("run.json", 2)));
  EXPECT_THAT(NamesIn(parent.path() + "/runs"), ElementsAre("one"));
  EXPECT_EQ(TextOf(path + "/ledger"), "a\nb\n");
  EXPECT_NE(fs::status(path).permissions() & fs::perms::group_read, fs::perms::none);
}

TEST(RunFolderTest, WithoutCommitNothingIsLeft) {
  const TemporaryFolder parent;
  {
    absl::StatusOr<RunFolder> folder = RunFolder::Create(parent.path() + "/one/");
    ASSERT_TRUE(folder.ok());
    ASSERT_TRUE(folder->Append("spans.otlp.jsonl", "x").ok());
    const RunFolder moved = *std::move(folder);
  }
  EXPECT_THAT(NamesIn(parent.path()), IsEmpty());
}

TEST(RunFolderTest, WhatWasFlushedIsThereBeforeTheEndAndKeptWhenAsked) {
  const TemporaryFolder parent;
  std::string kept;
  {
    absl::StatusOr<RunFolder> folder = RunFolder::Create(parent.path() + "/one");
    ASSERT_TRUE(folder.ok());
    ASSERT_TRUE(folder->Append("spans", "x\n").ok());
    ASSERT_TRUE(folder->Flush().ok());
    EXPECT_EQ(TextOf(parent.path() + "/" + NamesIn(parent.path())[0] + "/spans"), "x\n");
    kept = folder->Keep();
  }
  EXPECT_EQ(TextOf(kept + "/spans"), "x\n");
}

TEST(RunFolderTest, SaysWhyAPlaceCannotBeWritten) {
  const TemporaryFolder parent;
  std::ofstream(parent.path() + "/file") << "x";
  fs::create_directory(parent.path() + "/there");
  const auto status = [](const std::string& path) { return RunFolder::Create(path).status(); };
  EXPECT_EQ(status(parent.path() + "/there").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status(parent.path() + "/there").message()), HasSubstr("exists already"));
  EXPECT_EQ(status(parent.path() + "/file").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(status(parent.path() + "/file/x").code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status(parent.path() + "/file/x").message()), HasSubstr("/file"));
  EXPECT_FALSE(status("/proc/hopgap/run").ok());
  EXPECT_EQ(status("").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status("/").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status("..").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(NamesIn(parent.path()), ElementsAre("file", "there"));
}

TEST(RunFolderTest, ANameTakenMeanwhileIsNotOverwritten) {
  const TemporaryFolder parent;
  absl::StatusOr<RunFolder> folder = RunFolder::Create(parent.path() + "/one");
  ASSERT_TRUE(folder.ok());
  fs::create_directory(parent.path() + "/one");
  EXPECT_EQ(folder->Commit().status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(NamesIn(parent.path()), ElementsAre("one"));
}

TEST(RunFolderDeathTest, ACommittedFolderIsClosed) {
  const TemporaryFolder parent;
  absl::StatusOr<RunFolder> folder = RunFolder::Create(parent.path() + "/one");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(folder->Commit().ok());
  EXPECT_DEATH(static_cast<void>(folder->Append("x", "y")), "committed");
}

TEST(LedgerCsvTest, ReadsBackWhatItWrote) {
  const TemporaryFolder folder;
  const std::vector<LedgerLine> lines = {
      {.arm = "eos",
       .slot = 3,
       .hop = 1,
       .due = InstantFromNanos(0),
       .publish_call = InstantFromNanos(7),
       .handler_entry = InstantFromNanos(8),
       .handler_return = InstantFromNanos(9)},
      {.arm = "a,\"b\"", .slot = 18446744073709551615u, .hop = 3, .publish_call = InstantFromNanos(-5)}};
  std::string text = LedgerHeader();
  EXPECT_EQ(text, "arm,slot,hop,due_ns,publish_call_ns,handler_entry_ns,handler_return_ns\n");
  for (const LedgerLine& line : lines) AppendLedgerLine(line, text);
  EXPECT_THAT(text, HasSubstr("\neos,3,1,0,7,8,9\n"));
  EXPECT_THAT(text, HasSubstr("\n\"a,\"\"b\"\"\",18446744073709551615,3,,-5,,\n"));
  std::ofstream(folder.path() + "/ledger") << text;
  const auto read = ReadLedger(folder.path() + "/ledger");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, lines);
}

TEST(LedgerCsvTest, ABadLineIsNamed) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/ledger";
  for (const char* bad :
       {"eos,1,1,0,0,0", "eos,1,1,0,0,0,0,0", "eos,x,1,0,0,0,0", "eos,1,1,0,0,0,1.5", "\"eos,1,1,0,0,0,0"}) {
    std::ofstream(path) << LedgerHeader() << "eos,1,1,0,0,0,0\n" << bad << "\n";
    const absl::Status status = ReadLedger(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(std::string(status.message()), HasSubstr("ledger:3: ")) << bad;
  }
  std::ofstream(path) << "slot,arm\n";
  EXPECT_THAT(std::string(ReadLedger(path).status().message()), HasSubstr("ledger:1: "));
  EXPECT_EQ(ReadLedger(folder.path() + "/none").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace hopgap::formats
