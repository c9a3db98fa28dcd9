// A real broker on a real port, and our client: what the wire has to carry.
#include "wire_fixture.h"

#include <algorithm>
#include <set>

#include "pubsub/error_details.h"

namespace hopgap {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

TEST_F(WireTest, PublishedMessagesArePulledAndAcked) {
  Start();
  CreateTopicAndSubscription(false);
  const std::vector<std::string> ids = Publish({"one", "two"});
  ASSERT_THAT(ids, SizeIs(2));

  pubsub::PullRequest pull;
  pull.subscription = kSubscription;
  pull.max_messages = 10;
  auto answer = connection_->CallAndWait(pubsub::Method::kPull, {pubsub::Encode(pull)}, 30s);
  ASSERT_TRUE(answer.ok()) << answer.status();
  const auto messages = pubsub::DecodePullResponse(*answer);
  ASSERT_TRUE(messages.ok()) << messages.status();
  ASSERT_THAT(*messages, SizeIs(2));
  EXPECT_EQ((*messages)[0].message.data(), "one");
  EXPECT_EQ((*messages)[1].message.message_id(), ids[1]);
  EXPECT_TRUE((*messages)[0].message.publish_time().has_value());
  EXPECT_EQ(
      connection_->CallAndWait(pubsub::Method::kAcknowledge, AckOf({(*messages)[0].ack_id, (*messages)[1].ack_id}), 30s)
          .status(),
      absl::OkStatus());
}

TEST_F(WireTest, ExactlyOnceRoundTripOverAStream) {
  Start();
  CreateTopicAndSubscription(true);
  const remote::StreamRef stream = connection_->OpenStream(mailbox_, 1, StreamRequest(kSubscription));
  stream->Read();
  EXPECT_TRUE(mailbox_.WaitResponse().body.properties.exactly_once_delivery_enabled);

  Publish({"once"});
  const Instant before = SteadyNow();
  const Mailbox::Response response = ReadMessages(*stream);
  ASSERT_THAT(response.body.received_messages, SizeIs(1));
  EXPECT_GE(response.read_posted, before);
  EXPECT_GE(response.received, response.read_posted);
  const std::string ack_id = response.body.received_messages[0].ack_id;

  connection_->Call(mailbox_, 1, pubsub::Method::kModifyAckDeadline, ModackOf({ack_id}, 60), 30s);
  EXPECT_EQ(mailbox_.WaitCall(1).status, absl::OkStatus());
  for (uint64_t call = 2; call <= 3; ++call) {  // a repeat is no error
    connection_->Call(mailbox_, call, pubsub::Method::kAcknowledge, AckOf({ack_id}), 30s);
    EXPECT_EQ(mailbox_.WaitCall(call).status, absl::OkStatus());
  }
  EXPECT_EQ(server_->counters().receipt_modacks, 1u);
  EXPECT_EQ(server_->counters().modacks_that_waited_for_the_journal, 0u);
  EXPECT_EQ(server_->counters().redeliveries, 0u);
}

TEST_F(WireTest, AnInvalidAckIdIsNamedInTheTrailer) {
  Start();
  CreateTopicAndSubscription(true);
  connection_->Call(mailbox_, 1, pubsub::Method::kAcknowledge, AckOf({"no-such-id"}), 30s);
  const Mailbox::Outcome outcome = mailbox_.WaitCall(1);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kInvalidArgument) << outcome.status;
  EXPECT_THAT(pubsub::DecodeErrorMetadata(outcome.details),
              Contains(Pair("no-such-id", std::string(pubsub::kPermanentInvalidAckId))));
}

