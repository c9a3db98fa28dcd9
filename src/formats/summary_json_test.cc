#include "formats/summary_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/run_builder_testing.h"

namespace hopgap::formats {
namespace {

using nlohmann::json;
using report::Summarize;
using report::testing::DefaultRun;
using report::testing::milliseconds;

json Parsed(const report::Run& run) { return json::parse(SummaryJson(Summarize(run))); }

const json& ArmNamed(const json& document, const std::string& name) {
  for (const json& arm : document.at("arms")) {
    if (arm.at("name") == name) return arm;
  }
  throw std::runtime_error("no arm " + name);
}

std::vector<std::string> Keys(const json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

// The fields that the schema promises, by name and nesting.
TEST(SummaryJsonTest, HasTheFieldsOfItsSchema) {
  const json document = Parsed(DefaultRun());
  EXPECT_EQ(document.at("schema"), "hopgap.run/1");
  EXPECT_EQ(document.at("arms").size(), 5u);
  for (const json& arm : document.at("arms")) {
    for (const char* key : {"name", "planned", "sent", "completed", "lost", "duplicates", "reprocessed"}) {
      EXPECT_TRUE(arm.contains(key)) << key;
    }
    EXPECT_EQ(Keys(arm.at("verdict")), (std::vector<std::string>{"reasons", "valid"}));
    for (const char* until : {"until_handled_less_work_ms", "until_acked_less_work_ms"}) {
      for (const char* p : {"p50", "p90", "p95", "p99"}) {
        for (const char* key : {"value", "low", "high"}) EXPECT_TRUE(arm.at(until).at(p).contains(key));
      }
      EXPECT_TRUE(arm.at(until).at("max").is_number());
      EXPECT_EQ(arm.at(until).at("n"), 31);
    }
    EXPECT_THAT(Keys(arm.at("stages_ms")),
                ::testing::UnorderedElementsAre("send_lateness", "client_publish", "publish_rpc", "delivery_gap",
                                                "dispatch_gap", "work", "ack"));
    for (const auto& [name, stage] : arm.at("stages_ms").items()) {
      for (const char* key : {"mean", "p50", "p95", "added_mean", "waited_mean", "machine_mean"}) {
        EXPECT_TRUE(stage.at(key).is_number()) << name << "." << key;
      }
    }
    const json& stages = arm.at("stages_ms");
    EXPECT_THAT(Keys(stages.at("delivery_gap").at("parts")), ::testing::ElementsAre("redelivery"));
    EXPECT_THAT(Keys(stages.at("dispatch_gap").at("parts")),
                ::testing::UnorderedElementsAre("lease_wait", "lease_batching", "flow_control", "scheduler", "other"));
    EXPECT_THAT(Keys(stages.at("work").at("parts")), ::testing::UnorderedElementsAre("handler", "ack_wait", "store"));
    for (const char* key : {"accept", "commit", "queue", "stream_wait", "wire"}) {
      EXPECT_TRUE(arm.at("server_view_ms").at(key).is_number()) << key;
    }
  }
  EXPECT_EQ(document.at("verdict").at("valid"), true);
  EXPECT_EQ(document.at("verdict").at("limits").at("late_from_ms"), 5.0);
  for (const json& difference : document.at("difference")) {
    for (const char* key : {"arm", "baseline", "stage", "mean", "p50", "low", "high"}) {
      EXPECT_TRUE(difference.contains(key)) << key;
    }
  }
  EXPECT_EQ(document.at("difference").size(), 3u * 9u);  // three arms against std: 7 stages, 2 wholes
}

TEST(SummaryJsonTest, NumbersAreTheSummarysToTheNanosecond) {
  const report::Summary summary = Summarize(DefaultRun());
  const json document = json::parse(SummaryJson(summary));
  const report::ArmSummary& arm = *summary.Find("replay.eos");
  const json& told = ArmNamed(document, "replay.eos");
  const auto ns = [](const json& ms) { return std::llround(ms.get<double>() * 1e6); };
  EXPECT_EQ(ns(told.at("until_handled_less_work_ms").at("p50").at("value")), arm.until_handled.p50->value);
  EXPECT_EQ(ns(told.at("until_handled_less_work_ms").at("p50").at("low")), *arm.until_handled.p50->low);
  EXPECT_EQ(ns(told.at("until_acked_less_work_ms").at("max")), *arm.until_acked.max);
  EXPECT_EQ(told.at("remainder_ms_mean"), 0.0);
  double sum = 0;
  for (const auto& [name, stage] : told.at("stages_ms").items()) {
    if (name != "ack") sum += stage.at("mean").get<double>();
  }
  EXPECT_NEAR(sum, told.at("until_handled_ms_mean").get<double>(), 6e-6);  // six rounded means
}

TEST(SummaryJsonTest, NullIsNoLimitOrInfinity) {
  report::Run run = DefaultRun();
  run.arms[3].paths.resize(20);
  run.arms[3].completed = 20;
  run.arms[3].saturated_at = 0.65;
  const json document = Parsed(run);
  const json& whole = ArmNamed(document, "replay.std").at("until_handled_less_work_ms");
  EXPECT_TRUE(whole.at("p95").at("value").is_number());
  EXPECT_TRUE(whole.at("p95").at("high").is_null());  // n = 31 has no upper limit
  EXPECT_EQ(whole.at("p95").at("high_is_infinite"), false);
  EXPECT_EQ(whole.at("p99").at("supported"), false);
  EXPECT_EQ(whole.at("p99").at("n_needed"), 299);
  EXPECT_EQ(whole.at("unfinished"), 0);
  const json& saturated = ArmNamed(document, "replay.eos");
  EXPECT_EQ(saturated.at("saturated_at_per_second"), 0.65);
  const json& cut = saturated.at("until_handled_less_work_ms");
  EXPECT_EQ(cut.at("n"), 31);
  EXPECT_EQ(cut.at("unfinished"), 11);
  EXPECT_TRUE(cut.at("p90").at("value").is_null());
  EXPECT_TRUE(cut.at("max").is_null());
  EXPECT_TRUE(cut.at("p50").at("high").is_null());
  EXPECT_EQ(cut.at("p50").at("high_is_infinite"), true);
  EXPECT_EQ(saturated.at("stages_n"), 20);
}

TEST(SummaryJsonTest, NothingCompletedIsNullNotZero) {
  report::Run run = DefaultRun();
  for (report::ArmRun& arm : run.arms) {
    arm.paths.clear();
    arm.completed = 0;
  }
  const json document = Parsed(run);
  const json& arm = ArmNamed(document, "std");
  EXPECT_TRUE(arm.at("stages_ms").at("work").at("mean").is_null());
  EXPECT_TRUE(arm.at("stages_ms").at("work").at("p50").is_null());
  EXPECT_EQ(arm.at("until_handled_less_work_ms").at("unfinished"), 31);
  EXPECT_EQ(Parsed(DefaultRun(0)).at("arms").at(0).at("until_handled_less_work_ms").at("p50"), nullptr);
}

TEST(SummaryJsonTest, TheVerdictNamesItsReasons) {
  report::Run run = DefaultRun();
  run.arms[1].verdict = {.valid = false, .reasons = {"2 messages lost"}};
  const json document = Parsed(run);
  EXPECT_EQ(document.at("verdict").at("valid"), false);
  EXPECT_EQ(document.at("verdict").at("reasons"), json::array({"eos: 2 messages lost"}));
  EXPECT_EQ(ArmNamed(document, "eos").at("verdict").at("reasons"), json::array({"2 messages lost"}));
  EXPECT_EQ(ArmNamed(document, "std").at("verdict").at("valid"), true);
}

TEST(SummaryJsonTest, SameSummarySameBytes) {
  EXPECT_EQ(SummaryJson(Summarize(DefaultRun())), SummaryJson(Summarize(DefaultRun())));
}

TEST(SummaryJsonTest, BrokenTextDoesNotBreakTheDocument) {
  report::Run run = DefaultRun(1);
  run.ended_early = true;
  run.ended_early_why = "\xff\"quoted\"\n";
  EXPECT_TRUE(Parsed(run).at("ended_early_why").is_string());
}

}  // namespace
}  // namespace hopgap::formats
