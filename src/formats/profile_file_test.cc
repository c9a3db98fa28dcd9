#include "formats/profile_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "base/draw.h"
#include "formats/lognormal.h"
#include "formats/temporary_folder_testing.h"

namespace hopgap::formats {
namespace {

using broker::Leg;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

uint64_t Fraction(double p) { return static_cast<uint64_t>(std::llround(p * static_cast<double>(kFractionOne))); }
double MsAt(const broker::QuantileTable& table, double p) { return ToMillis(table.At(Fraction(p))); }

std::string WithLegs(std::string_view legs) { return R"({"name":"x","legs":)" + std::string(legs) + "}"; }

std::string Error(std::string_view json) {
  const absl::StatusOr<ProfileFile> file = ParseProfile(json, "my.json");
  EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument) << json;
  return std::string(file.status().message());
}

TEST(ProfileFileTest, ReadsTablesByLegAndKind) {
  const auto file = ParseProfile(R"({"name":"mine","description":"d","legs":{
      "publish_before_commit":{"both":{"quantiles":[[0,1],[0.5,3],[1,4]]}},
      "modack":{"standard":{"quantiles":[[0,7]]},"exactly_once":{"quantiles":[[0,0],[1,20]]}},
      "ack":{"both":{"quantiles":[[0,2.5]]}}},
      "sources":["a","b"],"guessed":["c"],"held_out":["e"]})",
                                 "my.json");
  ASSERT_TRUE(file.ok()) << file.status();
  const broker::Profile& profile = file->profile;
  EXPECT_EQ(profile.name, "mine");
  EXPECT_DOUBLE_EQ(MsAt(profile.Table(false, Leg::kPublishBefore), 0.25), 2);
  EXPECT_DOUBLE_EQ(MsAt(profile.Table(false, Leg::kModack), 0.9), 7);
  EXPECT_DOUBLE_EQ(MsAt(profile.Table(true, Leg::kModack), 0.5), 10);
  EXPECT_DOUBLE_EQ(MsAt(profile.Table(true, Leg::kAck), 0), 2.5);
  EXPECT_TRUE(profile.Table(true, Leg::kDeliver).zero());
  EXPECT_EQ(file->Provenance(), "source: a\nsource: b\nguessed: c\nheld out: e\n");
}

TEST(ProfileFileTest, ErrorsNameFileLegAndPoint) {
  const auto quantiles = [](std::string_view points) {
    return WithLegs(R"({"ack":{"both":{"quantiles":)" + std::string(points) + "}}}");
  };
  EXPECT_THAT(Error(quantiles("[[0,1],[0.5,3],[0.4,4]]")),
              AllOf(HasSubstr("my.json"), HasSubstr("ack"), HasSubstr("point 3")));
  EXPECT_THAT(Error(quantiles("[[0,5],[0.5,3]]")), AllOf(HasSubstr("point 2"), HasSubstr("falls")));
  EXPECT_THAT(Error(quantiles("[[0.1,5]]")), AllOf(HasSubstr("point 1"), HasSubstr("p = 0")));
  EXPECT_THAT(Error(quantiles("[[0,5],[1.01,6]]")), AllOf(HasSubstr("point 2"), HasSubstr("[0, 1]")));
  EXPECT_THAT(Error(quantiles("[[0,-1]]")), HasSubstr("point 1"));
  EXPECT_THAT(Error(quantiles("[[0,3600001]]")), HasSubstr("point 1"));
  EXPECT_THAT(Error(quantiles("[[0,\"1\"]]")), HasSubstr("point 1"));
  EXPECT_THAT(Error(quantiles("[]")), HasSubstr("quantiles"));
}