TEST_F(WireTest, NearlyTheLargestMessageArrivesWhole) {
  Start();
  CreateTopicAndSubscription(false);
  std::string body(9'500'000, 'x');
  for (size_t i = 0; i < body.size(); i += 4'099) body[i] = static_cast<char>('a' + i % 23);
  Publish({body});
  const remote::StreamRef stream = connection_->OpenStream(mailbox_, 1, StreamRequest(kSubscription));
  const Mailbox::Response response = ReadMessages(*stream);
  ASSERT_THAT(response.body.received_messages, SizeIs(1));
  EXPECT_TRUE(response.body.received_messages[0].message.data() == body);
}

TEST_F(WireTest, AThousandQuickMessagesAreEachReceivedOnce) {
  constexpr uint64_t kMessages = 1'000;
  Start();
  CreateTopicAndSubscription(true);
  const remote::StreamRef stream = connection_->OpenStream(mailbox_, 1, StreamRequest(kSubscription));
  for (uint64_t i = 0; i < kMessages; ++i) {
    connection_->Call(mailbox_, i, pubsub::Method::kPublish, PublishOf({std::to_string(i)}), 60s);
  }
  std::multiset<std::string> bodies;
  uint64_t calls = kMessages;
  while (bodies.size() < kMessages && !HasFailure()) {
    std::vector<std::string> ids;
    for (const pubsub::ReceivedMessage& message : ReadMessages(*stream).body.received_messages) {
      bodies.emplace(message.message.data());
      ids.push_back(message.ack_id);
    }
    connection_->Call(mailbox_, calls++, pubsub::Method::kAcknowledge, AckOf(std::move(ids)), 60s);
  }
  for (uint64_t call = 0; call < calls; ++call) EXPECT_EQ(mailbox_.WaitCall(call).status, absl::OkStatus());
  EXPECT_EQ(bodies.size(), kMessages);
  EXPECT_EQ(std::set<std::string>(bodies.begin(), bodies.end()).size(), kMessages);
}

TEST_F(WireTest, SixtyFourStreamsShareTheMessages) {
  constexpr uint64_t kStreams = 64;
  constexpr size_t kMessages = 640;
  Start();
  CreateTopicAndSubscription(false);
  std::map<uint64_t, remote::StreamRef> streams;
  for (uint64_t i = 0; i < kStreams; ++i) {
    streams[i] = connection_->OpenStream(mailbox_, i, StreamRequest(kSubscription));
    streams[i]->Read();
  }
  for (uint64_t i = 0; i < kStreams; ++i) {  // every one is open
    streams[mailbox_.WaitResponse().stream]->Read();
  }
  Publish(std::vector<std::string>(kMessages, "shared"));
  std::set<std::string> ack_ids;
  std::set<uint64_t> served;
  while (ack_ids.size() < kMessages && !HasFailure()) {
    const Mailbox::Response response = mailbox_.WaitResponse();
    if (!response.body.received_messages.empty()) served.insert(response.stream);
    for (const pubsub::ReceivedMessage& message : response.body.received_messages) ack_ids.insert(message.ack_id);
    streams[response.stream]->Read();
  }
  EXPECT_EQ(ack_ids.size(), kMessages);
  EXPECT_EQ(served.size(), kStreams);
  for (const auto& [id, stream] : streams) stream->Cancel();
  for (uint64_t i = 0; i < kStreams; ++i) EXPECT_EQ(mailbox_.WaitEnded(i).status.code(), absl::StatusCode::kCancelled);
}

TEST_F(WireTest, AHalfClosedStreamIsEndedOkByTheServer) {
  Start();
  CreateTopicAndSubscription(true);
  const remote::StreamRef stream = connection_->OpenStream(mailbox_, 1, StreamRequest(kSubscription));
  stream->Read();
  mailbox_.WaitResponse();
  stream->Read();
  stream->HalfClose();
  EXPECT_EQ(mailbox_.WaitEnded(1).status, absl::OkStatus());
}

// The acks that a stream sends before it half-closes are answered on it.
TEST_F(WireTest, RequestsBeforeAHalfCloseAreServed) {
  Start();
  CreateTopicAndSubscription(true);
  Publish({"acked on the stream"});
  const remote::StreamRef stream = connection_->OpenStream(mailbox_, 1, StreamRequest(kSubscription));
  const std::string ack_id = ReadMessages(*stream).body.received_messages.at(0).ack_id;
  pubsub::StreamingPullRequest ack;
  ack.ack_ids = {ack_id};
  ASSERT_EQ(stream->Send({pubsub::Encode(ack)}), absl::OkStatus());
  stream->HalfClose();
  pubsub::Confirmation confirmation;
  while (confirmation.empty() && !HasFailure()) {
    stream->Read();
    confirmation = mailbox_.WaitResponse().body.acknowledge_confirmation;
  }
  EXPECT_THAT(confirmation.ack_ids, ElementsAre(ack_id));
  stream->Read();
  EXPECT_EQ(mailbox_.WaitEnded(1).status, absl::OkStatus());
}

TEST_F(WireTest, CancelEndsAStreamThatNobodyReads) {
  Start();
  CreateTopicAndSubscription(false);
  const remote::StreamRef stream = connection_->OpenStream(mailbox_, 1, StreamRequest(kSubscription));
  stream->Read();
  mailbox_.WaitResponse();
  stream->Cancel();
  EXPECT_EQ(mailbox_.WaitEnded(1).status.code(), absl::StatusCode::kCancelled);
  stream->Read();  // after its end: nothing
  EXPECT_EQ(stream->Send({}), absl::OkStatus());
}

// A response may come in while its stream is being cancelled; the stream ends all the same.
TEST_F(WireTest, CancelEndsAStreamAtWhateverMoment) {
  Start();
  CreateTopicAndSubscription(false);
  for (uint64_t i = 0; i < 200; ++i) {
    const remote::StreamRef stream = connection_->OpenStream(mailbox_, i, StreamRequest(kSubscription));
    stream->Read();
    for (const Instant until = SteadyNow() + Duration{i * 2'000}; SteadyNow() < until;) {
    }
    stream->Cancel();
  }
  for (uint64_t i = 0; i < 200; ++i) EXPECT_EQ(mailbox_.WaitEnded(i).status.code(), absl::StatusCode::kCancelled);
}

TEST_F(WireTest, AStreamThatMayNotBeOpenedSaysWhy) {
  Start();
  const remote::StreamRef stream =
      connection_->OpenStream(mailbox_, 1, StreamRequest("projects/hopgap/subscriptions/missing"));
  stream->Read();
  EXPECT_EQ(mailbox_.WaitEnded(1).status.code(), absl::StatusCode::kNotFound);
}

TEST_F(WireTest, MalformedBytesAreTheClientsFault) {
  Start();
  CreateTopicAndSubscription(false);
  const pubsub::Slices garbage = {pubsub::Bytes(std::string("\xff\xff\xff"))};
  connection_->Call(mailbox_, 1, pubsub::Method::kPublish, garbage, 30s);
  EXPECT_EQ(mailbox_.WaitCall(1).status.code(), absl::StatusCode::kInvalidArgument);
  const remote::StreamRef at_once = connection_->OpenStream(mailbox_, 1, garbage);
  at_once->Read();
  EXPECT_EQ(mailbox_.WaitEnded(1).status.code(), absl::StatusCode::kInvalidArgument);
  const remote::StreamRef later = connection_->OpenStream(mailbox_, 2, StreamRequest(kSubscription));
  later->Read();
  mailbox_.WaitResponse();
  ASSERT_EQ(later->Send(garbage), absl::OkStatus());
  later->Read();
  EXPECT_EQ(mailbox_.WaitEnded(2).status.code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(WireTest, AProbeIsAnsweredWithoutTheBroker) {
  Start();
  std::promise<std::pair<absl::Status, Duration>> answered;
  connection_->Probe([&](const absl::Status& status, Duration round_trip) {
    answered.set_value({status, round_trip});
  });
  const auto [status, round_trip] = answered.get_future().get();
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_GT(round_trip, Duration{0});
}

TEST_F(WireTest, EachConnectionIsOneOfItsOwn) {
  Start();
  const auto second = remote_.Connect(server_->target());
  ASSERT_TRUE(second->WaitReady(10s).ok());
  EXPECT_EQ(server_->figures().connections, 2u);
}

}  // namespace
}  // namespace hopgap
