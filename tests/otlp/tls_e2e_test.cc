// Spans over TLS, with and without a certificate of our own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <map>
#include <string>
#include <thread>

#include "base/text.h"
#include "formats/otlp_span_testing.h"
#include "gcp/fake_google.h"
#include "live/span_exporter.h"

namespace hopgap::tests {
namespace {

using namespace std::chrono_literals;
using live::OtlpOutcome;
using ::testing::HasSubstr;

constexpr Duration kPatience = 60s;

class OtlpTlsTest : public ::testing::Test {
 protected:
  OtlpOutcome Send(const std::string& protocol, int port, std::map<std::string, std::string> more) {
    more["ENDPOINT"] = StrCat("https://127.0.0.1:", port);
    more["PROTOCOL"] = protocol;
    const auto settings = formats::ReadOtelSettings([&](const std::string& name) -> std::optional<std::string> {
      constexpr std::string_view kPrefix = "OTEL_EXPORTER_OTLP_";
      if (!name.starts_with(kPrefix)) return std::nullopt;
      const auto found = more.find(name.substr(kPrefix.size()));
      return found == more.end() ? std::nullopt : std::optional(found->second);
    });
    auto transport = live::MakeOtlpTransport(*settings);
    EXPECT_TRUE(transport.ok()) << transport.status();
    return (*transport)
        ->Send(formats::EncodeOtlpRequests(std::vector{formats::FullSpan()}, {}, {})[0].bytes, kPatience);
  }

  Folder folder_;
  const Certificate server_ = Certificate::Make("receiver"), client_ = Certificate::Make("sender");
  const std::string ca_file_ = folder_.Write("ca.pem", server_.certificate);
  const std::string server_key_file_ = folder_.Write("key.pem", server_.key);
  const std::string client_file_ = folder_.Write("client.pem", client_.certificate);
  const std::string client_key_file_ = folder_.Write("client-key.pem", client_.key);
};

// The broker knows no spans: that it says so is an answer, which only comes
// when both sides trust each other.
TEST_F(OtlpTlsTest, GrpcShowsACertificateAndChecksTheReceivers) {
  trace::NullSink sink;
  loop::Timer timer;
  store::MemoryJournal journal;
  server::GrpcServer::Options options;
  options.tls = server::GrpcServer::Tls{server_.certificate, server_.key, client_.certificate};
  auto broker = server::GrpcServer::Start(std::move(options), journal, sink, timer);
  ASSERT_TRUE(broker.ok()) << broker.status();
  const int port = (*broker)->port();
  const OtlpOutcome trusted =
      Send("grpc", port,
           {{"CERTIFICATE", ca_file_}, {"CLIENT_CERTIFICATE", client_file_}, {"CLIENT_KEY", client_key_file_}});
  EXPECT_EQ(trusted.kind, OtlpOutcome::Kind::kRefused);
  EXPECT_THAT(trusted.message, HasSubstr("UNIMPLEMENTED"));
  const OtlpOutcome nameless = Send("grpc", port, {{"CERTIFICATE", ca_file_}});
  EXPECT_EQ(nameless.kind, OtlpOutcome::Kind::kTryAgain) << nameless.message;
  const OtlpOutcome untrusted = Send("grpc", port, {});
  EXPECT_EQ(untrusted.kind, OtlpOutcome::Kind::kTryAgain) << untrusted.message;
}

TEST_F(OtlpTlsTest, HttpShowsACertificateAndChecksTheReceivers) {
  httplib::SSLServer server(ca_file_.c_str(), server_key_file_.c_str(), client_file_.c_str());
  ASSERT_TRUE(server.is_valid());
  server.Post("/v1/traces", [](const httplib::Request& request, httplib::Response& response) {
    std::vector<trace::Span> spans;
    response.status = formats::DecodeOtlpRequest(request.body, spans).ok() && spans.size() == 1 ? 200 : 400;
  });
  const int port = server.bind_to_any_port("127.0.0.1");
  std::thread thread([&] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::yield();
  const std::map<std::string, std::string> own = {{"CLIENT_CERTIFICATE", client_file_},
                                                  {"CLIENT_KEY", client_key_file_}};
  std::map<std::string, std::string> both = own;
  both["CERTIFICATE"] = ca_file_;
  const OtlpOutcome trusted = Send("http/protobuf", port, both);
  EXPECT_EQ(trusted.kind, OtlpOutcome::Kind::kTaken) << trusted.message;
  const OtlpOutcome nameless = Send("http/protobuf", port, {{"CERTIFICATE", ca_file_}});
  EXPECT_EQ(nameless.kind, OtlpOutcome::Kind::kTryAgain) << nameless.message;
  const OtlpOutcome untrusted = Send("http/protobuf", port, own);
  EXPECT_EQ(untrusted.kind, OtlpOutcome::Kind::kTryAgain);
  EXPECT_THAT(untrusted.message, HasSubstr("not trusted"));
  server.stop();
  thread.join();
}

}  // namespace
}  // namespace hopgap::tests
