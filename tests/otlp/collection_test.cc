#include "cli/collection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "formats/temporary_folder_testing.h"

namespace hopgap::cli {
namespace {

std::vector<trace::Span> SpansOf(uint64_t trace, const std::string& service) {
  std::vector<trace::Span> spans(2);
  for (size_t i = 0; i < spans.size(); ++i) {
    spans[i].trace_lo = trace;
    spans[i].span = i + 1;
    spans[i].service = service;
  }
  return spans;
}

TEST(CollectionTest, CountsExactlyUpToItsLimitsAndSaysSoBeyond) {
  const formats::TemporaryFolder parent;
  absl::StatusOr<formats::RunFolder> folder = formats::RunFolder::Create(parent.path() + "/c");
  ASSERT_TRUE(folder.ok());
  Collection collection(*std::move(folder), {.traces_max = 2, .services_max = 2});
  for (const uint64_t trace : {1, 2, 1, 2}) {
    std::vector<trace::Span> spans = SpansOf(trace, trace == 1 ? "a" : "b");
    EXPECT_TRUE(collection.Take(spans).ok());
  }
  EXPECT_EQ(collection.figures().traces, 2u);
  EXPECT_FALSE(collection.figures().more_traces);
  EXPECT_FALSE(collection.figures().more_services);
  std::vector<trace::Span> spans = SpansOf(3, "c");
  EXPECT_TRUE(collection.Take(spans).ok());
  const Collection::Figures figures = collection.figures();
  EXPECT_EQ(figures.spans, 10u);
  EXPECT_EQ(figures.traces, 2u);
  EXPECT_TRUE(figures.more_traces);
  EXPECT_TRUE(figures.more_services);
  EXPECT_EQ(figures.spans_by_service.at("a"), 4u);
}

TEST(CollectionTest, AFolderThatCannotBeWrittenStaysSo) {
  const formats::TemporaryFolder parent;
  absl::StatusOr<formats::RunFolder> folder = formats::RunFolder::Create(parent.path() + "/c");
  ASSERT_TRUE(folder.ok());
  Collection collection(*std::move(folder), {});
  for (const auto& entry : std::filesystem::directory_iterator(parent.path())) {
    std::filesystem::remove_all(entry.path());
  }
  std::vector<trace::Span> spans = SpansOf(1, "a");
  EXPECT_FALSE(collection.Take(spans).ok());
  EXPECT_EQ(collection.figures().spans, 0u);
  EXPECT_FALSE(collection.figures().status.ok());
}

}  // namespace
}  // namespace hopgap::cli
