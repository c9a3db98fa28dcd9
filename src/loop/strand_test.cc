#include "loop/strand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/system_clock.h"

namespace hopgap::loop {
namespace {

using ::testing::ElementsAre;

TEST(StrandTest, AnIdleStrandIsRunByTheThreadThatPosts) {
  Strand strand;
  std::thread::id ran_on;
  strand.Post([&] { ran_on = std::this_thread::get_id(); });
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(StrandTest, ATaskThatIsPostedByATaskRunsAfterIt) {
  Strand strand;
  std::vector<std::string> log;
  strand.Post([&] {
    log.push_back("a begins");
    strand.Post([&] { log.push_back("b"); });
    log.push_back("a ends");
  });
  EXPECT_THAT(log, ElementsAre("a begins", "a ends", "b"));
}

// The plain counter and the flag are what ThreadSanitizer watches.
TEST(StrandTest, TasksOfManyThreadsNeverOverlapAndAreAllRunInOrder) {
  constexpr int kThreads = 4;
  constexpr int kTasks = 5'000;
  Strand strand;
  bool inside = false;
  int overlaps = 0;
  std::vector<int> last(kThreads, -1);
  int out_of_order = 0;
  int ran = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTasks; ++i) {
        strand.Post([&, t, i] {
          if (inside) ++overlaps;
          inside = true;
          const size_t slot = static_cast<size_t>(t);
          if (last[slot] != i - 1) ++out_of_order;
          last[slot] = i;
          ++ran;
          inside = false;
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  strand.WaitIdle();
  EXPECT_EQ(ran, kThreads * kTasks);
  EXPECT_EQ(overlaps, 0);
  EXPECT_EQ(out_of_order, 0);
  EXPECT_EQ(strand.figures().tasks, static_cast<uint64_t>(kThreads * kTasks));
}

TEST(StrandTest, TryPostRefusesAtTheLimitAndPostDoesNot) {
  Strand strand(2);
  std::vector<int> ran;
  std::vector<bool> taken;
  strand.Post([&] {
    for (int i = 0; i < 3; ++i) taken.push_back(strand.TryPost([&ran, i] { ran.push_back(i); }));
    strand.Post([&ran] { ran.push_back(99); });
  });
  EXPECT_THAT(taken, ElementsAre(true, true, false));
  EXPECT_THAT(ran, ElementsAre(0, 1, 99));
  EXPECT_EQ(strand.figures().refused, 1u);
  EXPECT_EQ(strand.figures().queued_most, 3u);
}

TEST(StrandTest, RunReturnsAfterItsTaskHasRunOnWhateverThread) {
  Strand strand;
  std::atomic<bool> inside{false}, leave{false};
  std::thread other([&] {
    strand.Post([&] {
      inside = true;
      while (!leave) std::this_thread::yield();
    });
  });
  while (!inside) std::this_thread::yield();
  std::thread releaser([&] { leave = true; });
  int value = 0;
  strand.Run([&] { value = 7; });
  EXPECT_EQ(value, 7);
  other.join();
  releaser.join();
  strand.WaitIdle();
}

TEST(StrandTest, ATaskIsDestroyedBeforeTheNextOneRuns) {
  Strand strand;
  auto held = std::make_shared<int>(1);
  std::weak_ptr<int> watch = held;
  bool gone = false;
  strand.Post(
      [&strand, &gone, watch, held = std::move(held)] { strand.Post([&gone, watch] { gone = watch.expired(); }); });
  EXPECT_TRUE(gone);
}

TEST(StrandTest, FiguresHoldTheLongestTaskAndTheLongestWait) {
  Strand strand;
  constexpr Duration kBusy = std::chrono::milliseconds{2};
  strand.Post([&] {
    strand.Post([] {});  // waits for the rest of this task
    const Instant until = SteadyNow() + kBusy;
    while (SteadyNow() < until) {
    }
  });
  EXPECT_GE(strand.figures().longest_task, kBusy);
  EXPECT_GE(strand.figures().longest_wait, kBusy);
}

TEST(StrandDeathTest, ATaskMayNotWaitForItsOwnStrand) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Strand strand;
        strand.Post([&] { strand.Run([] {}); });
      },
      "may not wait for another task");
}

}  // namespace
}  // namespace hopgap::loop
