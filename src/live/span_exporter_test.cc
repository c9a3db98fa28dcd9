#include "live/span_exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "formats/otlp_proto.h"

namespace hopgap::live {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using Kind = OtlpOutcome::Kind;

constexpr Duration kPatience = 60s;  // longer than anything here takes

std::vector<trace::Span> Spans(size_t count, uint64_t first = 1) {
  std::vector<trace::Span> spans(count);
  for (size_t i = 0; i < count; ++i) {
    spans[i].trace_lo = first + i;
    spans[i].span = first + i;
    spans[i].service = "own";
  }
  return spans;
}

// Answers as told, then "taken"; keeps what it was sent. Outlives its transport.
class Receiver {
 public:
  std::deque<OtlpOutcome> answers;           // before the exporter starts
  std::promise<void>* held = nullptr;        // told when a Send() waits for Cancel()
  std::vector<std::vector<uint64_t>> taken;  // span ids by request; after Stop()
  std::vector<std::string> services;
  int sends = 0;

  std::unique_ptr<OtlpTransport> Transport() { return std::make_unique<Line>(*this); }

 private:
  class Line final : public OtlpTransport {
   public:
    explicit Line(Receiver& receiver) : receiver_(receiver) {}
    OtlpOutcome Send(const std::string& request, Duration) override { return receiver_.Take(request, cancelled_); }
    void Cancel() override {
      if (!std::exchange(told_, true)) cancel_.set_value();
    }

   private:
    Receiver& receiver_;
    bool told_ = false;
    std::promise<void> cancel_;
    std::shared_future<void> cancelled_ = cancel_.get_future().share();
  };

  OtlpOutcome Take(const std::string& request, const std::shared_future<void>& cancelled) {
    ++sends;
    if (held != nullptr) {
      held->set_value();
      cancelled.wait();
      return {.kind = Kind::kTryAgain, .message = "cancelled"};
    }
    if (!answers.empty()) {
      OtlpOutcome outcome = answers.front();
      answers.pop_front();
      if (outcome.kind != Kind::kTaken) return outcome;
      Keep(request);
      return outcome;
    }
    Keep(request);
    return {};
  }

