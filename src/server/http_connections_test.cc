#include "server/http_connections.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <future>
#include <latch>
#include <string>
#include <utility>

namespace hopgap::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A connected pair: what a client holds, and what an acceptor would hand over.
std::pair<int, int> Pair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {ends[0], ends[1]};
}

void Ask(int fd, const std::string& head) {
  const std::string request = head + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  ASSERT_EQ(send(fd, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
}

// Until the server closes.
std::string ReadAll(int fd) {
  std::string all;
  std::array<char, 1024> buffer{};
  for (ssize_t size = 0; (size = recv(fd, buffer.data(), buffer.size(), 0)) > 0;) {
    all.append(buffer.data(), static_cast<size_t>(size));
  }
  close(fd);
  return all;
}

TEST(HttpConnectionsTest, AnswersRequestAfterRequestOnAConnectionItDidNotAccept) {
  int asked = 0;
  HttpConnections connections({}, [&](const HttpCall& call) {
    ++asked;
    return HttpReply{.status = 200, .content_type = "text/plain", .body = call.path, .headers = {}};
  });
  const auto [client, server] = Pair();
  connections.Serve(server);
  Ask(client, "GET /one");
  std::array<char, 1024> buffer{};
  ASSERT_GT(recv(client, buffer.data(), buffer.size(), 0), 0);
  Ask(client, "GET /two");
  shutdown(client, SHUT_WR);
  EXPECT_THAT(ReadAll(client), EndsWith("/two"));
  connections.Stop();
  EXPECT_EQ(asked, 2);
}

// One thread that answers, one connection that waits: the third is told so, and
// the first is closed after its answer for the sake of the second.
TEST(HttpConnectionsTest, BeyondItsLimitsAConnectionIsRefused) {
  std::latch asked(1);
  std::promise<void> go;
  std::shared_future<void> may_go = go.get_future().share();
  bool first = true;
  HttpConnections connections({.threads_max = 1, .waiting_max = 1}, [&](const HttpCall& call) {
    if (std::exchange(first, false)) {
      asked.count_down();
      may_go.wait();
    }
    return HttpReply{.status = 200, .content_type = "text/plain", .body = call.path, .headers = {}};
  });
  const auto [busy, busy_server] = Pair();
  const auto [waiting, waiting_server] = Pair();
  const auto [late, late_server] = Pair();
  Ask(busy, "GET /busy");
  connections.Serve(busy_server);
  asked.wait();
  Ask(waiting, "GET /waiting");
  connections.Serve(waiting_server);
  connections.Serve(late_server);
  EXPECT_THAT(ReadAll(late), StartsWith("HTTP/1.1 503 "));
  go.set_value();
  EXPECT_THAT(ReadAll(busy), EndsWith("/busy"));
  std::array<char, 1024> buffer{};
  const ssize_t size = recv(waiting, buffer.data(), buffer.size(), 0);
  EXPECT_THAT(std::string(buffer.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))), HasSubstr("/waiting"));
  connections.Stop();  // wakes the one that waits for a second request
  EXPECT_EQ(ReadAll(waiting), "");
}

TEST(HttpConnectionsTest, AfterTheEndNothingIsServed) {
  HttpConnections connections({}, [](const HttpCall&) { return HttpReply{}; });
  connections.Stop();
  const auto [client, server] = Pair();
  connections.Serve(server);
  EXPECT_EQ(ReadAll(client), "");
}

}  // namespace
}  // namespace hopgap::server