TEST(ProfileFileTest, WhatItDoesNotKnowIsRefusedByName) {
  EXPECT_THAT(Error("{"), HasSubstr("no JSON"));
  EXPECT_THAT(Error(R"({"name":"x","legs":{"ack":{},"ack":{}}})"), HasSubstr("'ack' is there twice"));
  EXPECT_THAT(Error("[]"), HasSubstr("not an object"));
  EXPECT_THAT(Error(R"({"legs":{}})"), HasSubstr("name"));
  EXPECT_THAT(Error(R"({"name":"x"})"), HasSubstr("legs"));
  EXPECT_THAT(Error(R"({"name":"x","legs":{},"speed":1})"), HasSubstr("'speed'"));
  EXPECT_THAT(Error(R"({"name":"x","legs":{},"sources":[1]})"), HasSubstr("sources"));
  EXPECT_THAT(Error(WithLegs(R"({"dispatch":{}})")), HasSubstr("'dispatch'"));
  EXPECT_THAT(Error(WithLegs(R"({"ack":{"eos":{}}})")), HasSubstr("'eos'"));
  EXPECT_THAT(Error(WithLegs(R"({"ack":{"both":{"normal":{}}}})")), HasSubstr("'normal'"));
  EXPECT_THAT(Error(WithLegs(R"({"ack":{"both":{}}})")), HasSubstr("either"));
  EXPECT_THAT(Error(WithLegs(R"({"ack":{"both":{"quantiles":[[0,1]]},"standard":{"quantiles":[[0,1]]}}})")),
              HasSubstr("'both' stands alone"));
  EXPECT_THAT(Error(WithLegs(R"({"publish_after_commit":{"standard":{"quantiles":[[0,1]]}}})")),
              AllOf(HasSubstr("publish_after_commit"), HasSubstr("'both'")));
}

TEST(ProfileFileTest, ATableMayHaveAColdOne) {
  const auto cold = [](std::string_view after, std::string_view table) {
    return std::string(R"({"name":"x",)") + std::string(after) +
           R"("legs":{"deliver":{"both":{"quantiles":[[0,1]],"cold":)" + std::string(table) +
           R"(}},"ack":{"exactly_once":{"quantiles":[[0,2]]}}}})";
  };
  const auto file = ParseProfile(cold(R"("cold_after_ms":1500.5,)", R"({"quantiles":[[0,70]]})"), "f");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->profile.cold_after, Duration{1'500'500'000});
  EXPECT_TRUE(file->profile.HasCold());
  for (const bool exactly_once : {false, true}) {
    EXPECT_DOUBLE_EQ(MsAt(file->profile.Table(exactly_once, Leg::kDeliver), 0.5), 1);
    EXPECT_DOUBLE_EQ(MsAt(file->profile.Table(exactly_once, Leg::kDeliver, true), 0.5), 70);
    EXPECT_EQ(&file->profile.Table(exactly_once, Leg::kAck, true), &file->profile.Table(exactly_once, Leg::kAck));
  }
  constexpr std::string_view kTable = R"({"quantiles":[[0,70]]})";
  EXPECT_THAT(Error(cold("", kTable)), HasSubstr("cold_after_ms: missing"));
  EXPECT_THAT(Error(R"({"name":"x","cold_after_ms":5,"legs":{}})"), HasSubstr("there is no 'cold' table"));
  for (const char* bad : {"0", "-1", "\"5\"", "86400001"}) {
    EXPECT_THAT(Error(cold(std::string("\"cold_after_ms\":") + bad + ",", kTable)),
                AllOf(HasSubstr("cold_after_ms"), HasSubstr("86400000")));
  }
  EXPECT_THAT(Error(cold(R"("cold_after_ms":5,)", R"({"quantiles":[[0,7]],"cold":{"quantiles":[[0,7]]}})")),
              AllOf(HasSubstr("cold"), HasSubstr("unknown name 'cold'")));
  EXPECT_THAT(Error(R"({"name":"x","legs":{},"cold":{}})"), HasSubstr("unknown name 'cold'"));
}

TEST(ProfileFileTest, LognormalLimits) {
  const auto lognormal = [](std::string_view fields) {
    return WithLegs(R"({"deliver":{"standard":{"lognormal":)" + std::string(fields) + "}}}");
  };
  EXPECT_TRUE(ParseProfile(lognormal(R"({"p50_ms":10,"sigma":0})"), "f").ok());
  EXPECT_THAT(Error(lognormal(R"({"p50_ms":0,"sigma":1})")),
              AllOf(HasSubstr("deliver"), HasSubstr("standard"), HasSubstr("p50_ms")));
  EXPECT_THAT(Error(lognormal(R"({"p50_ms":1})")), HasSubstr("sigma"));
  EXPECT_THAT(Error(lognormal(R"({"p50_ms":1,"sigma":-1})")), HasSubstr("sigma"));
  EXPECT_THAT(Error(lognormal(R"({"p50_ms":1,"sigma":1,"cut":1})")), HasSubstr("cut"));
  EXPECT_THAT(Error(lognormal(R"({"p50_ms":1,"sigma":1,"cut":0.5})")), HasSubstr("cut"));
  EXPECT_THAT(Error(lognormal(R"({"p50_ms":1,"sigma":1,"mean":1})")), HasSubstr("'mean'"));
  EXPECT_THAT(Error(lognormal(R"({"p50_ms":3000000,"sigma":1})")),
              AllOf(HasSubstr("at its cut"), HasSubstr("3600000")));
}

TEST(LognormalTest, TheTableIsTheDistributionUpToItsCut) {
  const auto table = broker::QuantileTable::Make(LognormalPoints(303, 0.8, 0.999, kLognormalPoints));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_DOUBLE_EQ(MsAt(*table, 0.5), 303);
  struct Case {
    double p, z;
  };
  for (const Case& c : {Case{0.05, -1.6448536}, Case{0.25, -0.6744898}, Case{0.75, 0.6744898}, Case{0.9, 1.2815516},
                        Case{0.95, 1.6448536}, Case{0.99, 2.3263479}, Case{0.999, 3.0902323}}) {
    const double want = 303 * std::exp(0.8 * c.z);
    EXPECT_NEAR(MsAt(*table, c.p), want, want * 5e-5) << c.p;  // chords of a convex curve
  }
  EXPECT_EQ(table->At(kFractionOne - 1), table->At(Fraction(0.9990001)));
  // The mean of a lognormal that is held at its cut.
  const double s = 0.8, cut = 3.0902323, median = 303;
  const auto below = [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); };
  const double mean = median * std::exp(s * s / 2) * below(cut - s) + 0.001 * median * std::exp(s * cut);
  EXPECT_NEAR(ToMillis(table->Mean()), mean, mean * 1e-4);
  EXPECT_GE(LognormalPoints(303, 0.8, 0.999, kLognormalPoints).size(), 400u);
}

