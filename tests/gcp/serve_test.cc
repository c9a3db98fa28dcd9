// `hopgap serve` behind TLS and asking who calls, and hopgap as its client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/text.h"
#include "gcp/fake_google.h"

namespace hopgap::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class ServeTest : public ::testing::Test {
 protected:
  ServeTest() {
    const Certificate server = Certificate::Make("server"), client = Certificate::Make("client");
    folder_.Write("server.pem", server.certificate);
    folder_.Write("server.key", server.key);
    folder_.Write("client.pem", client.certificate);
    folder_.Write("client.key", client.key);
    folder_.Write("token", "0123456789abcdef0123456789abcdef\n");
    folder_.Write("wrong", "0123456789abcdef0123456789abcdeX\n");
  }
  Process Hopgap(std::vector<std::string> words) const {
    words.insert(words.begin(), HOPGAP_BINARY);
    return Process(words, folder_.path());
  }
  // Starts the broker with the flags and gives its address.
  std::string Serve(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"serve", "--port", "0", "--tls-cert", "server.pem", "--tls-key", "server.key"});
    broker_.reset(new Process(Hopgap(flags)));  // never copied: its destructor ends the process
    EXPECT_TRUE(broker_->WaitForText("Ctrl-C", 10s)) << broker_->output();
    const std::string before = "tls:";
    const size_t at = broker_->output().find(before);
    return broker_->output().substr(at, broker_->output().find(' ', at) - at);
  }
  int Run(const std::string& target, std::vector<std::string> flags, std::string* output = nullptr) const {
    flags.insert(flags.begin(), {"run", "--work", "0ms", "--rate", "20", "--messages", "5", "--no-out", "--quiet",
                                 "--target", target, "--ca-file", "server.pem"});
    Process run = Hopgap(flags);
    const int code = run.Wait();
    if (output != nullptr) *output = run.output();
    return code == 2 ? 0 : code;  // 2: a loaded machine
  }
  void ExpectRefusal(std::vector<std::string> flags, const std::string& text) const {
    flags.insert(flags.begin(), {"serve", "--port", "0"});
    Process serve = Hopgap(flags);
    EXPECT_EQ(serve.Wait(10s), 3) << serve.output();
    EXPECT_THAT(serve.output(), HasSubstr(text));
  }

  Folder folder_;
  std::unique_ptr<Process> broker_;
};

TEST_F(ServeTest, ATokenIsAskedOfEveryCall) {
  const std::string target = Serve({"--auth-token-file", "token"});
  std::string output;
  EXPECT_EQ(Run(target, {"--token-file", "token"}, &output), 0) << output;
  EXPECT_EQ(Run(target, {"--token-file", "wrong"}, &output), 8) << output;
  EXPECT_THAT(output, HasSubstr("is not this broker's"));
  EXPECT_EQ(Run(target, {}, &output), 8) << output;
  EXPECT_THAT(output, HasSubstr("give --token-file"));
  broker_->Signal(SIGTERM);
  EXPECT_EQ(broker_->Wait(5s), 0) << broker_->output();
}

TEST_F(ServeTest, ClientsShowACertificateWhereItIsAsked) {
  const std::string target = Serve({"--client-ca", "client.pem"});
  std::string output;
  EXPECT_EQ(Run(target, {"--client-cert", "client.pem", "--client-key", "client.key"}, &output), 0) << output;
  EXPECT_NE(Run(target, {}, &output), 0) << output;
  EXPECT_NE(Run(target, {"--client-cert", "server.pem", "--client-key", "server.key"}, &output), 0) << output;
}

TEST_F(ServeTest, DoesNotListenBeyondLoopbackForEverybodyUnlessToldInWords) {
  ExpectRefusal({"--host", "0.0.0.0"}, "--insecure-listen-everywhere");
  // TLS alone hides the words, and asks nobody who they are.
  ExpectRefusal({"--host", "0.0.0.0", "--tls-cert", "server.pem", "--tls-key", "server.key"}, "--client-ca");
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--insecure-listen-everywhere"}, {"--auth-token-file", "token"}}) {
    std::vector<std::string> words = {"serve", "--port", "0", "--host", "0.0.0.0"};
    words.insert(words.end(), flags.begin(), flags.end());
    Process serve = Hopgap(words);
    EXPECT_TRUE(serve.WaitForText("Server started", 10s)) << serve.output();
    EXPECT_TRUE(serve.WaitForText("hopgap: ", 10s)) << serve.output();  // what is open, it says
  }
}

TEST_F(ServeTest, WrongFilesAreNamed) {
  ExpectRefusal({"--tls-cert", "server.pem"}, "--tls-cert and --tls-key: give both or neither");
  ExpectRefusal({"--tls-cert", "none.pem", "--tls-key", "server.key"}, "--tls-cert none.pem: cannot be read");
  ExpectRefusal({"--tls-cert", "server.pem", "--tls-key", "client.key"}, "are they PEM, a pair");
  ExpectRefusal({"--client-ca", "client.pem"}, "--client-ca: needs --tls-cert");
  folder_.Write("short", "abc");
  ExpectRefusal({"--auth-token-file", "short"}, "a token of 3 bytes can be guessed");
}

TEST_F(ServeTest, APortInUseIsNamedUnderTlsToo) {
  const std::string target = Serve({});
  const std::string port = target.substr(target.rfind(':') + 1);
  Process second = Hopgap({"serve", "--port", port, "--tls-cert", "server.pem", "--tls-key", "server.key"});
  EXPECT_EQ(second.Wait(10s), 5) << second.output();
  EXPECT_THAT(second.output(), HasSubstr("is in use by another program"));
}

}  // namespace
}  // namespace hopgap::tests
