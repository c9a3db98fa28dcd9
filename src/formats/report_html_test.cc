#include "formats/report_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "formats/page_template.h"
#include "formats/summary_json.h"
#include "report/run_builder_testing.h"

namespace hopgap::formats {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

HtmlRun HtmlOf(const report::Run& run, const std::string& name) {
  report::Summary summary = report::Summarize(run);
  report::Page page = report::MakePage(run, summary);
  return {.name = name, .summary = std::move(summary), .page = std::move(page), .machine = std::nullopt};
}

std::string DataIn(const std::string& html) {
  const std::string begin = "<script type=\"application/json\" id=\"hopgap-data\">";
  const size_t at = html.find(begin) + begin.size();
  return html.substr(at, html.find("</script>", at) - at);
}

TEST(ReportHtmlTest, HoldsTheSummaryAndThePage) {
  const report::Run run = report::testing::DefaultRun();
  const std::string html = ReportHtml({HtmlOf(run, "one")}, std::nullopt);
  const json data = json::parse(DataIn(html));
  EXPECT_EQ(data.at("schema"), "hopgap.report/1");
  EXPECT_EQ(data.at("runs")[0].at("summary"), json::parse(SummaryJson(report::Summarize(run))));
  EXPECT_EQ(data.at("runs")[0].at("page").at("messages").size(), 155u);
  EXPECT_TRUE(data.at("comparison").is_null());
  EXPECT_THAT(html, HasSubstr("<title>one · hopgap report</title>"));
  EXPECT_THAT(html, HasSubstr("End to end until handled"));  // for those without scripts
  EXPECT_THAT(html, Not(HasSubstr("@@")));
  EXPECT_EQ(html, ReportHtml({HtmlOf(run, "one")}, std::nullopt));
}

// What others wrote (names in traces, say) is data and nothing else.
TEST(ReportHtmlTest, NoNameBecomesMarkup) {
  report::Run run = report::testing::DefaultRun(7);
  run.arms[0].name = run.arms[0].kind = "</script><script>alert(1)</script>@@hopgap-data@@<!--";
  for (trace::Path& path : run.arms[0].paths) path.arm = run.arms[0].name;
  const std::string html = ReportHtml({HtmlOf(run, "<b>@@hopgap-text@@")}, std::nullopt);
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
  const json data = json::parse(DataIn(html));
  EXPECT_EQ(data.at("runs")[0].at("summary").at("arms")[0].at("name"), run.arms[0].name);
}

TEST(ReportHtmlTest, NothingIsLoadedFromAnywhere) {
  const std::string_view page = PageTemplate();
  EXPECT_GT(page.size(), 50'000u);
  for (const char* way : {"src=\"http", "href=\"http", "@import", "url(http", "fetch(", "XMLHttpRequest", "<link"}) {
    EXPECT_EQ(page.find(way), std::string_view::npos) << way;
  }
  EXPECT_NE(page.find("default-src 'none'"), std::string_view::npos);
}

// Five arms of 2,000 messages each: 1.5 MB is the limit, whatever the run's size.
TEST(ReportHtmlTest, LargeRunsStaySmall) {
  const std::string html = ReportHtml({HtmlOf(report::testing::DefaultRun(2'000), "large")}, std::nullopt);
  EXPECT_LT(html.size(), 1'500'000u);
}

TEST(ReportHtmlTest, ComparisonIsOneDocumentInBothPlaces) {
  const report::Run first = report::testing::DefaultRun(), second = report::testing::DefaultRun(40);
  const report::RunComparison comparison = report::CompareRuns(first, "a", second, "b");
  const std::string html = ReportHtml({HtmlOf(first, "a"), HtmlOf(second, "b")}, comparison);
  const json data = json::parse(DataIn(html));
  EXPECT_EQ(data.at("comparison"), json::parse(ComparisonJson(comparison)));
  EXPECT_EQ(data.at("runs").size(), 2u);
  EXPECT_EQ(data.at("comparison").at("arms").size(), 5u);
  EXPECT_EQ(data.at("comparison").at("differing")[0], "messages an arm: 31, 40");
}

TEST(ReportHtmlTest, AMapStandsAloneOrBesideARun) {
  HtmlSweep sweep{.name = "map",
                  .plan = {.version = "v", .profile = "cloud-replay", .profile_means_ms = {}},
                  .cells = {},
                  .here = {},
                  .command_line = {"hopgap", "sweep"}};
  for (const char* arm : {"std", "eos"}) {
    report::SweepCell cell;
    cell.rate_per_second = 5;
    cell.streams = 4;
    cell.arm = arm;
    cell.client = "go";
    cell.policy = "eager";
    cell.p50 = stats::Estimate{
        .value = cell.arm == "std" ? 30'000'000 : 90'000'000, .low = 29'000'000, .high = 99'000'000, .supported = true};
    sweep.cells.push_back(cell);
  }
  const std::string alone = ReportHtml({}, std::nullopt, sweep);
  EXPECT_THAT(alone, HasSubstr("<title>map · hopgap report</title>"));
  EXPECT_THAT(alone, HasSubstr("MAP       what an arm adds a hop"));  // for those without scripts
  const json data = json::parse(DataIn(alone));
  EXPECT_TRUE(data.at("runs").empty());
  const json& cells = data.at("sweep").at("map").at("cells");
  EXPECT_TRUE(cells[0].at("extra_per_hop_ms").is_null());
  EXPECT_EQ(cells[1].at("extra_per_hop_ms"), 20);  // 60 ms over 3 hops
  EXPECT_TRUE(data.at("sweep").at("map").at("here").is_null());

  sweep.here = report::SweepHere{"run", 1, 4, {"std", "eos"}, "go", "eager"};
  const json beside =
      json::parse(DataIn(ReportHtml({HtmlOf(report::testing::DefaultRun(), "run")}, std::nullopt, sweep)));
  EXPECT_EQ(beside.at("runs").size(), 1u);
  EXPECT_EQ(beside.at("sweep").at("map").at("here").at("rate_per_second"), 1);
}

TEST(ReportHtmlTest, ThresholdsAreInTheSummary) {
  report::Run run = report::testing::DefaultRun();
  run.configuration.thresholds = {"std.until_handled.p50<1s", "ratio(eos,std).until_handled.p50<1.0"};
  const json document = json::parse(SummaryJson(report::Summarize(run)));
  ASSERT_EQ(document.at("thresholds").size(), 2u);
  EXPECT_EQ(document.at("thresholds")[0].at("outcome"), "pass");
  EXPECT_EQ(document.at("thresholds")[0].at("unit"), "ms");
  EXPECT_EQ(document.at("thresholds")[1].at("outcome"), "fail");
  EXPECT_TRUE(document.at("thresholds")[1].at("unit").is_null());
}

}  // namespace
}  // namespace hopgap::formats
