#include "server/otlp_intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "formats/otlp_json.h"
#include "server/otlp_http.h"

namespace hopgap::server {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::vector<trace::Span> Spans(size_t count) {
  std::vector<trace::Span> spans(count);
  for (size_t i = 0; i < count; ++i) spans[i].trace_lo = spans[i].span = i + 1;
  return spans;
}

std::string Request(size_t spans) { return formats::EncodeOtlpRequests(Spans(spans), {}, {})[0].bytes; }

// Takes spans when it is let to.
class Gate {
 public:
  OtlpIntake::Take Take() {
    return [this](std::vector<trace::Span>& spans) {
      taken += spans.size();
      if (std::exchange(first_, false)) reached.set_value();
      open_.wait();
      return absl::OkStatus();
    };
  }
  void Open() { opened_.set_value(); }
  std::promise<void> reached;
  size_t taken = 0;

 private:
  std::promise<void> opened_;
  std::shared_future<void> open_ = opened_.get_future().share();
  bool first_ = true;
};

OtlpAnswer Ask(OtlpIntake& intake, std::string body, OtlpEncoding encoding = OtlpEncoding::kProtobuf) {
  std::promise<OtlpAnswer> promise;
  EXPECT_TRUE(intake.Post(std::move(body), encoding, [&](const OtlpAnswer& answer) { promise.set_value(answer); }));
  return promise.get_future().get();
}

TEST(OtlpIntakeTest, AnswersWhatTheTakerSays) {
  absl::Status said;
  size_t taken = 0;
  OtlpIntake intake(1'000, [&](std::vector<trace::Span>& spans) {
    taken += spans.size();
    return said;
  });
  EXPECT_TRUE(Ask(intake, Request(3)).status.ok());
  EXPECT_TRUE(Ask(intake, "").status.ok());  // no spans: nobody is asked
  said = absl::UnavailableError("the disk is full");
  EXPECT_EQ(Ask(intake, Request(2)).status, said);
  EXPECT_EQ(Ask(intake, "<html>").status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(taken, 5u);
  const OtlpIntake::Figures figures = intake.figures();
  EXPECT_EQ(figures.requests, 2u);
  EXPECT_EQ(figures.spans, 3u);
  EXPECT_EQ(figures.failed, 1u);
  EXPECT_EQ(figures.malformed, 1u);
  EXPECT_EQ(figures.queued_bytes, 0u);
}

TEST(OtlpIntakeTest, SaysWhatItRejected) {
  OtlpIntake intake(1'000, [](std::vector<trace::Span>&) { return absl::OkStatus(); });
  std::string bytes = Request(2);
  bytes[bytes.rfind(std::string("\x12\x08", 2)) + 1 + 8] = '\0';  // the second span's id becomes zero
  const OtlpAnswer answer = Ask(intake, bytes);
  EXPECT_TRUE(answer.status.ok());
  EXPECT_EQ(answer.partial.rejected_spans, 1);
  EXPECT_THAT(answer.partial.message, HasSubstr("span_id"));
}

TEST(OtlpIntakeTest, TurnsAwayWhatThereIsNoRoomFor) {
  Gate gate;
  const std::string request = Request(1);
  OtlpIntake intake(2 * request.size(), gate.Take());
  std::vector<std::future<OtlpAnswer>> answers;
  const auto post = [&](std::string body) {
    auto promise = std::make_shared<std::promise<OtlpAnswer>>();
    const bool posted = intake.Post(std::move(body), OtlpEncoding::kProtobuf,
                                    [promise](const OtlpAnswer& answer) { promise->set_value(answer); });
    if (posted) answers.push_back(promise->get_future());
    return posted;
  };
  EXPECT_TRUE(post(request));
  gate.reached.get_future().wait();
  EXPECT_TRUE(post(request));  // up to the limit: what is being taken counts
  EXPECT_FALSE(post(request));
  EXPECT_FALSE(post("x"));
  EXPECT_EQ(intake.figures().turned_away, 2u);
  gate.Open();
  for (auto& answer : answers) EXPECT_TRUE(answer.get().status.ok());
  EXPECT_TRUE(post(Request(100)));  // larger than the queue, but alone
  intake.Stop();
  EXPECT_TRUE(answers.back().get().status.ok());  // what waited was answered
  EXPECT_EQ(gate.taken, 102u);
  EXPECT_FALSE(post(request));
}

HttpCall Post(std::string body, std::string type) {
  return {.method = "POST",
          .path = "/v1/traces",
          .headers = {{"content-type", std::move(type)}},
          .query = {},
          .body = std::move(body)};
}

TEST(OtlpHttpTest, AnswersInTheEncodingOfTheRequest) {
  size_t taken = 0;
  OtlpIntake intake(1 << 20, [&](std::vector<trace::Span>& spans) {
    taken += spans.size();
    return absl::OkStatus();
  });
  const HttpReply protobuf = AnswerOtlpHttp(Post(Request(2), "application/x-protobuf"), intake, 1s);
  EXPECT_EQ(protobuf.status, 200);
  EXPECT_EQ(protobuf.content_type, "application/x-protobuf");
  EXPECT_EQ(protobuf.body, "");
  std::string line;
  formats::AppendOtlpLine(Spans(3), line);
  const HttpReply json = AnswerOtlpHttp(Post(line, "Application/JSON; charset=utf-8"), intake, 1s);
  EXPECT_EQ(json.status, 200);
  EXPECT_EQ(json.body, "{}");
  EXPECT_EQ(taken, 5u);
  const HttpReply bad = AnswerOtlpHttp(Post("[]", "application/json"), intake, 1s);
  EXPECT_EQ(bad.status, 400);
  EXPECT_THAT(bad.body, HasSubstr("\"code\":3,\"message\":\"no JSON object\""));
}

TEST(OtlpHttpTest, RefusesWhatIsNoSpans) {
  OtlpIntake intake(1 << 20, [](std::vector<trace::Span>&) { return absl::OkStatus(); });
  HttpCall call = Post("", "application/x-protobuf");
  call.path = "/v1/metrics";
  EXPECT_EQ(AnswerOtlpHttp(call, intake, 1s).status, 404);
  call = Post("", "application/x-protobuf");
  call.method = "GET";
  EXPECT_EQ(AnswerOtlpHttp(call, intake, 1s).status, 405);
  EXPECT_EQ(AnswerOtlpHttp(Post("", "text/plain"), intake, 1s).status, 415);
  call = Post("", "application/x-protobuf");
  call.headers.emplace_back("Content-Encoding", "zstd");
  const HttpReply packed = AnswerOtlpHttp(call, intake, 1s);
  EXPECT_EQ(packed.status, 415);
  EXPECT_THAT(packed.body, HasSubstr("'zstd'"));
}

TEST(OtlpHttpTest, AsksForTimeWhenThereIsNoRoom) {
  OtlpIntake intake(0, [](std::vector<trace::Span>&) { return absl::OkStatus(); });
  intake.Stop();
  const HttpReply reply = AnswerOtlpHttp(Post(Request(1), "application/x-protobuf"), intake, 1500ms);
  EXPECT_EQ(reply.status, 429);
  EXPECT_THAT(reply.headers, testing::ElementsAre(testing::Pair("Retry-After", "2")));
}

}  // namespace
}  // namespace hopgap::server
