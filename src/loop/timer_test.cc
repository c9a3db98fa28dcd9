#include "loop/timer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "base/system_clock.h"

namespace hopgap::loop {
namespace {

using ::testing::ElementsAre;
using namespace std::chrono_literals;

// What a callback leaves for the test, and a way to wait for it.
class Latch {
 public:
  void Open() { promise_.set_value(); }
  void Wait() { promise_.get_future().wait(); }

 private:
  std::promise<void> promise_;
};

TEST(TimerTest, CallsBackInTheOrderOfTheInstantsThenOfSetting) {
  Timer timer;
  Latch all;
  std::vector<int> order;
  const Instant start = SteadyNow() + 20ms;
  timer.Set(start + 3ms, [&] { all.Open(); });
  timer.Set(start + 2ms, [&] { order.push_back(3); });
  timer.Set(start + 1ms, [&] { order.push_back(1); });
  timer.Set(start + 1ms, [&] { order.push_back(2); });
  all.Wait();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST(TimerTest, NeverCallsEarly) {
  Timer timer;
  for (const Duration ahead : {Duration{-5ms}, Duration{0}, Duration{100us}, Duration{5ms}}) {
    Latch called;
    Instant seen;
    const Instant at = SteadyNow() + ahead;
    timer.Set(at, [&] {
      seen = SteadyNow();
      called.Open();
    });
    called.Wait();
    EXPECT_GE(seen, at);
  }
}

TEST(TimerTest, AnEarlierInstantOvertakesTheOneThatIsWaitedFor) {
  Timer timer;
  Latch early;
  timer.Set(SteadyNow() + 1h, [] { FAIL() << "an hour has not passed"; });
  timer.Set(SteadyNow() + 1ms, [&] { early.Open(); });
  early.Wait();
}

TEST(TimerTest, ACancelledCallbackNeverRunsAndIsDestroyedAtOnce) {
  Timer timer;
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = held;
  const Timer::Token token = timer.Set(SteadyNow() + 1h, [held = std::move(held)] {});
  EXPECT_TRUE(timer.Cancel(token));
  EXPECT_TRUE(watch.expired());
  EXPECT_FALSE(timer.Cancel(token));
  EXPECT_FALSE(timer.Cancel(123'456));
}

TEST(TimerTest, CancelWaitsForTheCallbackThatIsRunning) {
  Timer timer;
  std::atomic<bool> inside{false}, leave{false};
  bool finished = false;  // plain on purpose: Cancel() has to order it
  const Timer::Token token = timer.Set(SteadyNow(), [&] {
    inside = true;
    while (!leave) std::this_thread::yield();
    finished = true;
  });
  while (!inside) std::this_thread::yield();
  std::thread releaser([&] { leave = true; });
  EXPECT_FALSE(timer.Cancel(token));
  EXPECT_TRUE(finished);
  releaser.join();
}

TEST(TimerTest, ACallbackMayCancelItselfAndSetAnother) {
  Timer timer;
  Latch done;
  std::atomic<Timer::Token> own{0};
  own = timer.Set(SteadyNow() + 5ms, [&] {
    EXPECT_FALSE(timer.Cancel(own));
    timer.Set(SteadyNow(), [&] { done.Open(); });
  });
  done.Wait();
}

TEST(TimerTest, StopDropsWhatIsNotDue) {
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = held;
  {
    Timer timer;
    timer.Set(SteadyNow() + 1h, [held = std::move(held)] { FAIL(); });
    timer.Stop();
    timer.Stop();
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(TimerTest, RecordsItsWorstLatenessAndItsLongestCallback) {
  Timer timer;
  constexpr Duration kBusy = 3ms;
  Latch done;
  const Instant at = SteadyNow() + 5ms;
  timer.Set(at, [&] {
    const Instant until = SteadyNow() + kBusy;
    while (SteadyNow() < until) {
    }
  });
  timer.Set(at, [] {});  // due with the first, so at least kBusy late
  const Timer::Token last = timer.Set(at + 1ns, [&] { done.Open(); });
  done.Wait();
  timer.Cancel(last);  // its figures are in when it has returned
  EXPECT_EQ(timer.figures().fired, 3u);
  EXPECT_GE(timer.figures().worst_lateness, kBusy);
  EXPECT_GE(timer.figures().longest_callback, kBusy);
}

TEST(TimerTest, AnInstantInThePastIsNotCountedAsLateness) {
  Timer timer;
  Latch done;
  const Timer::Token token = timer.Set(SteadyNow() - 24h, [&] { done.Open(); });
  done.Wait();
  timer.Cancel(token);
  EXPECT_LT(timer.figures().worst_lateness, 1h);
}

TEST(TimerTest, ManyThreadsMaySetAndCancel) {
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  Timer timer;
  std::atomic<int> ran{0}, cancelled{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        const Timer::Token token = timer.Set(SteadyNow() + Duration{(i % 7) * 50'000}, [&] { ++ran; });
        if (i % 2 == 0 && timer.Cancel(token)) ++cancelled;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Latch last;
  timer.Set(SteadyNow() + 1ms, [&] { last.Open(); });
  last.Wait();
  EXPECT_EQ(ran + cancelled, kThreads * kEach);
}

}  // namespace
}  // namespace hopgap::loop
