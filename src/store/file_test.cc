#include "store/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "store/memory_directory.h"

namespace hopgap::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kZeroed = Directory::Fill::kZeroed;

class DirectoryTest : public ::testing::TestWithParam<bool> {
 protected:
  DirectoryTest() {
    path_ = std::filesystem::temp_directory_path() / ("hopgap_file_test_" + std::to_string(::getpid()));
    std::filesystem::remove_all(path_);
  }
  ~DirectoryTest() override { std::filesystem::remove_all(path_); }

  std::unique_ptr<Directory> Open() {
    if (!GetParam()) return std::make_unique<MemoryDirectory>(contents_);
    auto opened = OpenDirectory(path_.string());
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }

  std::filesystem::path path_;
  std::shared_ptr<MemoryDirectory::Contents> contents_ = std::make_shared<MemoryDirectory::Contents>();
};
INSTANTIATE_TEST_SUITE_P(Kinds, DirectoryTest, ::testing::Bool(),
                         [](const auto& kind) { return kind.param ? "Disk" : "Memory"; });

TEST_P(DirectoryTest, AFileIsZeroUntilItIsWrittenAndItsMapShowsLaterWrites) {
  auto directory = Open();
  auto file = directory->Create("a", 3'000'000, kZeroed);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto map = (*file)->Map();
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(map->view(), std::string(3'000'000, '\0'));
  ASSERT_TRUE((*file)->Write(2'999'995, "hello").ok());
  ASSERT_TRUE((*file)->Sync().ok());
  EXPECT_EQ(map->view().substr(2'999'994), std::string_view("\0hello", 6));
  directory.reset();
  EXPECT_EQ(map->view().back(), 'o') << "a mapping outlives its directory";
  auto again = Open()->Open("a");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ((*again)->size(), 3'000'000u);
}

TEST_P(DirectoryTest, NamesAreMadeOnceRenamedOverOthersAndRemoved) {
  auto directory = Open();
  ASSERT_TRUE(directory->Create("b", 8, kZeroed).ok());
  EXPECT_EQ(directory->Create("b", 8, kZeroed).status().code(), absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(directory->Create("a", 16, Directory::Fill::kReserved).ok());
  EXPECT_THAT(*directory->List(), ElementsAre("a", "b"));
  ASSERT_TRUE(directory->Rename("a", "b").ok());
  ASSERT_TRUE(directory->Sync().ok());
  EXPECT_THAT(*directory->List(), ElementsAre("b"));
  EXPECT_EQ((*directory->Open("b"))->size(), 16u);
  ASSERT_TRUE(directory->Remove("b").ok());
  EXPECT_EQ(directory->Open("b").status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(directory->Remove("b").ok());
  EXPECT_FALSE(directory->Rename("b", "c").ok());
}

TEST_P(DirectoryTest, OneHoldsTheLockUntilItIsGone) {
  auto first = Open();
  ASSERT_TRUE(first->Lock().ok());
  auto second = Open();
  const absl::Status refused = second->Lock();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("another hopgap uses this directory"));
  first.reset();
  EXPECT_TRUE(second->Lock().ok());
}

TEST_P(DirectoryTest, ReplaceFilePutsTheWholeNewTextAlsoOverWhatACrashLeft) {
  auto directory = Open();
  ASSERT_TRUE(directory->Create("head.new", 3, kZeroed).ok());
  ASSERT_TRUE(ReplaceFile(*directory, "head", "one").ok());
  ASSERT_TRUE(ReplaceFile(*directory, "head", "longer").ok());
  EXPECT_EQ((*(*directory->Open("head"))->Map()).view(), "longer");
  EXPECT_THAT(*directory->List(), ElementsAre("head"));
}

TEST(MemoryDirectoryTest, ABudgetIsADiskThatGetsFull) {
  auto contents = std::make_shared<MemoryDirectory::Contents>();
  contents->bytes_max = 100;
  MemoryDirectory directory(contents);
  ASSERT_TRUE(directory.Create("a", 60, kZeroed).ok());
  EXPECT_EQ(*directory.FreeBytes(), 40u);
  EXPECT_EQ(directory.Create("b", 41, kZeroed).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(*directory.List(), ElementsAre("a")) << "nothing is left of it";
  EXPECT_TRUE(directory.Create("b", 40, kZeroed).ok());
}

TEST(PosixDirectoryTest, ADirectoryThatCannotBeMadeIsNamed) {
  const auto opened = OpenDirectory("/proc/hopgap/none");
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("/proc/hopgap/none: No such file or directory"));
}

}  // namespace
}  // namespace hopgap::store
