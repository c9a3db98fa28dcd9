#include "formats/admin_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "broker/broker.h"

namespace hopgap::formats {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

template <typename T>
T AdminRequestOf(std::string_view path, std::string_view body) {
  const absl::StatusOr<AdminCall> call = ParseAdminCall("POST", path, body);
  EXPECT_TRUE(call.ok()) << call.status();
  if (!call.ok()) return {};
  return std::get<T>(std::get<broker::AdminRequest>(*call));
}

TEST(AdminJsonTest, EveryCallIsRead) {
  const std::string sub = "/admin/v1/projects/p/subscriptions/s";
  EXPECT_EQ(AdminRequestOf<broker::ExpireLeases>(sub + ":expireLeases", R"({"message_id": "7"})").message_id, "7");
  const auto all = AdminRequestOf<broker::ExpireLeases>(sub + ":expireLeases", R"({"all": true})");
  EXPECT_EQ(all.message_id, "");
  EXPECT_EQ(all.subscription, "projects/p/subscriptions/s");
  const auto fail =
      AdminRequestOf<broker::FailNext>(sub + ":failNext", R"({"call": "modack", "failure": "permanent", "times": 3})");
  EXPECT_FALSE(fail.ack);
  EXPECT_TRUE(fail.permanent);
  EXPECT_EQ(fail.times, 3u);
  EXPECT_EQ(AdminRequestOf<broker::FailNext>(sub + ":failNext", R"({"call": "ack", "failure": "transient"})").times,
            1u);
  EXPECT_EQ(AdminRequestOf<broker::PauseStreams>(sub + ":pauseStreams", R"({"seconds": 0.5})").length, 500ms);
  EXPECT_EQ(AdminRequestOf<broker::RecycleStreams>(sub + ":recycleStreams", "").subscription,
            "projects/p/subscriptions/s");
  const auto responses =
      AdminRequestOf<broker::SetResponses>("/admin/v1/responses", R"({"messages_max": 10, "policy": "gated"})");
  EXPECT_EQ(responses.messages_max, 10u);
  EXPECT_EQ(responses.policy, broker::ResponsePolicy::kGated);
  EXPECT_EQ(std::get<ResetProject>(*ParseAdminCall("POST", "/admin/v1/projects/p:reset", "{}")).project, "p");
  EXPECT_EQ(std::get<ListLeases>(*ParseAdminCall("GET", sub + "/leases", "")).subscription,
            "projects/p/subscriptions/s");
  EXPECT_TRUE(std::holds_alternative<ListFailures>(*ParseAdminCall("GET", "/admin/v1/failures", "")));
  EXPECT_TRUE(std::holds_alternative<ReadClock>(*ParseAdminCall("GET", "/admin/v1/clock", "")));
  EXPECT_EQ(std::get<AdvanceClock>(*ParseAdminCall("POST", "/admin/v1/clock:advance", R"({"seconds": 61})")).length,
            61s);
}

// The words are the trace's, by number; the numbers are the broker's.
TEST(AdminJsonTest, AFailureSaysWhyInTheWordsOfSpans) {
  using Why = broker::LeaseFailure::Why;
  for (const auto& [why, word] : {std::pair{Why::kMalformed, "malformed"},
                                  {Why::kOtherSubscription, "other_subscription"},
                                  {Why::kExpired, "expired"},
                                  {Why::kNacked, "nacked"},
                                  {Why::kRevoked, "revoked"},
                                  {Why::kHoldEnded, "hold_ended"},
                                  {Why::kSuperseded, "superseded"},
                                  {Why::kFinished, "finished"},
                                  {Why::kUnordered, "unordered"},
                                  {Why::kPlanned, "planned"}}) {
    broker::LeaseFailure failure;
    failure.why = why;
    EXPECT_THAT(FailuresJson({{WallTime{}, failure}}), HasSubstr(StrCat("\"why\": \"", word, "\"")));
  }
}

TEST(AdminJsonTest, WhatIsNoCallIsToldWhatThereIs) {
  struct Case {
    std::string_view method, path, body, says;
    absl::StatusCode code = absl::StatusCode::kInvalidArgument;
  };
  constexpr auto kNotFound = absl::StatusCode::kNotFound, kUnimplemented = absl::StatusCode::kUnimplemented;
  for (const Case& c : {
           Case{"GET", "/admin/v1/nothing", "", "docs/admin.md", kNotFound},
           Case{"POST", "/admin/v1/projects/p:delete", "", ":reset", kNotFound},
           Case{"GET", "/admin/v1/projects/p:reset", "", "POST it", kUnimplemented},
           Case{"POST", "/admin/v1/projects/p/topics/t:x", "", "only subscriptions", kNotFound},
           Case{"POST", "/admin/v1/projects/p/subscriptions/s:explode", "", "failNext", kNotFound},
           Case{"POST", "/admin/v1/projects/p/subscriptions/s/leases", "", "GET it", kUnimplemented},
           Case{"POST", "/admin/v1/projects/p/subscriptions/s:expireLeases", "", "message_id: give it"},
           Case{"POST", "/admin/v1/projects/p/subscriptions/s:expireLeases", R"({"all":false})", "may only be true"},
           Case{"POST", "/admin/v1/projects/p/subscriptions/s:expireLeases", R"({"message_id":7})", "must be a text"},
           Case{"POST", "/admin/v1/projects/p/subscriptions/s:failNext", R"({"call":"pull"})", "\"ack\" or \"modack\""},
           Case{"POST", "/admin/v1/projects/p/subscriptions/s:failNext", R"({"call":"ack"})", "failure: must be"},
           Case{"POST", "/admin/v1/projects/p/subscriptions/s:failNext",
                R"({"call":"ack","failure":"transient","times":-1})", "times: -1 is no whole number in [0, 1000000]"},
           Case{"POST", "/admin/v1/projects/p/subscriptions/s:failNext",
                R"({"call":"ack","failure":"transient","times":18446744073709551615})", "no whole number"},
           Case{"POST", "/admin/v1/projects/p/subscriptions/s:failNext",
                R"({"call":"ack","failure":"transient","often":1})", "often: unknown field: there are call"},
           Case{"POST", "/admin/v1/projects/p/subscriptions/s:pauseStreams", R"({"seconds":3601})", "[0, 3600]"},
           Case{"POST", "/admin/v1/projects/p/subscriptions/s:pauseStreams", "", "seconds: is missing"},
           Case{"POST", "/admin/v1/projects/p/subscriptions/s:recycleStreams", R"({"a":1})", "takes none"},
           Case{"POST", "/admin/v1/clock:advance", R"({"seconds":-1})", "seconds: -1 is no number"},
           Case{"POST", "/admin/v1/clock:advance", R"({"seconds":1e300})", "is no number in"},
           Case{"POST", "/admin/v1/clock:advance", "[", "must be a JSON object: no JSON: byte 2 of 1"},
           Case{"POST", "/admin/v1/clock:advance", "[1]", "must be a JSON object"},
           Case{"POST", "/admin/v1/clock:advance", R"({"seconds":1,"seconds":2})",
                "the field 'seconds' is there twice"},
           Case{"POST", "/admin/v1/responses", "{}", "messages_max: give it"},
           Case{"POST", "/admin/v1/responses", R"({"messages_max":0})", "[1, 1000]"},
           Case{"POST", "/admin/v1/responses", R"({"policy":"lazy"})", "\"eager\" or \"gated\""},
           Case{"DELETE", "/admin/v1/clock", "", "GET it", kUnimplemented},
       }) {
    SCOPED_TRACE(StrCat(c.method, " ", c.path, " ", c.body));
    const absl::StatusOr<AdminCall> call = ParseAdminCall(c.method, c.path, c.body);
    ASSERT_FALSE(call.ok());
    EXPECT_EQ(call.status().code(), c.code);
    EXPECT_THAT(std::string(MessageOf(call.status())), HasSubstr(c.says));
  }
}

}  // namespace
}  // namespace hopgap::formats
