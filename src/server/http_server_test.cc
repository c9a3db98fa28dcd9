#include "server/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <tuple>

#include "base/system_clock.h"
#include "base/text.h"

namespace hopgap::server {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

int Connect(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

// Sends `text` as it stands and returns everything until the server closes.
std::string Exchange(uint16_t port, const std::string& text) {
  const int fd = Connect(port);
  EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(fd, buffer, sizeof buffer)) > 0;) answer.append(buffer, static_cast<size_t>(got));
  close(fd);
  return answer;
}

TEST(HttpServerTest, AnswersWhatTheHandlerSays) {
  const auto echo = [](const HttpCall& call) {
    return HttpReply{.status = 202,
                     .content_type = "text/plain",
                     .body = call.method + call.path + std::string(call.Header("X-word")) + call.body,
                     .headers = {{"X-Seen", "yes"}}};
  };
  auto server = HttpServer::Start({}, echo);
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string answer = Exchange((*server)->port(),
                                      "POST /send?a=1 HTTP/1.1\r\nHost: x\r\nx-WORD: w\r\nContent-Length: 2\r\n"
                                      "Connection: close\r\n\r\nhi");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 202"));
  EXPECT_THAT(answer, HasSubstr("X-Seen: yes"));
  EXPECT_THAT(answer, EndsWith("POST/sendwhi"));
}

TEST(HttpServerTest, APostWithoutALengthHasNoBodyAndIsAnsweredAtOnce) {
  auto server = HttpServer::Start({.read_timeout = std::chrono::hours{1}},
                                  [](const HttpCall& call) { return HttpReply{.body = call.method, .headers = {}}; });
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT(Exchange((*server)->port(), "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), EndsWith("POST"));
}

TEST(HttpServerTest, ABodyBeyondTheLimitIsRefused) {
  auto server = HttpServer::Start({.body_bytes_max = 10}, [](const HttpCall&) { return HttpReply(); });
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT(Exchange((*server)->port(),
                       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\nConnection: close\r\n\r\n"
                       "12345678901"),
              AllOf(StartsWith("HTTP/1.1 413"), HasSubstr("larger than 10 bytes")));
}

// "-1" and what is beyond 64 bits were lengths that the library waited for.
TEST(HttpServerTest, ALengthThatNobodyWouldWaitForIsAnsweredAtOnce) {
  auto server = HttpServer::Start({.body_bytes_max = 10, .read_timeout = std::chrono::hours{1}},
                                  [](const HttpCall&) { return HttpReply(); });
  ASSERT_TRUE(server.ok()) << server.status();
  for (const auto& [length, status, text] : {std::tuple{"161", "413", "larger than 10 bytes"},
                                             {"18446744073709551615", "413", "larger than 10 bytes"},
                                             {"99999999999999999999", "413", "larger than 10 bytes"},
                                             {"-1", "400", "Content-Length is no number"},
                                             {"1x", "400", "Content-Length is no number"},
                                             {"0x5", "400", "Content-Length is no number"}}) {
    const std::string answer =
        Exchange((*server)->port(), StrCat("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ", length, "\r\n\r\n12345"));
    EXPECT_THAT(answer, StartsWith(StrCat("HTTP/1.1 ", status))) << length;
    EXPECT_THAT(answer, HasSubstr(text)) << length;
    EXPECT_THAT(answer, HasSubstr("Connection: close")) << length;
  }
}

TEST(HttpServerTest, TwoServersNeverShareAPort) {
  auto first = HttpServer::Start({}, [](const HttpCall&) { return HttpReply(); });
  ASSERT_TRUE(first.ok()) << first.status();
  auto second = HttpServer::Start({.port = (*first)->port()}, [](const HttpCall&) { return HttpReply(); });
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists) << second.status();
}

// Its length is not in a header, so it is found out on the way.
TEST(HttpServerTest, ABodyInChunksIsLimitedToo) {
  auto server = HttpServer::Start({.body_bytes_max = 4},
                                  [](const HttpCall& call) { return HttpReply{.body = call.body, .headers = {}}; });
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string start = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string answer = Exchange((*server)->port(), start + "2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(answer, HasSubstr("larger than 4 bytes"));
  EXPECT_THAT(Exchange((*server)->port(), start + "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n"), EndsWith("abcd"));
}

// An idle connection is kept for a minute, but not beyond the server's end.
TEST(HttpServerTest, StopDoesNotWaitForIdleConnections) {
  auto server = HttpServer::Start({}, [](const HttpCall&) { return HttpReply{.body = "x", .headers = {}}; });
  ASSERT_TRUE(server.ok()) << server.status();
  const int fd = Connect((*server)->port());
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  for (int round = 0; round < 2; ++round) {  // the connection is kept
    EXPECT_EQ(write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
    std::string answer;
    for (char byte = 0; !answer.ends_with("\r\n\r\nx") && read(fd, &byte, 1) == 1;) answer += byte;
    EXPECT_THAT(answer, EndsWith("x"));
  }
  const Instant before = SteadyNow();
  (*server)->Stop();
  EXPECT_LT(SteadyNow() - before, std::chrono::seconds{30});
  char end = 0;
  EXPECT_EQ(read(fd, &end, 1), 0);
  close(fd);
}

// What stands behind a request in the same packet is the next one.
TEST(HttpServerTest, TwoRequestsAtOnceAreAnsweredInTurn) {
  auto server = HttpServer::Start({}, [](const HttpCall& call) { return HttpReply{.body = call.path, .headers = {}}; });
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string answer = Exchange((*server)->port(),
                                      "GET /one HTTP/1.1\r\nHost: x\r\n\r\n"
                                      "GET /two HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("/one"));
  EXPECT_THAT(answer, EndsWith("/two"));
}

}  // namespace
}  // namespace hopgap::server
