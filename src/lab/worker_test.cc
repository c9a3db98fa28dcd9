// A worker that keeps a store of handled messages: what it drops, and when it tells.
#include "lab/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "pubsub/api.h"

namespace hopgap::lab {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Instant kWorkerBegin{};

class Notes final : public WorkerBook {
 public:
  bool OnEntered(uint64_t delivery, const client::Subscriber::Delivery&) override {
    entered.push_back(delivery);
    return true;
  }
  void OnWorkDone(uint64_t delivery) override { worked.push_back(delivery); }
  void OnPublished(bool) override {}
  void OnRepeatDropped(uint64_t delivery) override { dropped.push_back(delivery); }
  void OnReturned(uint64_t delivery, bool ack) override { (ack ? acked : nacked).push_back(delivery); }
  void OnAckDone(uint64_t, bool) override {}
  void OnFailed(const std::string& error) override { ADD_FAILURE() << error; }

  std::vector<uint64_t> entered, worked, dropped, acked, nacked;
};

class Events final : public trace::EventSink {
 public:
  void Record(const trace::Event& event) override { events.push_back(event); }
  uint16_t AddPlace(const trace::Place&) override { return 0; }
  std::vector<Duration> At(trace::What what) const {
    std::vector<Duration> at;
    for (const trace::Event& event : events) {
      if (event.what == what) at.push_back(event.at - kWorkerBegin);
    }
    return at;
  }
  std::vector<trace::Event> events;
};

// One worker at the end of a chain; what it asks of the driver is done at once.
class DedupeTest : public ::testing::Test {
 protected:
  DedupeTest() : worker_(MakeOptions(), events_, next_rpc_, notes_) {
    Commands out;
    worker_.Start(now_, out);
    Perform(out);
  }
  static Worker::Options MakeOptions() {
    Worker::Options options;
    options.subscriber.subscription = "projects/p/subscriptions/s";
    options.subscriber.client_id = "c";
    options.work = 200ms;
    options.dedupe = HandledIds::Options{.access = 3ms};
    return options;
  }
  void Receive(Instant at, const std::string& draw, const std::string& ack_id) {
    RunUntil(at);
    pubsub::StreamingPullResponse response;
    pubsub::ReceivedMessage message;
    message.ack_id = ack_id;
    message.message = pubsub::Message::Make(
        "x", {{std::string(pubsub::kDrawAttribute), draw},
              {std::string(pubsub::kTraceparentAttribute), pubsub::FormatTraceparent({1, 2, 3})}});
    response.received_messages.push_back(std::move(message));
    Commands out;
    worker_.OnResponse(now_, 0, 0, now_, now_, std::move(response), out);
    Perform(out);
  }
  void RunUntil(Instant until) {
    while (worker_.next_deadline() <= until) {
      now_ = std::max(now_, worker_.next_deadline());
      Commands out;
      worker_.OnDeadline(now_, out);
      Perform(out);
    }
    now_ = until;
  }
  void Perform(Commands& commands) {
    for (Command& command : std::exchange(commands, {})) {
      Commands more;
      const client::Action& action = command.action;
      if (action.kind == client::Action::Kind::kStartCallback) {
        worker_.OnHandlerEntered(now_, command.endpoint, action.delivery, more);
      } else if (action.kind == client::Action::Kind::kCall) {
        worker_.OnCallDone(now_, command.endpoint, action.call, absl::OkStatus(), {}, {}, more);
      }
      Perform(more);
    }
  }

  Instant now_ = kWorkerBegin;
  Events events_;
  uint64_t next_rpc_ = 1;
  Notes notes_;
  Worker worker_;
};

TEST_F(DedupeTest, ItAsksBeforeItsWorkAndTellsBeforeItsAck) {
  Receive(kWorkerBegin + 1s, "1.7", "a");
  RunUntil(kWorkerBegin + 1s + 202ms);
  EXPECT_THAT(notes_.worked, IsEmpty());
  RunUntil(kWorkerBegin + 1s + 203ms);  // 3 ms to ask, 200 ms of work
  EXPECT_THAT(notes_.worked, SizeIs(1));
  EXPECT_THAT(notes_.acked, IsEmpty());
  RunUntil(kWorkerBegin + 1s + 206ms);  // 3 ms to tell
  EXPECT_THAT(notes_.acked, SizeIs(1));
  EXPECT_THAT(events_.At(trace::What::kStoreStart), ElementsAre(1s, 1s + 203ms));
  EXPECT_THAT(events_.At(trace::What::kStoreEnd), ElementsAre(1s + 3ms, 1s + 206ms));
}

TEST_F(DedupeTest, ACopyOfWhatItHandledIsAckedAndNotHandledAgain) {
  Receive(kWorkerBegin + 1s, "1.7", "a");
  Receive(kWorkerBegin + 2s, "1.7", "b");
  Receive(kWorkerBegin + 2s, "1.8", "c");  // another
  RunUntil(kWorkerBegin + 3s);
  EXPECT_THAT(notes_.entered, SizeIs(3));
  EXPECT_THAT(notes_.worked, SizeIs(2));
  EXPECT_EQ(notes_.dropped, std::vector<uint64_t>{notes_.entered[1]});
  EXPECT_THAT(notes_.acked, SizeIs(3));
}

TEST_F(DedupeTest, ACopyThatComesBeforeItWasToldIsHandledAgain) {
  Receive(kWorkerBegin + 1s, "1.7", "a");
  Receive(kWorkerBegin + 1s + 100ms, "1.7", "b");
  RunUntil(kWorkerBegin + 3s);
  EXPECT_THAT(notes_.worked, SizeIs(2));
  EXPECT_THAT(notes_.dropped, IsEmpty());
}

TEST_F(DedupeTest, ItsStoreForgetsAfterItsWindow) {
  Receive(kWorkerBegin + 1s, "1.7", "a");
  Receive(kWorkerBegin + 20min, "1.7", "b");
  RunUntil(kWorkerBegin + 21min);
  EXPECT_THAT(notes_.worked, SizeIs(2));
}

}  // namespace
}  // namespace hopgap::lab
