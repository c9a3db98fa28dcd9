// The wire where it frays: other protocols, other methods, clients that die,
// servers that stop, queues that are full.
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <future>
#include <set>

#include "base/text.h"
#include "relay.h"
#include "wire_fixture.h"

namespace hopgap {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

// The whole answer to one HTTP/1.1 request on a connection of its own.
std::string AskHttp(uint16_t port, std::string_view what) {
  const int fd = Dial(port);
  const std::string request = StrCat(what, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(send(fd, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4'096];
  for (ssize_t size = 0; (size = recv(fd, buffer, sizeof buffer, 0)) > 0;)
    answer.append(buffer, static_cast<size_t>(size));
  close(fd);
  return answer;
}

TEST_F(WireTest, Http1IsAnsweredInItsOwnLanguage) {
  Start();
  const std::string answer = AskHttp(server_->port(), "GET /v1/projects/p/topics");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 501 "));
  EXPECT_THAT(answer, HasSubstr("Pub/Sub over HTTP/1.1 is not supported yet"));
  EXPECT_EQ(server_->figures().http1_refused, 1u);
}

TEST_F(WireTest, HealthIsAskedOverHttpOnTheSamePort) {
  Start();
  EXPECT_THAT(AskHttp(server_->port(), "GET /"), EndsWith("\r\n\r\nOk"));
  EXPECT_THAT(AskHttp(server_->port(), "GET /healthz"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(AskHttp(server_->port(), "POST /healthz"), StartsWith("HTTP/1.1 501 "));
}

TEST_F(WireTest, ASecondServerOnThePortIsRefused) {
  Start();
  server::GrpcServer::Options options = ServerOptions();
  options.port = server_->port();
  const absl::Status status = server::GrpcServer::Start(std::move(options), journal_, sink_, timer_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(status.ToString(), HasSubstr("in use"));
}

grpc::Status CallByPath(const std::string& target, const std::string& path) {
  grpc::GenericStub stub(grpc::CreateChannel(target, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const grpc::ByteBuffer request(nullptr, 0);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, path, {}, &request, &response,
                 [&](grpc::Status status) { done.set_value(std::move(status)); });
  return done.get_future().get();
}

TEST_F(WireTest, WhatIsNotServedIsNamed) {
  Start();
  for (const char* path :
       {"/google.pubsub.v1.Subscriber/ModifyPushConfig", "/google.pubsub.v1.SchemaService/CreateSchema"}) {
    SCOPED_TRACE(path);
    const grpc::Status status = CallByPath(server_->target(), path);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
    EXPECT_EQ(status.error_message(), pubsub::UnimplementedText(path));
  }
}

TEST_F(WireTest, AKilledClientsStreamGetsNoMoreMessages) {
  constexpr size_t kMessages = 50;
  Start();
  CreateTopicAndSubscription(false);
  Relay relay(server_->port());
  const auto doomed = remote_.Connect(relay.target());
  Mailbox dead;
  const remote::StreamRef lost = doomed->OpenStream(dead, 7, StreamRequest(kSubscription));
  lost->Read();
  dead.WaitResponse();
  lost->Read();
  const remote::StreamRef stream = connection_->OpenStream(mailbox_, 1, StreamRequest(kSubscription));
  stream->Read();
  mailbox_.WaitResponse();

  relay.Kill();
  EXPECT_EQ(dead.WaitEnded(7).status.code(), absl::StatusCode::kUnavailable);
  WaitForOpenRpcs(1);
  Publish(std::vector<std::string>(kMessages, "for the living"));
  std::set<std::string> message_ids;
  while (message_ids.size() < kMessages && !HasFailure()) {
    for (const pubsub::ReceivedMessage& message : ReadMessages(*stream).body.received_messages) {
      message_ids.emplace(message.message.message_id());
    }
  }
  EXPECT_EQ(message_ids.size(), kMessages);
  EXPECT_EQ(server_->counters().redeliveries, 0u);  // none had gone the other way
}

TEST_F(WireTest, StopEndsStreamsWithUnavailableAndFreesThePort) {
  Start();
  CreateTopicAndSubscription(true);
  const remote::StreamRef stream = connection_->OpenStream(mailbox_, 1, StreamRequest(kSubscription));
  stream->Read();
  mailbox_.WaitResponse();
  stream->Read();
  const uint16_t port = server_->port();
  server_->Stop();
  server_->Stop();
  EXPECT_EQ(mailbox_.WaitEnded(1).status.code(), absl::StatusCode::kUnavailable);
  server_.reset();
  server::GrpcServer::Options options = ServerOptions();
  options.port = port;
  Start(std::move(options));  // at once, on the same port
  EXPECT_EQ(connection_->CreateTopic("projects/hopgap/topics/again"), absl::OkStatus());
}

// The kinds of HTTP/2's frames, in order, with those that end a stream as 'E'.
std::string FramesOf(std::string_view bytes) {
  constexpr size_t kHeaderBytes = 9;
  constexpr unsigned char kHeaders = 1, kGoAway = 7, kEndStream = 1;
  std::string kinds;
  while (bytes.size() >= kHeaderBytes) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const size_t size = kHeaderBytes + (size_t{byte(0)} << 16 | size_t{byte(1)} << 8 | byte(2));
    if (byte(3) == kHeaders) kinds += (byte(4) & kEndStream) != 0 ? 'E' : 'h';
    if (byte(3) == kGoAway) kinds += 'G';
    if (size > bytes.size()) break;
    bytes.remove_prefix(size);
  }
  return kinds;
}

// Otherwise a client opens its next stream on the connection that is about to go, and gets CANCELLED.
TEST_F(WireTest, StopTellsConnectionsToGoAwayBeforeItEndsTheirStreams) {
  constexpr uint64_t kStreams = 10;
  Start();
  CreateTopicAndSubscription(false);
  Relay relay(server_->port());
  connection_ = remote_.Connect(relay.target());
  std::vector<remote::StreamRef> streams;
  for (uint64_t id = 1; id <= kStreams; ++id) {
    streams.push_back(connection_->OpenStream(mailbox_, id, StreamRequest(kSubscription)));
    streams.back()->Read();
  }
  for (uint64_t id = 1; id <= kStreams; ++id) mailbox_.WaitResponse();
  for (const remote::StreamRef& stream : streams) stream->Read();
  server_->Stop();
  for (uint64_t id = 1; id <= kStreams; ++id) {
    EXPECT_EQ(mailbox_.WaitEnded(id).status.code(), absl::StatusCode::kUnavailable);
  }
  relay.Kill();
  const std::string kinds = FramesOf(relay.to_client());
  EXPECT_EQ(std::ranges::count(kinds, 'E'), kStreams) << kinds;
  EXPECT_LT(kinds.find('G'), kinds.find('E')) << kinds;
}

// Nobody reads the stream, so its writes wait for the client for ever.
TEST_F(WireTest, StopDoesNotWaitForAClientThatTakesNothing) {
  server::GrpcServer::Options options = ServerOptions();
  options.stop_wait = 50ms;
  Start(std::move(options));
  CreateTopicAndSubscription(false);
  // On a connection of its own, so that the publishes below share no window with it.
  const auto unread = remote_.Connect(server_->target());
  const remote::StreamRef stream = unread->OpenStream(mailbox_, 1, StreamRequest(kSubscription));
  for (int i = 0; i < 3; ++i) Publish({std::string(9'000'000, 'x')});
  server_->Stop();
  stream->Cancel();
  mailbox_.WaitEnded(1);
}

TEST_F(WireTest, ARestartFromTheJournalDeliversWhatWasNotAcked) {
  Start();
  CreateTopicAndSubscription(false);
  Publish({"kept"});
  server_.reset();
  server::GrpcServer::Options options = ServerOptions();
  options.journal_records = journal_.records();
  Start(std::move(options));
  const remote::StreamRef stream = connection_->OpenStream(mailbox_, 1, StreamRequest(kSubscription));
  EXPECT_EQ(ReadMessages(*stream).body.received_messages.at(0).message.data(), "kept");
}

TEST_F(WireTest, AJournalThatCannotBeReplayedStopsTheStart) {
  server::GrpcServer::Options options = ServerOptions();
  options.journal_records = {pubsub::Bytes(std::string("\xff\xff\xff"))};
  EXPECT_FALSE(server::GrpcServer::Start(std::move(options), journal_, sink_, timer_).ok());
}

TEST_F(WireTest, ThePlantedWireDelayHoldsEveryResponseOfAStream) {
  constexpr Duration kDelay = 40ms;
  server::GrpcServer::Options options = ServerOptions();
  options.planted_wire_delay = kDelay;
  Start(std::move(options));
  CreateTopicAndSubscription(true);
  const remote::StreamRef stream = connection_->OpenStream(mailbox_, 1, StreamRequest(kSubscription));
  stream->Read();
  mailbox_.WaitResponse();
  for (int i = 0; i < 3; ++i) {
    const Instant before = SteadyNow();
    Publish({"late"});
    EXPECT_GE(ReadMessages(*stream).received - before, kDelay);
  }
  stream->Read();
  stream->HalfClose();  // the end comes after what is held back
  EXPECT_EQ(mailbox_.WaitEnded(1).status, absl::OkStatus());
}

TEST_F(WireTest, AFullQueueOfRequestsIsAnsweredNotGrown) {
  server::GrpcServer::Options options = ServerOptions();
  options.queued_requests_max = 0;
  Start(std::move(options));
  const absl::Status status = connection_->CreateTopic(kTopic);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.ToString(), HasSubstr("queue of requests is full"));
  const remote::StreamRef stream = connection_->OpenStream(mailbox_, 1, StreamRequest(kSubscription));
  stream->Read();
  EXPECT_EQ(mailbox_.WaitEnded(1).status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(server_->figures().strand.refused, 2u);
}

TEST_F(WireTest, ACallThatItsClientGaveUpIsForgottenByTheBroker) {
  Start();
  CreateTopicAndSubscription(false);
  pubsub::PullRequest pull;  // waits for a message
  pull.subscription = kSubscription;
  pull.max_messages = 1;
  connection_->Call(mailbox_, 1, pubsub::Method::kPull, {pubsub::Encode(pull)}, 100ms);
  EXPECT_EQ(mailbox_.WaitCall(1).status.code(), absl::StatusCode::kDeadlineExceeded);
  Publish({"for a stream"});
  const remote::StreamRef stream = connection_->OpenStream(mailbox_, 1, StreamRequest(kSubscription));
  EXPECT_THAT(ReadMessages(*stream).body.received_messages, SizeIs(1));
}

TEST_F(WireTest, AClientThatLeavesWithEverythingOpenLeavesNothingBehind) {
  Start();
  CreateTopicAndSubscription(true);
  Mailbox left;
  {
    remote::Remote leaving;
    const auto connection = leaving.Connect(server_->target());
    std::vector<remote::StreamRef> streams;
    for (uint64_t i = 0; i < 16; ++i) {
      streams.push_back(connection->OpenStream(left, i, StreamRequest(kSubscription)));
      if (i % 2 == 0) streams.back()->Read();
    }
    for (uint64_t i = 0; i < 100; ++i) connection->Call(left, i, pubsub::Method::kPublish, PublishOf({"x"}), 30s);
    leaving.Shutdown();
  }
  for (uint64_t i = 0; i < 16; ++i) left.WaitEnded(i);
  for (uint64_t i = 0; i < 100; ++i) left.WaitCall(i);
  WaitForOpenRpcs(0);
  EXPECT_THAT(Publish({"still here"}), SizeIs(1));
}

TEST_F(WireTest, TheServerMeasuresItself) {
  Start();
  CreateTopicAndSubscription(false);
  int ran = 0;
  server_->RunOnStrand([&] { ++ran; });
  EXPECT_EQ(ran, 1);
  EXPECT_GT(server_->figures().longest_poll_cycle, Duration{0});
  EXPECT_GT(server_->figures().strand.tasks, 0u);
  Publish({"x"});
  EXPECT_GT(remote_.longest_poll_cycle(), Duration{0});
}

}  // namespace
}  // namespace hopgap
