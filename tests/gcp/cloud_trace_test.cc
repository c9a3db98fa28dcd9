// `hopgap analyze cloudtrace:PROJECT` against a Cloud Trace that pages, is busy
// now and then, and breaks off.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.h"
#include "gcp/fake_google.h"

namespace hopgap::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Page N of three: two traces each, of services "api" and "other".
std::string Page(int number) {
  nlohmann::json page;
  for (const char* service : {"api", "other"}) {
    page["traces"].push_back(
        {{"projectId", "my-project"},
         {"traceId", StrCat("0000000000000000000000000000000", service[0] == 'a' ? number : number + 3)},
         {"spans",
          {{{"spanId", StrCat(number)},
            {"name", StrCat(service, number)},
            {"startTime", "2026-01-02T03:04:05.1Z"},
            {"endTime", "2026-01-02T03:04:05.2Z"},
            {"labels", {{"service.name", service}}}}}}});
  }
  if (number < 3) page["nextPageToken"] = StrCat("page/", number + 1);
  return page.dump();
}

std::string Rfc3339(const std::string& unix_nano) {
  const time_t seconds = static_cast<time_t>(std::stoll(unix_nano) / 1'000'000'000);
  char text[40];
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.", gmtime(&seconds));
  return StrCat(text, unix_nano.substr(unix_nano.size() - 9), "Z");
}

// What an OTLP span becomes on its way through Cloud Trace's v1 API.
nlohmann::json AsV1(const nlohmann::json& span, const nlohmann::json& scope) {
  nlohmann::json labels = {{"otel.scope.name", scope.at("name")}};
  for (const nlohmann::json& attribute : span.value("attributes", nlohmann::json::array())) {
    const nlohmann::json& value = attribute.at("value").front();
    labels[attribute.at("key").get<std::string>()] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  nlohmann::json v1 = {{"spanId", StrCat(std::stoull(span.at("spanId").get<std::string>(), nullptr, 16))},
                       {"name", span.at("name")},
                       {"startTime", Rfc3339(span.at("startTimeUnixNano"))},
                       {"endTime", Rfc3339(span.at("endTimeUnixNano"))},
                       {"labels", labels}};
  const std::string parent = span.value("parentSpanId", "");
  if (!parent.empty()) v1["parentSpanId"] = StrCat(std::stoull(parent, nullptr, 16));
  return v1;
}

std::string AsV1Page(const std::string& otlp_lines) {
  std::map<std::string, nlohmann::json> traces;
  std::istringstream lines(otlp_lines);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json document = nlohmann::json::parse(line);
    for (const nlohmann::json& resource : document.at("resourceSpans")) {
      for (const nlohmann::json& scoped : resource.at("scopeSpans")) {
        for (const nlohmann::json& span : scoped.at("spans")) {
          traces[span.at("traceId")].push_back(AsV1(span, scoped.at("scope")));
        }
      }
    }
  }
  nlohmann::json page;
  for (const auto& [id, spans] : traces) {
    page["traces"].push_back({{"projectId", "p"}, {"traceId", id}, {"spans", spans}});
  }
  return page.dump();
}

class CloudTraceTest : public ::testing::Test {
 protected:
  CloudTraceTest() {
    auto started = server::HttpServer::Start({}, [this](const server::HttpCall& call) { return Answer(call); });
    EXPECT_TRUE(started.ok()) << started.status();
    traces_ = *std::move(started);
  }
  ~CloudTraceTest() override { traces_->Stop(); }

  server::HttpReply Answer(const server::HttpCall& call) {
    std::lock_guard lock(mu_);
    std::string token;
    std::map<std::string, std::string> query(call.query.begin(), call.query.end());
    asked_.push_back(query["pageToken"]);
    server::HttpReply reply;
    const int number = query["pageToken"].empty() ? 1 : query["pageToken"].back() - '0';
    if (call.path != "/v1/projects/my-project/traces" || query["view"] != "COMPLETE" || query["pageSize"] != "100" ||
        call.Header("Authorization").rfind("Bearer token-", 0) != 0) {
      reply.status = 400;
    } else if (number == fails_ && failures_ > 0) {
      --failures_;
      reply.status = status_;
      reply.body = R"({"error": {"code": 1, "message": "in the fake's words"}})";
    } else {
      reply.body = page_.empty() ? Page(number) : page_;
    }
    return reply;
  }
  // Page `number` fails that many times.
  void Fail(int number, int status, int times) {
    std::lock_guard lock(mu_);
    fails_ = number;
    status_ = status;
    failures_ = times;
  }
  std::vector<std::string> Asked() {
    std::lock_guard lock(mu_);
    return std::exchange(asked_, {});
  }
  Process Analyze(std::vector<std::string> words) {
    words.insert(words.begin(), {HOPGAP_BINARY, "analyze", "cloudtrace:my-project", "--save", "t.jsonl",
                                 "--cloudtrace-endpoint", StrCat("http://127.0.0.1:", traces_->port())});
    return Process(words, folder_.path(), google_.Environment());
  }

  FakeGoogle google_;
  Folder folder_;
  std::mutex mu_;
  std::vector<std::string> asked_;
  int fails_ = 0, status_ = 0, failures_ = 0;
  std::string page_;  // the only one, unless empty
  std::unique_ptr<server::HttpServer> traces_;
};

TEST_F(CloudTraceTest, AllPagesAreSavedAndABusyOneIsAskedAgain) {
  Fail(2, 429, 1);
  Process analyze = Analyze({});
  analyze.Wait();
  EXPECT_THAT(analyze.output(), HasSubstr("6 spans of 6 traces, 0 left out (unreadable); saved to t.jsonl"));
  EXPECT_THAT(analyze.output(), HasSubstr("no links, events or status"));
  EXPECT_EQ(Asked(), (std::vector<std::string>{"", "page/2", "page/2", "page/3"}));
  const std::string saved = folder_.Read("t.jsonl");
  for (const char* name : {"api1", "api2", "api3", "other1", "other2", "other3"}) EXPECT_THAT(saved, HasSubstr(name));
  Process again = Analyze({});
  EXPECT_EQ(again.Wait(), 3);
  EXPECT_THAT(again.output(), HasSubstr("t.jsonl: exists"));
}

TEST_F(CloudTraceTest, GoesOnWhereAnErrorEndedIt) {
  Fail(3, 403, 1);
  Process broken = Analyze({});
  EXPECT_EQ(broken.Wait(), 8) << broken.output();
  EXPECT_THAT(broken.output(),
              HasSubstr("HTTP 403: in the fake's words; give the account the role roles/cloudtrace.user"));
  EXPECT_THAT(broken.output(), HasSubstr("4 traces are kept: the same command with --save t.jsonl goes on"));
  EXPECT_EQ(folder_.Read("t.jsonl"), "");
  // What a crash left behind the last whole page does not count.
  folder_.Write("t.jsonl.part", folder_.Read("t.jsonl.part") + "half a li");
  Asked();
  Process resumed = Analyze({});
  resumed.Wait();
  EXPECT_EQ(Asked(), (std::vector<std::string>{"page/3"}));
  EXPECT_THAT(resumed.output(), HasSubstr("6 spans of 6 traces"));
  const std::string saved = folder_.Read("t.jsonl");
  EXPECT_THAT(saved, Not(HasSubstr("half a li")));
  for (const char* name : {"api1", "other2", "api3"}) EXPECT_THAT(saved, HasSubstr(name));
}

TEST_F(CloudTraceTest, AServiceKeepsTheTracesItTakesPartIn) {
  Process analyze = Analyze({"--service", "api", "--since", "30m"});
  analyze.Wait();
  EXPECT_THAT(analyze.output(), HasSubstr("3 spans of 3 traces"));
  EXPECT_THAT(folder_.Read("t.jsonl"), Not(HasSubstr("other")));
}

// The way through Cloud Trace takes events and links away; the stages stay.
TEST_F(CloudTraceTest, AnalysesToTheSameStagesAsTheSpansThemselves) {
  Process simulate({HOPGAP_BINARY, "simulate", "--messages", "10", "--out", "s", "--quiet"}, folder_.path());
  ASSERT_EQ(simulate.Wait(), 0) << simulate.output();
  page_ = AsV1Page(folder_.Read("s/spans.otlp.jsonl"));
  Process direct({HOPGAP_BINARY, "analyze", "s/spans.otlp.jsonl", "--json"}, folder_.path());
  ASSERT_EQ(direct.Wait(), 0) << direct.output();
  Process through = Analyze({"--json"});
  ASSERT_EQ(through.Wait(), 0) << through.output();
  const nlohmann::json want = nlohmann::json::parse(direct.output()).at("arms");
  const nlohmann::json got = nlohmann::json::parse(through.output().substr(through.output().find("{"))).at("arms");
  ASSERT_EQ(got.size(), 5u);
  for (size_t arm = 0; arm < got.size(); ++arm) {
    EXPECT_EQ(got[arm].at("name"), want[arm].at("name"));
    EXPECT_EQ(got[arm].at("completed"), 10);
    for (const char* stage :
         {"send_lateness", "client_publish", "publish_rpc", "delivery_gap", "dispatch_gap", "work"}) {
      EXPECT_EQ(got[arm].at("stages_ms").at(stage).at("mean"), want[arm].at("stages_ms").at(stage).at("mean")) << stage;
      EXPECT_EQ(got[arm].at("stages_ms").at(stage).at("p95"), want[arm].at("stages_ms").at(stage).at("p95")) << stage;
    }
  }
}

TEST_F(CloudTraceTest, WrongWordsAreNamed) {
  for (const auto& [words, text] :
       {std::pair{std::vector<std::string>{"--since", "0"}, "--since 0: is no time at all"},
        std::pair{std::vector<std::string>{"--since", "soon"}, "--since soon: is not a duration"}}) {
    Process analyze = Analyze(words);
    EXPECT_EQ(analyze.Wait(), 3) << analyze.output();
    EXPECT_THAT(analyze.output(), HasSubstr(text));
  }
  Process clear({HOPGAP_BINARY, "analyze", "cloudtrace:p", "--cloudtrace-endpoint", "http://trace.example.com"},
                folder_.path(), google_.Environment());
  EXPECT_EQ(clear.Wait(), 3) << clear.output();
  EXPECT_THAT(clear.output(), HasSubstr("is not https"));
  Process none({HOPGAP_BINARY, "analyze", "cloudtrace:"}, folder_.path(), google_.Environment());
  EXPECT_EQ(none.Wait(), 3) << none.output();
}

}  // namespace
}  // namespace hopgap::tests
