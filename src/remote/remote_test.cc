#include "remote/remote.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <string>

// What needs no server that answers; the rest is in tests/wire_e2e_test.cc.
namespace hopgap::remote {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

// A port of this machine on which connections are accepted and nothing is said.
class SilentServer {
 public:
  SilentServer() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd_, 16), 0);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    target_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~SilentServer() { Close(); }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  const std::string& target() const { return target_; }

 private:
  int fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string target_;
};

class EndedHandler final : public Handler {
 public:
  void OnResponse(uint64_t, Instant, Instant, pubsub::StreamingPullResponse) override { ADD_FAILURE(); }
  void OnStreamEnded(uint64_t, Instant, const absl::Status& status, const std::string&) override {
    ended_.set_value(status);
  }
  void OnCallDone(uint64_t, Instant, const absl::Status&, const std::string&, pubsub::Bytes) override { ADD_FAILURE(); }
  absl::Status Wait() { return ended_.get_future().get(); }

 private:
  std::promise<absl::Status> ended_;
};

TEST(RemoteTest, AnUnreachableTargetIsNamedInTime) {
  SilentServer server;
  server.Close();  // refused from now on
  Remote remote;
  const auto connection = remote.Connect(server.target());
  const absl::Status ready = connection->WaitReady(200ms);
  EXPECT_EQ(ready.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(ready.ToString(), HasSubstr("nothing that speaks gRPC answers at " + server.target() + " within 0.2 s"));
  const absl::Status created = connection->CreateTopic("projects/p/topics/topic");
  EXPECT_EQ(created.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(created.ToString(), HasSubstr(server.target()));
}

TEST(RemoteTest, ASilentTargetEndsInTheDeadline) {
  SilentServer server;
  Remote remote;
  const auto connection = remote.Connect(server.target());
  EXPECT_EQ(connection->WaitReady(100ms).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(connection->CreateTopic("projects/p/topics/topic", 100ms).code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(RemoteTest, AStreamThatHasNotStartedQueuesUpToItsLimitAndCanBeCancelled) {
  SilentServer server;
  Remote remote;
  const auto connection = remote.Connect(server.target());
  EndedHandler handler;
  const StreamRef stream = connection->OpenStream(handler, 1, {pubsub::Bytes(std::string("first"))});
  stream->Read();
  for (size_t queued = 1; queued < Stream::kQueuedMax; ++queued) ASSERT_TRUE(stream->Send({}).ok());
  EXPECT_EQ(stream->Send({}).code(), absl::StatusCode::kResourceExhausted);
  stream->HalfClose();
  EXPECT_EQ(stream->Send({}).code(), absl::StatusCode::kFailedPrecondition);
  stream->Cancel();
  EXPECT_EQ(handler.Wait().code(), absl::StatusCode::kCancelled);
}

TEST(RemoteTest, ShutdownAnswersWhatIsUnderWayAndDropsWhatComesLater) {
  SilentServer server;
  EndedHandler handler;
  Remote remote;
  const auto connection = remote.Connect(server.target());
  const StreamRef stream = connection->OpenStream(handler, 1, {});
  remote.Shutdown();
  EXPECT_EQ(handler.Wait().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(connection->CreateTopic("projects/p/topics/topic").code(), absl::StatusCode::kCancelled);
  connection->OpenStream(handler, 2, {})->Read();
  remote.Shutdown();
}

}  // namespace
}  // namespace hopgap::remote
