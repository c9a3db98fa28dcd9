#include "server/acceptor.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hopgap::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

UniqueFd Dial(uint16_t port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return fd;
}

void Say(const UniqueFd& fd, std::string_view text) {
  EXPECT_EQ(send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

// Until the other side ends it (or resets it: "reset").
std::string ReadAll(const UniqueFd& fd) {
  std::string all;
  char buffer[4'096];
  for (;;) {
    const ssize_t size = recv(fd.get(), buffer, sizeof buffer, 0);
    if (size < 0) return "reset";
    if (size == 0) return all;
    all.append(buffer, static_cast<size_t>(size));
  }
}

// Sockets that were handed over.
class Taken {
 public:
  void Take(int fd) {
    std::lock_guard lock(mu_);
    fds_.emplace_back(fd);
    changed_.notify_all();
  }
  UniqueFd Wait() {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [this] { return !fds_.empty(); });
    UniqueFd fd = std::move(fds_.back());
    fds_.pop_back();
    return fd;
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  std::vector<UniqueFd> fds_;
};

class AcceptorTest : public ::testing::Test {
 protected:
  void Start(const Acceptor::Limits& limits) {
    absl::StatusOr<std::unique_ptr<Acceptor>> acceptor = Acceptor::Listen("127.0.0.1", 0, limits);
    ASSERT_TRUE(acceptor.ok()) << acceptor.status();
    acceptor_ = *std::move(acceptor);
    acceptor_->Start([this](int fd) { taken_.Take(fd); });
  }

  Taken taken_;
  std::unique_ptr<Acceptor> acceptor_;
};

TEST_F(AcceptorTest, Http2IsHandedOverWithEveryByteStillThere) {
  Start({});
  constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  const UniqueFd client = Dial(acceptor_->port());
  Say(client, kPreface.substr(0, 1));
  Say(client, kPreface.substr(1));
  const UniqueFd server = taken_.Wait();
  char first[64] = {};
  size_t size = 0;
  while (size < kPreface.size()) {
    const ssize_t more = recv(server.get(), first + size, sizeof first - size, 0);
    if (more > 0) size += static_cast<size_t>(more);
  }
  EXPECT_EQ(std::string_view(first, size), kPreface);
  EXPECT_EQ(acceptor_->handed_over(), 1u);
}

TEST_F(AcceptorTest, Http1IsAnsweredAndNotReset) {
  Start({});
  const UniqueFd client = Dial(acceptor_->port());
  Say(client, "POST /v1/projects/p/topics/t:publish HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n" +
                  std::string(9'000, 'b'));
  const std::string answer = ReadAll(client);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 501 "));
  EXPECT_THAT(answer, HasSubstr("\"status\":\"UNIMPLEMENTED\""));
  EXPECT_EQ(acceptor_->refused(), 1u);
}

TEST_F(AcceptorTest, OtherProtocolsAndEarlyEndsAreDropped) {
  Start({});
  const UniqueFd tls = Dial(acceptor_->port());
  Say(tls, "\x16\x03\x01\x02");
  ReadAll(tls);
  const UniqueFd ended = Dial(acceptor_->port());
  Say(ended, "P");
  shutdown(ended.get(), SHUT_WR);
  ReadAll(ended);
  EXPECT_EQ(acceptor_->dropped(), 2u);
  EXPECT_EQ(acceptor_->handed_over(), 0u);
}

TEST_F(AcceptorTest, ASilentConnectionIsDroppedAfterTheWait) {
  Start({.first_bytes_wait = 20ms});
  EXPECT_EQ(ReadAll(Dial(acceptor_->port())), "");
  EXPECT_EQ(acceptor_->dropped(), 1u);
}

TEST_F(AcceptorTest, BeyondThePendingLimitConnectionsWaitTheirTurn) {
  Start({.first_bytes_wait = 60s, .pending_max = 1});
  UniqueFd silent = Dial(acceptor_->port());
  const UniqueFd second = Dial(acceptor_->port());
  Say(second, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  EXPECT_EQ(acceptor_->handed_over(), 0u);  // not reached: the first has said nothing
  silent.Reset();
  taken_.Wait();
  EXPECT_EQ(acceptor_->dropped(), 1u);
}

TEST_F(AcceptorTest, APortInUseIsNamedWithWhatToDo) {
  Start({});
  const absl::Status status = Acceptor::Listen("127.0.0.1", acceptor_->port(), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(status.ToString(), HasSubstr("port " + std::to_string(acceptor_->port()) + " on 127.0.0.1 is in use"));
  EXPECT_THAT(status.ToString(), HasSubstr("choose another port"));
}

TEST_F(AcceptorTest, AHostThatIsNotOursIsRefused) {
  const absl::Status status = Acceptor::Listen("192.0.2.1", 0, {}).status();  // TEST-NET-1
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

TEST_F(AcceptorTest, StopClosesThePortAndWhatIsPending) {
  Start({.first_bytes_wait = 60s});
  const uint16_t port = acceptor_->port();
  const UniqueFd silent = Dial(port);
  acceptor_->Stop();
  EXPECT_THAT(ReadAll(silent), ::testing::AnyOf("", "reset"));
  EXPECT_TRUE(Acceptor::Listen("127.0.0.1", port, {}).ok());
}

}  // namespace
}  // namespace hopgap::server
