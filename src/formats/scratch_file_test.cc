#include "formats/scratch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/text.h"
#include "formats/temporary_folder_testing.h"

namespace hopgap::formats {
namespace {

using testing::HasSubstr;

TEST(FileScratchTest, WhatWasAppendedIsReadAnywhereAndNoFileIsSeen) {
  const TemporaryFolder folder;
  FileScratch scratch(folder.path());
  const auto file = scratch.Create(), other = scratch.Create();
  ASSERT_TRUE(file.ok() && other.ok());
  ASSERT_TRUE((*file)->Append("0123456789").ok());
  ASSERT_TRUE((*other)->Append("of another").ok());
  ASSERT_TRUE((*file)->Append("abc").ok());
  std::string read(5, ' ');
  ASSERT_TRUE((*file)->ReadAt(8, read.data(), read.size()).ok());
  EXPECT_EQ(read, "89abc");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(FileScratchTest, MoreThanThereIsIsDataLoss) {
  const TemporaryFolder folder;
  const auto file = FileScratch(folder.path()).Create();
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Append("abc").ok());
  std::string read(4, ' ');
  const absl::Status status = (*file)->ReadAt(0, read.data(), read.size());
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(MessageOf(status)), HasSubstr(folder.path()));
}

TEST(FileScratchTest, AFolderThatTakesNoFilesIsNamed) {
  const TemporaryFolder folder;
  const auto file = FileScratch(folder.path() + "/none").Create();
  EXPECT_EQ(file.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(MessageOf(file.status())), HasSubstr("/none: no file can be made here"));
  EXPECT_THAT(std::string(MessageOf(file.status())), HasSubstr("--scratch"));
}

TEST(FileScratchTest, WithoutAFolderItIsTheSystems) { EXPECT_TRUE(FileScratch("").Create().ok()); }

}  // namespace
}  // namespace hopgap::formats
