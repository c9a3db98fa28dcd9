// Spans that leave by the exporter and come in by the receiver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "formats/otlp_json.h"
#include "formats/otlp_span_testing.h"
#include "live/span_exporter.h"
#include "remote/gzip.h"
#include "remote/http_client.h"
#include "remote/otlp_grpc.h"
#include "server/otlp_receiver.h"

namespace hopgap {
namespace {

using namespace std::chrono_literals;
using live::SpanExporter;
using server::OtlpReceiver;
using testing::HasSubstr;
using testing::SizeIs;

constexpr Duration kPatience = 60s;

class Taken {
 public:
  server::OtlpIntake::Take Take() {
    return [this](std::vector<trace::Span>& spans) {
      const std::lock_guard lock(mu_);
      spans_.insert(spans_.end(), spans.begin(), spans.end());
      return absl::OkStatus();
    };
  }
  std::vector<trace::Span> spans() const {
    const std::lock_guard lock(mu_);
    return spans_;
  }

 private:
  mutable std::mutex mu_;
  std::vector<trace::Span> spans_;
};

std::unique_ptr<OtlpReceiver> Start(server::OtlpIntake::Take take, OtlpReceiver::Options options = {}) {
  options.grpc_port = options.http_port = 0;
  auto receiver = OtlpReceiver::Start(options, std::move(take));
  EXPECT_TRUE(receiver.ok()) << receiver.status();
  return *std::move(receiver);
}

formats::OtelSettings Settings(std::map<std::string, std::string> variables) {
  auto settings = formats::ReadOtelSettings([&](const std::string& name) -> std::optional<std::string> {
    return variables.contains(name) ? std::optional(variables[name]) : std::nullopt;
  });
  EXPECT_TRUE(settings.ok()) << settings.status();
  return *settings;
}

std::string Endpoint(uint16_t port) { return StrCat("http://127.0.0.1:", port); }

std::string Json(std::span<const trace::Span> spans) {
  std::string line;
  formats::AppendOtlpLine(spans, line);
  return line;
}

TEST(OtlpExportTest, WhatLeavesComesIn) {
  for (const char* protocol : {"grpc", "http/protobuf"}) {
    for (const char* compression : {"none", "gzip"}) {
      SCOPED_TRACE(StrCat(protocol, " ", compression));
      Taken taken;
      auto receiver = Start(taken.Take());
      const bool grpc = std::string_view(protocol) == "grpc";
      auto exporter = SpanExporter::Start(
          Settings({{"OTEL_EXPORTER_OTLP_ENDPOINT", Endpoint(grpc ? receiver->grpc_port() : receiver->http_port())},
                    {"OTEL_EXPORTER_OTLP_PROTOCOL", protocol},
                    {"OTEL_EXPORTER_OTLP_COMPRESSION", compression},
                    {"OTEL_EXPORTER_OTLP_HEADERS", "X-Key=value"}}),
          [](const std::string& text) { ADD_FAILURE() << text; });
      ASSERT_TRUE(exporter.ok()) << exporter.status();
      const std::vector<trace::Span> spans(1'500, formats::FullSpan());
      (*exporter)->Offer(spans);
      EXPECT_TRUE((*exporter)->Stop(kPatience).ok());
      EXPECT_EQ((*exporter)->figures().sent, 1'500u);
      EXPECT_EQ(receiver->figures().requests, 3u);
      receiver->Stop();
      EXPECT_EQ(Json(taken.spans()), Json(spans));
    }
  }
}

TEST(OtlpExportTest, AReceiverThatComesLaterGetsEverything) {
  uint16_t port = 0;
  {
    Taken nobody;
    port = Start(nobody.Take())->http_port();
  }
  std::promise<void> failed;
  SpanExporter exporter(Settings({{"OTEL_EXPORTER_OTLP_ENDPOINT", Endpoint(port)}}),
                        *live::MakeOtlpTransport(Settings({{"OTEL_EXPORTER_OTLP_ENDPOINT", Endpoint(port)}})),
                        [&](const std::string&) { failed.set_value(); }, {.first = 10ms, .most = 10ms});
  exporter.Offer({formats::FullSpan()});
  EXPECT_FALSE(exporter.Flush(0s).ok());
  failed.get_future().wait();
  Taken taken;
  OtlpReceiver::Options options;
  options.grpc_port = 0;
  options.http_port = port;
  auto receiver = OtlpReceiver::Start(options, taken.Take());
  ASSERT_TRUE(receiver.ok()) << receiver.status();
  EXPECT_TRUE(exporter.Stop(kPatience).ok());
  EXPECT_EQ(exporter.figures().sent, 1u);
  EXPECT_GE(exporter.figures().retries, 1u);
  EXPECT_THAT(taken.spans(), SizeIs(1));
}

// A receiver whose taker is held until it is let go.
class Held {
 public:
  server::OtlpIntake::Take Take() {
    return [this](std::vector<trace::Span>&) {
      if (std::exchange(first_, false)) {
        reached.set_value();
        go_.wait();
      }
      return absl::OkStatus();
    };
  }
  std::promise<void> reached, go;

 private:
  std::shared_future<void> go_ = go.get_future().share();
  bool first_ = true;
};

TEST(OtlpExportTest, AFullReceiverIsLeftAloneForAsLongAsItSays) {
  for (const bool grpc : {true, false}) {
    SCOPED_TRACE(grpc ? "grpc" : "http");
    Held held;
    auto receiver = Start(held.Take(), {.queued_bytes_max = 1, .retry_after = 1s});
    auto first = remote::OtlpGrpc::Create({.target = StrCat("127.0.0.1:", receiver->grpc_port())});
    const std::string request = formats::EncodeOtlpRequests(std::vector{formats::FullSpan()}, {}, {})[0].bytes;
    std::thread holder([&] { EXPECT_TRUE((*first)->Export(request, kPatience).status.ok()); });
    held.reached.get_future().wait();
    auto transport = live::MakeOtlpTransport(
        Settings({{"OTEL_EXPORTER_OTLP_ENDPOINT", Endpoint(grpc ? receiver->grpc_port() : receiver->http_port())},
                  {"OTEL_EXPORTER_OTLP_PROTOCOL", grpc ? "grpc" : "http/protobuf"}}));
    const live::OtlpOutcome full = (*transport)->Send(request, kPatience);
    EXPECT_EQ(full.kind, live::OtlpOutcome::Kind::kTryAgain);
    EXPECT_EQ(full.wait, Duration{1s});
    held.go.set_value();
    holder.join();
    EXPECT_EQ((*transport)->Send(request, kPatience).kind, live::OtlpOutcome::Kind::kTaken);
    EXPECT_EQ(receiver->figures().turned_away, 1u);
  }
}

// Packed or plain: the limit is of what comes out.
TEST(OtlpExportTest, AMessageThatIsTooLargeIsFinal) {
  Taken taken;
  auto receiver = Start(taken.Take(), {.message_bytes_max = 100'000});
  trace::Span large = formats::FullSpan();
  large.attributes.emplace_back("body", std::string(200'000, 'x'));
  const std::string request = formats::EncodeOtlpRequests(std::vector{large}, {}, {})[0].bytes;
  for (const char* protocol : {"grpc", "http/protobuf"}) {
    for (const char* compression : {"none", "gzip"}) {
      SCOPED_TRACE(StrCat(protocol, " ", compression));
      const bool grpc = std::string_view(protocol) == "grpc";
      auto transport = live::MakeOtlpTransport(
          Settings({{"OTEL_EXPORTER_OTLP_ENDPOINT", Endpoint(grpc ? receiver->grpc_port() : receiver->http_port())},
                    {"OTEL_EXPORTER_OTLP_PROTOCOL", protocol},
                    {"OTEL_EXPORTER_OTLP_COMPRESSION", compression}}));
      const live::OtlpOutcome outcome = (*transport)->Send(request, kPatience);
      EXPECT_EQ(outcome.kind, live::OtlpOutcome::Kind::kRefused) << outcome.message;
    }
  }
  EXPECT_THAT(taken.spans(), SizeIs(0));
}

TEST(OtlpExportTest, WhatIsNoRequestIsRefusedByBothTransports) {
  Taken taken;
  auto receiver = Start(taken.Take());
  auto grpc = remote::OtlpGrpc::Create({.target = StrCat("127.0.0.1:", receiver->grpc_port())});
  EXPECT_EQ((*grpc)->Export("<html>", kPatience).status.code(), absl::StatusCode::kInvalidArgument);
  remote::HttpClient http({.origin = Endpoint(receiver->http_port())});
  const auto answer = http.Send({.method = "POST",
                                 .path = "/v1/traces",
                                 .headers = {},
                                 .body = "<html>",
                                 .content_type = "application/x-protobuf"});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 400);
  EXPECT_EQ(receiver->figures().malformed, 2u);
}

TEST(OtlpExportTest, StopEndsACallThatNobodyAnswers) {
  for (const bool grpc : {true, false}) {
    SCOPED_TRACE(grpc ? "grpc" : "http");
    Held held;
    auto receiver = Start(held.Take());
    auto exporter = SpanExporter::Start(
        Settings({{"OTEL_EXPORTER_OTLP_ENDPOINT", Endpoint(grpc ? receiver->grpc_port() : receiver->http_port())},
                  {"OTEL_EXPORTER_OTLP_TIMEOUT", "3600000"},
                  {"OTEL_BSP_EXPORT_TIMEOUT", "3600000"},
                  {"OTEL_EXPORTER_OTLP_PROTOCOL", grpc ? "grpc" : "http/protobuf"}}),
        nullptr);
    (*exporter)->Offer({formats::FullSpan()});
    EXPECT_FALSE((*exporter)->Flush(0s).ok());
    held.reached.get_future().wait();
    EXPECT_FALSE((*exporter)->Stop(0s).ok());
    EXPECT_EQ((*exporter)->figures().failed, 1u);
    held.go.set_value();
  }
}

TEST(OtlpExportTest, WhatCannotBeUsedIsSaidBeforeAnythingIsSent) {
  const auto refused = [](std::map<std::string, std::string> more) {
    more["OTEL_EXPORTER_OTLP_ENDPOINT"] = "https://127.0.0.1:1";
    more["OTEL_EXPORTER_OTLP_PROTOCOL"] = "grpc";
    return live::MakeOtlpTransport(Settings(more)).status();
  };
  EXPECT_THAT(std::string(refused({{"OTEL_EXPORTER_OTLP_CERTIFICATE", "no-such.pem"}}).message()),
              HasSubstr("no-such.pem"));
  EXPECT_THAT(std::string(refused({{"OTEL_EXPORTER_OTLP_HEADERS", "a b=c"}}).message()), HasSubstr("'a b'"));
  EXPECT_THAT(std::string(refused({{"OTEL_EXPORTER_OTLP_HEADERS", "a=%C3%A9"}}).message()), HasSubstr("header 'a'"));
  EXPECT_TRUE(refused({}).ok());
}

TEST(OtlpReceiverTest, SaysWhichPortIsTaken) {
  Taken taken;
  auto receiver = Start(taken.Take());
  for (const bool grpc : {true, false}) {
    OtlpReceiver::Options options;
    options.grpc_port = grpc ? receiver->grpc_port() : uint16_t{0};
    options.http_port = grpc ? uint16_t{0} : receiver->http_port();
    const absl::Status status = OtlpReceiver::Start(options, taken.Take()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
    EXPECT_THAT(std::string(status.message()), HasSubstr("is in use"));
  }
}

}  // namespace
}  // namespace hopgap
