#include "live/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hopgap::live {
namespace {

using ::testing::HasSubstr;
using Verdict = Finding::Verdict;

TEST(RegionOfEndpointTest, IsTheNameBeforeTheService) {
  EXPECT_EQ(RegionOfEndpoint("europe-west1-pubsub.googleapis.com:443"), "europe-west1");
  EXPECT_EQ(RegionOfEndpoint("pubsub.googleapis.com:443"), std::nullopt);
  EXPECT_EQ(RegionOfEndpoint("-pubsub.googleapis.com:443"), std::nullopt);
  EXPECT_EQ(RegionOfEndpoint("europe-west1-pubsub.googleapis.com:443.example.com"), std::nullopt);
}

TEST(CompareRegionsTest, IsGoodOnlyWhereBothAreKnownAndTheSame) {
  struct Case {
    const char *endpoint, *machine;
    Verdict verdict;
    const char* text;
  };
  for (const Case& c : {Case{"", "us-east1", Verdict::kWarn, "give --endpoint us-east1-pubsub.googleapis.com"},
                        Case{"us-east1-pubsub.googleapis.com", "us-east1", Verdict::kOk, ""},
                        Case{"us-east1-pubsub.googleapis.com", "us-west1", Verdict::kWarn, "us-west1-pubsub"},
                        Case{"us-east1-pubsub.googleapis.com", "", Verdict::kWarn, "part of every figure"},
                        Case{"127.0.0.1:1", "us-east1", Verdict::kWarn, ""}}) {
    SCOPED_TRACE(c.endpoint);
    const Finding finding = CompareRegions(*remote::ParseTarget("gcp:p", {.endpoint = c.endpoint}), c.machine);
    EXPECT_EQ(finding.verdict, c.verdict);
    EXPECT_THAT(finding.advice, HasSubstr(c.text));
  }
}

}  // namespace
}  // namespace hopgap::live
