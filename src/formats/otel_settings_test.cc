#include "formats/otel_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace hopgap::formats {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

using Variables = std::map<std::string, std::string>;

absl::StatusOr<OtelSettings> Read(const Variables& variables) {
  return ReadOtelSettings([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

OtelSettings Good(const Variables& variables) {
  absl::StatusOr<OtelSettings> settings = Read(variables);
  EXPECT_TRUE(settings.ok()) << settings.status();
  return settings.ok() ? *settings : OtelSettings();
}

constexpr char kEndpoint[] = "OTEL_EXPORTER_OTLP_ENDPOINT";
constexpr char kTracesEndpoint[] = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
constexpr char kProtocol[] = "OTEL_EXPORTER_OTLP_PROTOCOL";

TEST(OtelSettingsTest, NothingLeavesUnlessAsked) {
  EXPECT_FALSE(Good({}).enabled);
  EXPECT_THAT(Good({}).why_not, HasSubstr("OTEL_EXPORTER_OTLP_ENDPOINT"));
  EXPECT_FALSE(Good({{kEndpoint, ""}}).enabled);
  EXPECT_TRUE(Good({{kEndpoint, "http://h:1"}}).enabled);
  EXPECT_TRUE(Good({{kTracesEndpoint, "http://h:1"}}).enabled);
  EXPECT_TRUE(Good({{"OTEL_TRACES_EXPORTER", "otlp"}}).enabled);
  EXPECT_FALSE(Good({{"OTEL_TRACES_EXPORTER", "none"}, {kEndpoint, "http://h:1"}}).enabled);
  EXPECT_FALSE(Good({{"OTEL_SDK_DISABLED", "TRUE"}, {kEndpoint, "http://h:1"}}).enabled);
  EXPECT_TRUE(Good({{"OTEL_SDK_DISABLED", "false"}, {kEndpoint, "http://h:1"}}).enabled);
}

TEST(OtelSettingsTest, AnHttpEndpointIsABaseUnlessItIsTheTraces) {
  const auto path = [](const char* name, const char* url) { return Good({{name, url}}).path; };
  EXPECT_EQ(path(kEndpoint, "http://h:4318"), "/v1/traces");
  EXPECT_EQ(path(kEndpoint, "http://h:4318/"), "/v1/traces");
  EXPECT_EQ(path(kEndpoint, "http://h/base"), "/base/v1/traces");
  EXPECT_EQ(path(kEndpoint, "http://h/base/"), "/base/v1/traces");
  EXPECT_EQ(path(kTracesEndpoint, "http://h:4318"), "/");
  EXPECT_EQ(path(kTracesEndpoint, "http://h/x?key=1"), "/x?key=1");
  EXPECT_EQ(path(kTracesEndpoint, "http://h?key=1"), "/?key=1");
  EXPECT_EQ(Good({{"OTEL_TRACES_EXPORTER", "otlp"}}).origin, "http://localhost:4318");
  EXPECT_EQ(Good({{kEndpoint, "http://a:1"}, {kTracesEndpoint, "https://b:2/t"}}).origin, "https://b:2");
  EXPECT_TRUE(Good({{kEndpoint, "https://h"}}).tls);
  EXPECT_FALSE(Good({{kEndpoint, "http://h"}}).tls);
}

TEST(OtelSettingsTest, AGrpcEndpointIsAUrlOrHostAndPort) {
  struct Case {
    const char* endpoint;
    const char* insecure;
    const char* origin;
    bool tls;
  };
  for (const Case& c : {Case{"http://h:4317", "", "h:4317", false}, Case{"https://h:4317/", "", "h:4317", true},
                        Case{"https://h:4317", "true", "h:4317", true},  // the scheme wins
                        Case{"h:4317", "", "h:4317", true}, Case{"h:4317", "true", "h:4317", false},
                        Case{"http://h", "", "h:4317", false}, Case{"http://[::1]", "", "[::1]:4317", false},
                        Case{"http://[::1]:9", "", "[::1]:9", false}}) {
    SCOPED_TRACE(c.endpoint);
    const OtelSettings settings =
        Good({{kProtocol, "grpc"}, {kEndpoint, c.endpoint}, {"OTEL_EXPORTER_OTLP_INSECURE", c.insecure}});
    EXPECT_EQ(settings.protocol, OtlpProtocol::kGrpc);
    EXPECT_EQ(settings.origin, c.origin);
    EXPECT_EQ(settings.tls, c.tls);
  }
  EXPECT_EQ(Good({{kProtocol, "grpc"}, {"OTEL_TRACES_EXPORTER", "otlp"}}).origin, "localhost:4317");
}

TEST(OtelSettingsTest, TheVariableOfTheSignalWins) {
  const OtelSettings settings = Good({{kEndpoint, "http://h"},
                                      {"OTEL_EXPORTER_OTLP_TIMEOUT", "1"},
                                      {"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "2500"},
                                      {"OTEL_EXPORTER_OTLP_COMPRESSION", "none"},
                                      {"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "gzip"},
                                      {"OTEL_EXPORTER_OTLP_HEADERS", "a=b"},
                                      {"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-key = a%2Cb%3D , y=,"},
                                      {"OTEL_EXPORTER_OTLP_CERTIFICATE", "ca.pem"},
                                      {"OTEL_EXPORTER_OTLP_CLIENT_KEY", "key.pem"},
                                      {"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "cert.pem"}});
  EXPECT_EQ(settings.timeout, 2500ms);
  EXPECT_TRUE(settings.gzip);
  EXPECT_THAT(settings.headers, ElementsAre(Pair("x-key", "a,b="), Pair("y", "")));
  EXPECT_EQ(settings.ca_file, "ca.pem");
  EXPECT_EQ(settings.client_key_file, "key.pem");
  EXPECT_EQ(settings.client_certificate_file, "cert.pem");
}

TEST(OtelSettingsTest, TheServiceNameBeatsTheResourceAttributes) {
  using Value = trace::AttributeValue;
  const OtelSettings none = Good({});
  EXPECT_EQ(none.resource.service, "unknown_service:hopgap");
  EXPECT_FALSE(none.resource.service_wins);
  EXPECT_THAT(none.resource.attributes, Contains(Pair("telemetry.sdk.language", Value("cpp"))));
  const Variables attributes = {{"OTEL_RESOURCE_ATTRIBUTES", "service.name=r,zone=a%20b,service.version=9"}};
  const OtelSettings given = Good(attributes);
  EXPECT_EQ(given.resource.service, "r");
  EXPECT_TRUE(given.resource.service_wins);
  EXPECT_THAT(given.resource.attributes, Contains(Pair("zone", Value("a b"))));
  EXPECT_THAT(given.resource.attributes, Contains(Pair("service.version", Value("9"))));
  EXPECT_THAT(given.resource.attributes, Not(Contains(Pair("service.name", testing::_))));
  Variables both = attributes;
  both["OTEL_SERVICE_NAME"] = "s";
  EXPECT_EQ(Good(both).resource.service, "s");
}

TEST(OtelSettingsTest, BatchesAsToldAndNeverLargerThanTheQueue) {
  const OtelSettings settings =
      Good({{"OTEL_BSP_SCHEDULE_DELAY", "0"}, {"OTEL_BSP_EXPORT_TIMEOUT", "7000"}, {"OTEL_BSP_MAX_QUEUE_SIZE", "100"}});
  EXPECT_EQ(settings.batch.schedule_delay, 0ms);
  EXPECT_EQ(settings.batch.export_timeout, 7s);
  EXPECT_EQ(settings.batch.queued_spans_max, 100u);
  EXPECT_EQ(settings.batch.batch_spans_max, 100u);
}

TEST(SamplerTest, DecidesFromTheTraceIdAsTheGoSdkDoes) {
  const auto sampler = [](const char* name, const char* ratio) {
    return Good({{"OTEL_TRACES_SAMPLER", name}, {"OTEL_TRACES_SAMPLER_ARG", ratio}}).sampler;
  };
  const Sampler half = sampler("traceidratio", "0.5");
  EXPECT_TRUE(half.Keeps(0));
  EXPECT_TRUE(half.Keeps(0x7fffffffffffffff));
  EXPECT_FALSE(half.Keeps(0x8000000000000000));
  EXPECT_FALSE(half.Keeps(~uint64_t{0}, true));  // not parent-based
  for (const uint64_t id : {uint64_t{0}, uint64_t{1} << 40, ~uint64_t{0}}) {
    EXPECT_TRUE(Sampler().Keeps(id));
    EXPECT_TRUE(sampler("traceidratio", "").Keeps(id));  // 1 where none is given
    EXPECT_TRUE(sampler("always_on", "").Keeps(id, false));
    EXPECT_FALSE(sampler("always_off", "").Keeps(id));
    EXPECT_FALSE(sampler("traceidratio", "0").Keeps(id));
    EXPECT_TRUE(sampler("parentbased_always_off", "").Keeps(id, true));
    EXPECT_FALSE(sampler("parentbased_traceidratio", "1").Keeps(id, false));
  }
}

TEST(OtelSettingsTest, AWrongValueIsRefusedByName) {
  struct Case {
    const char* name;
    const char* value;
    const char* expected;
  };
  for (const Case& c : {
           Case{kProtocol, "http/json", "http/protobuf or grpc"},
           Case{kEndpoint, "collector:4318", "http://HOST:PORT"},
           Case{kEndpoint, "ftp://h", "http://HOST:PORT"},
           Case{kEndpoint, "http://", "http://HOST:PORT"},
           Case{kEndpoint, "http://h:0", "http://HOST:PORT"},
           Case{kEndpoint, "http://h:65536", "http://HOST:PORT"},
           Case{kEndpoint, "http://user@h", "http://HOST:PORT"},
           Case{kEndpoint, "http://h?x=1", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"},
           Case{"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", "none or gzip"},
           Case{"OTEL_EXPORTER_OTLP_TIMEOUT", "0", "from 1 to"},
           Case{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "from 1 to"},
           Case{"OTEL_EXPORTER_OTLP_INSECURE", "yes", "true or false"},
           Case{"OTEL_EXPORTER_OTLP_HEADERS", "novalue", "key=value"},
           Case{"OTEL_EXPORTER_OTLP_HEADERS", "a=%zz", "%25"},
           Case{"OTEL_EXPORTER_OTLP_HEADERS", "a=x%0d%0ay", "line ends"},
           Case{"OTEL_RESOURCE_ATTRIBUTES", "=v", "key=value"},
           Case{"OTEL_TRACES_EXPORTER", "console", "otlp or none"},
           Case{"OTEL_TRACES_SAMPLER", "jaeger_remote", "traceidratio"},
           Case{"OTEL_SDK_DISABLED", "1", "true or false"},
           Case{"OTEL_BSP_SCHEDULE_DELAY", "-1", "from 0 to"},
           Case{"OTEL_BSP_EXPORT_TIMEOUT", "86400001", "from 1 to"},
           Case{"OTEL_BSP_MAX_QUEUE_SIZE", "0", "from 1 to"},
           Case{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "65537", "OTEL_BSP_MAX_QUEUE_SIZE"},
       }) {
    SCOPED_TRACE(c.name);
    const absl::Status status = Read({{c.name, c.value}}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(c.name) + ": '" + c.value + "'"));
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.expected));
  }
  EXPECT_THAT(
      std::string(
          Read({{"OTEL_TRACES_SAMPLER", "traceidratio"}, {"OTEL_TRACES_SAMPLER_ARG", "nan"}}).status().message()),
      HasSubstr("OTEL_TRACES_SAMPLER_ARG: 'nan'"));
  EXPECT_THAT(std::string(Read({{kProtocol, "grpc"}, {kEndpoint, "http://h:1/v1/traces"}}).status().message()),
              HasSubstr("no path"));
  EXPECT_THAT(std::string(Read({{"OTEL_EXPORTER_OTLP_CLIENT_KEY", "k"}}).status().message()), HasSubstr("go together"));
}

}  // namespace
}  // namespace hopgap::formats
