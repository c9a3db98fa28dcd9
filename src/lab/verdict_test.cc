#include "lab/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hopgap::lab {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// An arm of two messages that both went through; `worker` is its command.
Outcome Good(const std::string& worker) {
  Outcome outcome;
  ArmSpec& arm = outcome.options.arms.emplace_back();
  arm.name = arm.kind = "std";
  arm.worker = worker;
  outcome.options.hops = 1;
  outcome.options.slots = 2;
  outcome.ledger = Ledger(1, 2, 1);
  for (uint64_t slot = 0; slot < 2; ++slot) {
    const Instant due{std::chrono::seconds{slot + 1}};
    outcome.ledger.At(0, slot, 1) = {
        .due = due, .publish_call = due, .handler_entry = due + 5ms, .handler_return = due + 6ms};
  }
  outcome.arms.resize(1);
  outcome.arms[0].counts.sent = outcome.arms[0].counts.completed = 2;
  outcome.first = Instant{1s};
  outcome.end = Instant{3s};
  return outcome;
}

// Our own spans are of the steady clock; another worker's carry the wall clock's instants.
TEST(VerdictTest, AMovedWallClockMakesTheSpansOfOtherWorkersWorthless) {
  for (const Duration drift : {-6ms, 6ms}) {
    Outcome own = Good(""), other = Good("build/go-worker");
    own.health.clock_drift = other.health.clock_drift = drift;
    EXPECT_THAT(Judge(own, 0).reasons, IsEmpty());
    EXPECT_THAT(Judge(other, 0).reasons, ElementsAre(HasSubstr("wall clock moved by")));
  }
  Outcome still = Good("build/go-worker");
  still.health.clock_drift = 5ms;
  EXPECT_TRUE(Judge(still, 0).valid);
}

}  // namespace
}  // namespace hopgap::lab