  void Keep(const std::string& request) {
    std::vector<trace::Span> spans;
    EXPECT_TRUE(formats::DecodeOtlpRequest(request, spans).ok());
    std::vector<uint64_t>& ids = taken.emplace_back();
    for (const trace::Span& span : spans) {
      ids.push_back(span.span);
      services.push_back(span.service);
    }
  }
};

formats::OtelSettings Settings() {
  formats::OtelSettings settings;
  settings.enabled = true;
  settings.batch.schedule_delay = 1h;  // only what is due is sent
  return settings;
}

constexpr Backoff kQuick{.first = 1us, .most = 1us};

TEST(BackoffTest, DoublesUpToItsLimitAndShortensByAHalfAtMost) {
  const Backoff backoff{.first = 1s, .most = 30s};
  EXPECT_EQ(backoff.Next(0, 0), 1s);
  EXPECT_EQ(backoff.Next(3, 0), 8s);
  EXPECT_EQ(backoff.Next(5, 0), 30s);
  EXPECT_EQ(backoff.Next(1'000, 0), 30s);
  for (uint64_t draw = 0; draw < 1'000; ++draw) {
    EXPECT_GE(backoff.Next(0, draw * 0x9e3779b97f4a7c15), 500ms);
    EXPECT_LE(backoff.Next(0, draw * 0x9e3779b97f4a7c15), 1s);
  }
}

TEST(SpanExporterTest, FlushSendsEverythingAtOnce) {
  Receiver receiver;
  SpanExporter exporter(Settings(), receiver.Transport(), nullptr, kQuick);
  exporter.Offer(Spans(3));
  exporter.Offer(Spans(2, 4));
  EXPECT_TRUE(exporter.Flush(kPatience).ok());
  EXPECT_EQ(exporter.figures().sent, 5u);
  EXPECT_EQ(exporter.figures().queued, 0u);
  EXPECT_TRUE(exporter.Flush(kPatience).ok());  // nothing to do
  EXPECT_TRUE(exporter.Stop(kPatience).ok());
  EXPECT_THAT(receiver.services, testing::Each("own"));
  EXPECT_THAT(receiver.taken.front().front(), 1u);
}

TEST(SpanExporterTest, AFullBatchIsSentWithoutBeingAskedAndNoneIsLarger) {
  Receiver receiver;
  formats::OtelSettings settings = Settings();
  settings.batch.batch_spans_max = 4;
  std::promise<void> third;
  receiver.answers = {{}, {}, {.message = "third"}};
  SpanExporter exporter(
      settings, receiver.Transport(), [&](const std::string&) { third.set_value(); }, kQuick);
  exporter.Offer(Spans(9));
  third.get_future().wait();
  EXPECT_TRUE(exporter.Stop(kPatience).ok());
  EXPECT_THAT(receiver.taken, ElementsAre(SizeIs(4), SizeIs(4), SizeIs(1)));
}

TEST(SpanExporterTest, WhatDoesNotFitIsDroppedAndCounted) {
  Receiver receiver;
  std::promise<void> held;
  receiver.held = &held;
  formats::OtelSettings settings = Settings();
  settings.batch.queued_spans_max = 10;
  settings.batch.batch_spans_max = 4;
  SpanExporter exporter(settings, receiver.Transport(), nullptr, kQuick);
  exporter.Offer(Spans(4));
  held.get_future().wait();  // those are on their way, and count
  exporter.Offer(Spans(5));
  exporter.Offer(Spans(3));
  exporter.Offer(Spans(1));
  EXPECT_EQ(exporter.figures().queued, 10u);
  EXPECT_EQ(exporter.figures().overflow, 3u);
  const absl::Status late = exporter.Flush(Duration{0});
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(late.message()), HasSubstr("10 spans"));
  EXPECT_FALSE(exporter.Stop(Duration{0}).ok());  // cancels the call under way
  EXPECT_EQ(exporter.figures().failed, 10u);
  EXPECT_EQ(exporter.figures().queued, 0u);
  EXPECT_EQ(exporter.figures().dropped(), 13u);
}

TEST(SpanExporterTest, TriesAgainWhatMayBeTriedAgain) {
  Receiver receiver;
  receiver.answers = {{.kind = Kind::kTryAgain, .message = "busy"}, {.kind = Kind::kTryAgain, .message = "busy"}};
  std::vector<std::string> said;
  SpanExporter exporter(
      Settings(), receiver.Transport(), [&](const std::string& text) { said.push_back(text); }, kQuick);
  exporter.Offer(Spans(3));
  EXPECT_TRUE(exporter.Stop(kPatience).ok());
  EXPECT_EQ(exporter.figures().retries, 2u);
  EXPECT_EQ(exporter.figures().sent, 3u);
  EXPECT_EQ(exporter.figures().last_error, "busy");
  EXPECT_THAT(receiver.taken, ElementsAre(ElementsAre(1, 2, 3)));
  EXPECT_THAT(said, ElementsAre(HasSubstr("busy")));  // once
}

TEST(SpanExporterTest, AFinalErrorDropsTheBatchAndGoesOn) {
  Receiver receiver;
  receiver.answers = {{.kind = Kind::kRefused, .message = "HTTP 400"}};
  SpanExporter exporter(Settings(), receiver.Transport(), nullptr, kQuick);
  exporter.Offer(Spans(3));
  EXPECT_TRUE(exporter.Flush(kPatience).ok());
  exporter.Offer(Spans(2, 10));
  EXPECT_TRUE(exporter.Stop(kPatience).ok());
  EXPECT_EQ(exporter.figures().failed, 3u);
  EXPECT_EQ(exporter.figures().sent, 2u);
  EXPECT_EQ(receiver.sends, 2);
}

// A receiver that asks for more time than a batch has is not knocked at again.
TEST(SpanExporterTest, GivesUpWhenTheNextTryWouldBeTooLate) {
  Receiver receiver;
  receiver.answers = {{.kind = Kind::kTryAgain, .wait = 1h, .message = "later"}};
  SpanExporter exporter(Settings(), receiver.Transport(), nullptr, kQuick);
  exporter.Offer(Spans(1));
  EXPECT_TRUE(exporter.Stop(kPatience).ok());
  EXPECT_EQ(exporter.figures().failed, 1u);
  EXPECT_EQ(receiver.sends, 1);
}

TEST(SpanExporterTest, RejectedSpansAreCountedApart) {
  Receiver receiver;
  receiver.answers = {{.rejected_spans = 2, .message = "2 spans rejected"}, {.rejected_spans = 99}};
  SpanExporter exporter(Settings(), receiver.Transport(), nullptr, kQuick);
  exporter.Offer(Spans(5));
  EXPECT_TRUE(exporter.Flush(kPatience).ok());
  exporter.Offer(Spans(1));
  EXPECT_TRUE(exporter.Stop(kPatience).ok());
  EXPECT_EQ(exporter.figures().sent, 3u);
  EXPECT_EQ(exporter.figures().rejected, 3u);
  EXPECT_EQ(receiver.sends, 2);
}

TEST(SpanExporterTest, TheSamplerKeepsWholeTraces) {
  Receiver receiver;
  formats::OtelSettings settings = Settings();
  settings.sampler = formats::Sampler::OfRatio(0.5, true);
  settings.resource = {.service = "mine", .service_wins = true};
  SpanExporter exporter(settings, receiver.Transport(), nullptr, kQuick);
  std::vector<trace::Span> spans = Spans(4);
  spans[1].trace_lo = spans[2].trace_lo = ~uint64_t{0};
  exporter.Offer(spans);
  EXPECT_TRUE(exporter.Flush(kPatience).ok());
  exporter.Offer(spans, true);  // the parent was sampled
  EXPECT_TRUE(exporter.Stop(kPatience).ok());
  EXPECT_EQ(exporter.figures().unsampled, 2u);
  EXPECT_THAT(receiver.taken, ElementsAre(ElementsAre(1, 4), ElementsAre(1, 2, 3, 4)));
  EXPECT_THAT(receiver.services, testing::Each("mine"));
}

TEST(SpanExporterTest, AfterStopNothingIsTaken) {
  Receiver receiver;
  SpanExporter exporter(Settings(), receiver.Transport(), nullptr, kQuick);
  EXPECT_TRUE(exporter.Stop(kPatience).ok());
  exporter.Offer(Spans(2));
  EXPECT_EQ(exporter.figures().overflow, 2u);
  EXPECT_TRUE(exporter.Flush(kPatience).ok());
  EXPECT_TRUE(exporter.Stop(kPatience).ok());
}

// Every span is in exactly one of the figures, whoever offers while it stops.
TEST(SpanExporterTest, ManyThreadsLoseNoCount) {
  Receiver receiver;
  formats::OtelSettings settings = Settings();
  settings.batch.schedule_delay = 0s;
  settings.batch.queued_spans_max = 500;
  settings.batch.batch_spans_max = 50;
  SpanExporter exporter(settings, receiver.Transport(), nullptr, kQuick);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) exporter.Offer(Spans(7));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(exporter.Stop(kPatience).ok());
  const SpanExporter::Figures figures = exporter.figures();
  EXPECT_EQ(figures.sent + figures.overflow, 4u * 500 * 7);
  size_t taken = 0;
  for (const auto& request : receiver.taken) taken += request.size();
  EXPECT_EQ(taken, figures.sent);
}

TEST(ProcessAttributesTest, AddsOnlyWhatIsMissing) {
  trace::Attributes attributes = {{"host.name", std::string("given")}};
  AddProcessAttributes(attributes);
  ASSERT_THAT(attributes, SizeIs(3));
  EXPECT_EQ(std::get<std::string>(attributes[0].second), "given");
  EXPECT_EQ(attributes[1].first, "process.pid");
  EXPECT_EQ(attributes[2].first, "service.instance.id");
}

}  // namespace
}  // namespace hopgap::live