TEST(BuiltinProfileTest, CloudReplayIsWhatTheDesignSays) {
  const auto file = BuiltinProfile("cloud-replay");
  ASSERT_TRUE(file.ok()) << file.status();
  const broker::Profile& profile = file->profile;
  EXPECT_EQ(profile.name, "cloud-replay");
  struct Case {
    bool exactly_once;
    Leg leg;
    double p50, sigma;
  };
  for (const Case& c :
       {Case{false, Leg::kPublishBefore, 13, 0.30}, Case{true, Leg::kPublishBefore, 13, 0.30},
        Case{false, Leg::kPublishAfter, 12.5, 0.40}, Case{false, Leg::kDeliver, 9.5, 0.40},
        Case{true, Leg::kDeliver, 133, 0.30}, Case{false, Leg::kModack, 10, 0.50}, Case{true, Leg::kModack, 303, 0.80},
        Case{false, Leg::kAck, 10, 0.50}, Case{true, Leg::kAck, 10, 0.50}}) {
    const broker::QuantileTable& table = profile.Table(c.exactly_once, c.leg);
    EXPECT_DOUBLE_EQ(MsAt(table, 0.5), c.p50) << broker::LegName(c.leg);
    EXPECT_NEAR(MsAt(table, 0.95), c.p50 * std::exp(c.sigma * 1.6448536), c.p50 * 1e-3) << broker::LegName(c.leg);
  }
  EXPECT_THAT(file->sources, SizeIs(2));
  EXPECT_THAT(file->held_out, SizeIs(2));
  EXPECT_THAT(file->Provenance(), AllOf(HasSubstr("fitted: "), HasSubstr("guessed: "), HasSubstr("held out: ")));
}

TEST(BuiltinProfileTest, AnUnknownNameListsTheKnown) {
  EXPECT_THAT(BuiltinProfileNames(), ElementsAre("cloud-replay"));
  const absl::Status status = BuiltinProfile("gcp").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("'gcp'"), HasSubstr("cloud-replay")));
}

TEST(ProfileFileTest, ReadsFilesAndNamesTheMissing) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/p.json";
  std::ofstream(path) << WithLegs("{}");
  EXPECT_TRUE(ReadProfileFile(path).ok());
  EXPECT_EQ(ReadProfileFile(folder.path() + "/none.json").status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(ReadProfileFile(folder.path()).ok());
  std::ofstream(path) << std::string(kProfileBytesMax + 1, ' ');
  EXPECT_THAT(std::string(ReadProfileFile(path).status().message()), HasSubstr("longer than"));
}

}  // namespace
}  // namespace hopgap::formats
