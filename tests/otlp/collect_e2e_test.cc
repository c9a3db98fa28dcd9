// The way of a run's spans through `hopgap collect` and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "base/text.h"
#include "formats/otlp_json.h"
#include "live/process.h"
#include "live/span_exporter.h"
#include "remote/http_client.h"

namespace hopgap::tests {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

constexpr Duration kPatience = 60s;

class CollectTest : public ::testing::Test {
 protected:
  CollectTest() : folder_(fs::temp_directory_path() / ("hopgap-collect-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~CollectTest() override { fs::remove_all(folder_); }

  Process Hopgap(std::vector<std::string> words) const {
    words.insert(words.begin(), HOPGAP_BINARY);
    return Process(words, folder_.string());
  }
  std::unique_ptr<Process> Collect(const std::string& out, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {HOPGAP_BINARY, "collect", "--otlp-port", "0", "--http-port", "0", "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    auto process = std::make_unique<Process>(words, folder_.string());
    EXPECT_TRUE(process->WaitForText("stop with Ctrl-C", kPatience)) << process->output();
    return process;
  }
  json Analyze(const std::string& path) const {
    Process process = Hopgap({"analyze", path, "--json"});
    EXPECT_EQ(process.Wait(), 0) << process.output();
    return json::parse(process.output(), nullptr, false);
  }
  // The spans of a simulated run: exact, quick, the same every time.
  std::vector<trace::Span> Simulated() const {
    Process run = Hopgap({"simulate", "--messages", "12", "--out", "run", "--json"});
    EXPECT_EQ(run.Wait(), 0) << run.output();
    std::vector<trace::Span> all;
    const auto read = formats::ReadOtlpFile(File("run"), [&](std::vector<trace::Span>& spans) {
      all.insert(all.end(), spans.begin(), spans.end());
      return absl::OkStatus();
    });
    EXPECT_TRUE(read.ok()) << read.status();
    return all;
  }
  std::string File(const std::string& run) const { return (folder_ / run / "spans.otlp.jsonl").string(); }

  const fs::path folder_;
};

std::string PortAfter(const std::string& text, const std::string& before) {
  std::smatch found;
  EXPECT_TRUE(std::regex_search(text, found, std::regex(before + R"(127\.0\.0\.1:(\d+))"))) << text;
  return found[1];
}

void Export(const std::string& protocol, const std::string& port, std::vector<trace::Span> spans) {
  const auto settings = formats::ReadOtelSettings([&](const std::string& name) -> std::optional<std::string> {
    if (name == "OTEL_EXPORTER_OTLP_ENDPOINT") return "http://127.0.0.1:" + port;
    if (name == "OTEL_EXPORTER_OTLP_PROTOCOL") return protocol;
    if (name == "OTEL_EXPORTER_OTLP_COMPRESSION") return "gzip";
    return std::nullopt;
  });
  auto exporter = live::SpanExporter::Start(*settings, nullptr);
  ASSERT_TRUE(exporter.ok()) << exporter.status();
  (*exporter)->Offer(std::move(spans));
  EXPECT_TRUE((*exporter)->Stop(kPatience).ok());
}

// Where they came from is all that differs.
void ExpectSame(json a, json b) {
  a["spans_only"]["source"] = b["spans_only"]["source"];
  for (json* document : {&a, &b}) {
    for (json& source : document->at("analysis").at("quality").at("sources")) source.erase("file");
  }
  EXPECT_EQ(a.dump(1), b.dump(1));
}

TEST_F(CollectTest, TheNumbersAreThoseOfTheFileWhateverWayTheSpansCame) {
  const std::vector<trace::Span> spans = Simulated();
  ASSERT_GT(spans.size(), 1'000u);
  const json of_file = Analyze(File("run"));
  EXPECT_EQ(of_file["spans_only"]["explained"], 60);
  for (const std::string protocol : {"grpc", "http/protobuf"}) {
    const std::string out = protocol == "grpc" ? "grpc" : "http";
    auto collect = Collect(out);
    const std::string port = PortAfter(collect->output(), protocol == "grpc" ? "gRPC on " : "http://");
    Export(protocol, port, std::vector(spans.begin(), spans.begin() + 700));  // a trace may come in two parts
    Export(protocol, port, std::vector(spans.begin() + 700, spans.end()));
    collect->Signal(SIGTERM);
    EXPECT_EQ(collect->Wait(), 0) << collect->output();
    EXPECT_THAT(collect->output(), HasSubstr(StrCat("Collected ", spans.size(), " spans")));
    ExpectSame(Analyze(out), of_file);
    ExpectSame(Analyze(out + "/spans.otlp.jsonl"), of_file);
  }
}

TEST_F(CollectTest, TheStagesAreThoseOfTheRun) {
  Simulated();
  const json of_spans = Analyze(File("run"));
  Process process = Hopgap({"analyze", "run", "--json"});
  process.Wait();
  const json of_run = json::parse(process.output(), nullptr, false);
  ASSERT_EQ(of_spans["arms"].size(), of_run["arms"].size());
  for (const json& arm : of_run["arms"]) {
    const auto same = std::find_if(of_spans["arms"].begin(), of_spans["arms"].end(),
                                   [&](const json& one) { return one["name"] == arm["name"]; });
    ASSERT_NE(same, of_spans["arms"].end()) << arm["name"];
    EXPECT_EQ((*same)["stages_ms"].dump(1), arm["stages_ms"].dump(1)) << arm["name"];
    EXPECT_EQ((*same)["hops_ms"], arm["hops_ms"]) << arm["name"];
    EXPECT_EQ((*same)["server_view_ms"], arm["server_view_ms"]) << arm["name"];
    EXPECT_EQ((*same)["until_handled_ms_mean"], arm["until_handled_ms_mean"]);
    EXPECT_TRUE((*same)["lost"].is_null());
  }
  EXPECT_TRUE(of_spans["verdict"].is_null());
}

// What a sender was told is there, is there.
TEST_F(CollectTest, AKilledCollectorHasWhatItAnswered) {
  const std::vector<trace::Span> spans = Simulated();
  auto collect = Collect("killed");
  Export("grpc", PortAfter(collect->output(), "gRPC on "), spans);
  collect->Signal(SIGKILL);
  collect->Wait();
  EXPECT_FALSE(fs::exists(folder_ / "killed"));
  std::string kept;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().filename().string().starts_with(".killed.partial-")) kept = entry.path().string();
  }
  ExpectSame(Analyze(kept + "/spans.otlp.jsonl"), Analyze(File("run")));
  Process folder = Hopgap({"analyze", kept});
  EXPECT_EQ(folder.Wait(), 0);  // a folder is all files in it
  EXPECT_THAT(folder.output(), testing::AllOf(HasSubstr("spans.otlp.jsonl:"), HasSubstr(" read")));
}

TEST_F(CollectTest, WhatWasNoOtlpIsSaidAgainByAnalyze) {
  std::vector<trace::Span> spans = Simulated();
  auto collect = Collect("c");
  const std::string port = PortAfter(collect->output(), "http://");
  remote::HttpClient http({.origin = "http://127.0.0.1:" + port});
  const auto bad = http.Send(
      {.method = "POST", .path = "/v1/traces", .headers = {}, .body = "{", .content_type = "application/json"});
  ASSERT_TRUE(bad.ok()) << bad.status();
  EXPECT_EQ(bad->status, 400);
  std::string line;
  formats::AppendOtlpLine(spans, line);
  const auto good = http.Send(
      {.method = "POST", .path = "/v1/traces", .headers = {}, .body = line, .content_type = "application/json"});
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->status, 200);
  collect->Signal(SIGINT);
  EXPECT_EQ(collect->Wait(), 0) << collect->output();
  Process analyze = Hopgap({"analyze", "c"});
  EXPECT_EQ(analyze.Wait(), 0);
  EXPECT_THAT(analyze.output(), HasSubstr("1 requests were no OTLP"));
}

TEST_F(CollectTest, EndsByItselfAndWritesNothingWhenNothingCame) {
  auto collect = Collect("none", {"--for", "100ms"});
  EXPECT_EQ(collect->Wait(), 2) << collect->output();
  EXPECT_THAT(collect->output(), HasSubstr("no span came"));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(CollectTest, RefusesWhatItShould) {
  const auto refused = [&](std::vector<std::string> words, int code, const char* text) {
    Process process = Hopgap(words);
    EXPECT_EQ(process.Wait(), code) << process.output();
    EXPECT_THAT(process.output(), HasSubstr(text));
  };
  refused({"collect", "--host", "0.0.0.0"}, 3, "--insecure-listen-everywhere");
  refused({"collect", "--for", "soon"}, 3, "--for");
  fs::create_directories(folder_ / "there");
  refused({"collect", "--out", "there", "--otlp-port", "0", "--http-port", "0"}, 6, "exists already");
  auto first = Collect("first");
  refused({"collect", "--out", "second", "--otlp-port", PortAfter(first->output(), "gRPC on "), "--http-port", "0"}, 5,
          "is in use");
  EXPECT_FALSE(fs::exists(folder_ / "second"));
  std::ofstream(folder_ / "other.jsonl")
      << R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0000000000000000000000000000000a",)"
      << R"("spanId":"000000000000000b","name":"GET /"}]}]}]})"
      << "\n";
  refused({"analyze", "other.jsonl"}, 3, "no message in them from its publish to its last ack");
  refused({"analyze", "nowhere"}, 3, "cannot be read");
}

}  // namespace
}  // namespace hopgap::tests
