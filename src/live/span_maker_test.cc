#include "live/span_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "base/system_clock.h"

namespace hopgap::live {
namespace {

using namespace std::chrono_literals;
using ::testing::SizeIs;
using trace::What;

// Hands over what it is given, once.
class Source {
 public:
  void Put(trace::Event event) {
    std::lock_guard lock(mu_);
    events_.push_back(event);
  }
  SpanMaker::Drain drain() {
    return [this](std::vector<trace::Event>& out) {
      std::lock_guard lock(mu_);
      out.insert(out.end(), events_.begin(), events_.end());
      events_.clear();
    };
  }

 private:
  std::mutex mu_;
  std::vector<trace::Event> events_;
};

class SpanMakerTest : public ::testing::Test {
 protected:
  trace::Event Of(uint64_t trace, What what, Instant at) const {
    trace::Event event;
    event.at = at;
    event.message = {trace, trace, 7};
    event.what = what;
    event.place = place_;
    event.rpc = 5;
    return event;
  }
  void Publish(uint64_t trace, Instant at, bool ends) {
    source_.Put(Of(trace, What::kPublishCall, at));
    source_.Put(Of(trace, What::kPublisherAdmitted, at));
    source_.Put(Of(trace, What::kPublishStart, at + 1ms));
    if (ends) source_.Put(Of(trace, What::kPublishEnd, at + 2ms));
  }
  SpanMaker::Sink sink() {
    return [this](std::vector<trace::Span> spans) {
      given_ += spans.size();
      if (!first_set_.exchange(true)) first_.set_value(spans.front());
    };
  }

  loop::PlaceTable places_;
  const uint16_t place_ = places_.Add({trace::Place::Side::kClient, "std", 1, "p", "t"});
  Source source_;
  std::atomic<size_t> given_{0};
  std::atomic<bool> first_set_{false};
  std::promise<trace::Span> first_;
};

TEST_F(SpanMakerTest, AFinishedMessageLeavesWithoutBeingAsked) {
  SpanMaker maker(ReadAnchor(), places_, source_.drain(), sink());
  Publish(1, SteadyNow() - 1s, true);
  std::future<trace::Span> first = first_.get_future();
  ASSERT_EQ(first.wait_for(30s), std::future_status::ready);
  EXPECT_EQ(first.get().name, "t create");
}

// As `hopgap serve` makes them: without a client's events, and the ack long after the publish.
TEST_F(SpanMakerTest, TheBrokersHalfOfAMessageLeavesAfterItsAckAndWhole) {
  SpanMaker maker(ReadAnchor(), places_, source_.drain(), sink());
  const Instant begun = SteadyNow() - 10s;
  const uint16_t broker = places_.Add({trace::Place::Side::kBroker, "", 0, "p", "s"});
  const auto put = [&](uint64_t trace, What what, Duration after) {
    trace::Event event = Of(trace, what, begun + after);
    event.place = broker;
    event.delivery = 9;
    source_.Put(event);
  };
  for (uint64_t trace : {1, 2}) {
    put(trace, What::kAccepted, 0ms);
    put(trace, What::kCommitted, 1ms);
    put(trace, What::kPublishReplied, 2ms);
    put(trace, What::kWritten, 3ms);
    put(trace, What::kLeaseRead, 3ms);
  }
  put(2, What::kLeaseApplied, 4ms);
  put(2, What::kLeaseReplied, 5ms);
  put(1, What::kAckRead, 4ms);
  put(1, What::kAckCommitted, 5ms);
  put(1, What::kAckReplied, 6ms);
  put(1, What::kLeaseApplied, 7ms);  // a receipt modack may take longer than the handler
  put(1, What::kLeaseReplied, 8ms);
  std::future<trace::Span> first = first_.get_future();
  ASSERT_EQ(first.wait_for(30s), std::future_status::ready);
  EXPECT_EQ(first.get().name, "s broker publish");
  // publish, deliver, lease, ack of the first; the second has no ack, so it waits.
  EXPECT_EQ(given_, 4U);
  maker.Stop();
  EXPECT_EQ(given_, 7U);
}

TEST_F(SpanMakerTest, AnUnfinishedMessageWaitsAndIsGivenOutAtTheEndAsFarAsItGot) {
  SpanMaker maker(ReadAnchor(), places_, source_.drain(), sink());
  const Instant now = SteadyNow();
  Publish(1, now - 1s, false);
  Publish(2, now - 1s, true);
  std::future<trace::Span> first = first_.get_future();
  ASSERT_EQ(first.wait_for(30s), std::future_status::ready);
  EXPECT_EQ(first.get().trace_hi, 2u) << "1 has not ended";
  const size_t before = given_;
  source_.Put(Of(1, What::kPublishEnd, now));
  maker.Stop();
  EXPECT_EQ(given_, 2 * before) << "its last event came just before the end";
  maker.Stop();
}

TEST_F(SpanMakerTest, EventsOfNoMessageMakeNoSpans) {
  SpanMaker maker(ReadAnchor(), places_, source_.drain(), sink());
  trace::Event event = Of(0, What::kExtensionStart, SteadyNow());
  event.message = {};
  source_.Put(event);
  maker.Stop();
  EXPECT_EQ(given_, 0u);
}

}  // namespace
}  // namespace hopgap::live
