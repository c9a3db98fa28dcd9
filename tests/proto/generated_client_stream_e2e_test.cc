// StreamingPull as a program with generated stubs sees it: cases C07, C08 and
// the stream half of C27 of the case log.

#include <gmock/gmock.h>

#include <deque>

#include "generated_client.h"

namespace hopgap::tests {
namespace {

using testing::IsEmpty;

// One open stream. Reads block, up to the call's deadline.
class Stream {
 public:
  Stream(wire::Subscriber::Stub& stub, const wire::StreamingPullRequest& first, std::chrono::seconds deadline) {
    context_.set_deadline(std::chrono::system_clock::now() + deadline);
    stream_ = stub.StreamingPull(&context_);
    stream_->Write(first);
  }
  ~Stream() {
    if (stream_ == nullptr) return;
    context_.TryCancel();
    wire::StreamingPullResponse ignored;
    while (stream_->Read(&ignored)) {
    }
    stream_->Finish();
  }

  bool Write(const wire::StreamingPullRequest& request) { return stream_->Write(request); }
  bool Read(wire::StreamingPullResponse& response) { return stream_->Read(&response); }
  // The messages of the next response that carries any; none, and a failure, if
  // the stream ends first.
  std::vector<wire::ReceivedMessage> ReadMessages() {
    wire::StreamingPullResponse response;
    while (stream_->Read(&response)) {
      EXPECT_TRUE(response.has_subscription_properties());
      if (response.received_messages_size() > 0) {
        return {response.received_messages().begin(), response.received_messages().end()};
      }
    }
    ADD_FAILURE() << "the stream ended without a message";
    return {};
  }
  // The id of the next message, however responses group them; "" at the end.
  std::string NextId() {
    if (ids_.empty()) {
      for (const wire::ReceivedMessage& each : ReadMessages()) ids_.push_back(each.message().message_id());
    }
    if (ids_.empty()) return "";
    std::string id = std::move(ids_.front());
    ids_.pop_front();
    return id;
  }
  void HalfClose() { stream_->WritesDone(); }
  grpc::Status End() {
    wire::StreamingPullResponse ignored;
    while (stream_->Read(&ignored)) {
    }
    grpc::Status status = stream_->Finish();
    stream_.reset();
    return status;
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<wire::StreamingPullRequest, wire::StreamingPullResponse>> stream_;
  std::deque<std::string> ids_;  // read and not yet taken by NextId()
};

class GeneratedClientStreamTest : public GeneratedClientTest {
 protected:
  static wire::StreamingPullRequest First(const std::string& id, int deadline_seconds = 10) {
    wire::StreamingPullRequest request;
    request.set_subscription(Subscription(id));
    request.set_stream_ack_deadline_seconds(deadline_seconds);
    return request;
  }
  std::unique_ptr<Stream> Open(const wire::StreamingPullRequest& first) {
    return std::make_unique<Stream>(subscriber(), first, kCallDeadline);
  }
};

TEST_F(GeneratedClientStreamTest, C07TheFirstDeadlineIsTenToSixHundred) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  for (const int seconds : {9, 601, 0, -1}) {
    EXPECT_EQ(Open(First("std", seconds))->End().error_code(), grpc::StatusCode::INVALID_ARGUMENT) << seconds;
  }
  for (const int seconds : {10, 600}) {
    SCOPED_TRACE(seconds);
    const auto stream = Open(First("std", seconds));
    wire::StreamingPullResponse response;
    EXPECT_TRUE(stream->Read(response));
  }
}

TEST_F(GeneratedClientStreamTest, TheFirstRequestNamesAnExistingSubscription) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  EXPECT_EQ(Open(wire::StreamingPullRequest())->End().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const grpc::Status missing = Open(First("nobody"))->End();
  EXPECT_EQ(missing.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(missing.error_message(), "Resource not found (resource=nobody).");
}

TEST_F(GeneratedClientStreamTest, EveryResponseSaysWhetherDeliveryIsExactlyOnce) {
  for (const bool exactly_once : {false, true}) {
    const std::string id = exactly_once ? "eos" : "std";
    SCOPED_TRACE(id);
    ASSERT_TRUE(CreateSubscription(id, {.exactly_once = exactly_once}).ok());
    const auto stream = Open(First(id));
    wire::StreamingPullResponse response;
    ASSERT_TRUE(stream->Read(response)) << "before any message: the client must know first";
    EXPECT_THAT(response.received_messages(), IsEmpty());
    const std::string message_id = Publish("orders", "one");
    do {
      ASSERT_TRUE(response.has_subscription_properties());
      EXPECT_EQ(response.subscription_properties().exactly_once_delivery_enabled(), exactly_once);
      EXPECT_FALSE(response.subscription_properties().message_ordering_enabled());
    } while (response.received_messages_size() == 0 && stream->Read(response));
    ASSERT_EQ(response.received_messages_size(), 1);
    EXPECT_EQ(response.received_messages(0).message().message_id(), message_id);
  }
}

TEST_F(GeneratedClientStreamTest, C08WrongLaterRequestsEndTheStream) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  struct Case {
    const char* name;
    std::function<void(wire::StreamingPullRequest&)> set;
  };
  const Case cases[] = {
      {"a: subscription again", [](auto& r) { r.set_subscription(Subscription("std")); }},
      {"b: messages limit again", [](auto& r) { r.set_max_outstanding_messages(5); }},
      {"b: bytes limit again", [](auto& r) { r.set_max_outstanding_bytes(5); }},
      {"protocol version again", [](auto& r) { r.set_protocol_version(1); }},
      {"c: two deadlines, one id",
       [](auto& r) {
         r.add_modify_deadline_seconds(10);
         r.add_modify_deadline_seconds(10);
         r.add_modify_deadline_ack_ids("x");
       }},
      {"d: negative deadline",
       [](auto& r) {
         r.add_modify_deadline_seconds(-1);
         r.add_modify_deadline_ack_ids("x");
       }},
      {"stream deadline 9", [](auto& r) { r.set_stream_ack_deadline_seconds(9); }},
      {"stream deadline 601", [](auto& r) { r.set_stream_ack_deadline_seconds(601); }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto stream = Open(First("std"));
    wire::StreamingPullRequest request;
    c.set(request);
    EXPECT_TRUE(stream->Write(request));
    EXPECT_EQ(stream->End().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
}

// (e): the contract says that the stream ends, the recorded service is silent;
// hopgap is silent on a standard subscription.
TEST_F(GeneratedClientStreamTest, C08AMalformedAckIdOnAStandardStreamIsIgnored) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  Publish("orders", "one");
  const auto stream = Open(First("std"));
  const std::vector<wire::ReceivedMessage> messages = stream->ReadMessages();
  ASSERT_EQ(messages.size(), 1u);
  wire::StreamingPullRequest request;
  request.add_ack_ids("not-an-ack-id");
  ASSERT_TRUE(stream->Write(request));
  const std::string second = Publish("orders", "two");
  EXPECT_EQ(stream->NextId(), second) << "the stream is no longer served";
  ASSERT_TRUE(ModifyAckDeadline("std", {messages[0].ack_id()}, 0).ok());
  EXPECT_EQ(stream->NextId(), messages[0].message().message_id()) << "something was acked";
}

TEST_F(GeneratedClientStreamTest, AMalformedAckIdOnAnExactlyOnceStreamIsReported) {
  ASSERT_TRUE(CreateSubscription("eos", {.exactly_once = true}).ok());
  const std::string message_id = Publish("orders", "one");
  const auto stream = Open(First("eos"));
  const std::vector<wire::ReceivedMessage> messages = stream->ReadMessages();
  ASSERT_EQ(messages.size(), 1u);
  wire::StreamingPullRequest request;
  request.add_ack_ids("not-an-ack-id");
  request.add_ack_ids(messages[0].ack_id());
  ASSERT_TRUE(stream->Write(request));
  std::vector<std::string> acked, invalid;
  wire::StreamingPullResponse response;
  while (acked.size() + invalid.size() < 2 && stream->Read(response)) {
    const auto& confirmation = response.acknowledge_confirmation();
    acked.insert(acked.end(), confirmation.ack_ids().begin(), confirmation.ack_ids().end());
    invalid.insert(invalid.end(), confirmation.invalid_ack_ids().begin(), confirmation.invalid_ack_ids().end());
  }
  EXPECT_THAT(acked, testing::ElementsAre(messages[0].ack_id()));
  EXPECT_THAT(invalid, testing::ElementsAre("not-an-ack-id"));
}

// (f): a lease granted before the change ends after ten seconds, one granted
// after it does not. A publish may overtake the request on the stream, so only
// the last of several tells.
TEST_F(GeneratedClientStreamTest, C08ANewStreamDeadlineCountsForLaterDeliveries) {
  ASSERT_TRUE(CreateSubscription("std", {.ack_deadline_seconds = 600}).ok());
  const auto stream = Open(First("std", 10));
  const std::string early = Publish("orders", "early");
  ASSERT_EQ(stream->NextId(), early);
  wire::StreamingPullRequest longer;
  longer.set_stream_ack_deadline_seconds(60);
  ASSERT_TRUE(stream->Write(longer));
  std::string late;
  for (int i = 0; i < 5; ++i) {
    late = Publish("orders", "late");
    ASSERT_EQ(stream->NextId(), late);
  }

  EXPECT_EQ(stream->NextId(), early) << "its ten seconds are over";
  LetOneSecondLeasesEnd();
  const std::string last = Publish("orders", "last");
  for (std::string id = stream->NextId(); id != last; id = stream->NextId()) {
    ASSERT_NE(id, "");
    EXPECT_NE(id, late) << "delivered after the change, and its lease was not longer";
  }
}

TEST_F(GeneratedClientStreamTest, MessagesWaitForCredit) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  wire::StreamingPullRequest first = First("std");
  first.set_max_outstanding_messages(2);
  const auto stream = Open(first);
  for (const char* data : {"a", "b", "c"}) Publish("orders", data);
  std::vector<wire::ReceivedMessage> received;
  while (received.size() < 2) {
    for (wire::ReceivedMessage& message : stream->ReadMessages()) received.push_back(message);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_EQ(received.size(), 2u) << "more than the stream's credit";
  ASSERT_TRUE(Acknowledge("std", {received[0].ack_id()}).ok());
  const std::vector<wire::ReceivedMessage> third = stream->ReadMessages();
  ASSERT_EQ(third.size(), 1u);
  EXPECT_EQ(third[0].message().data(), "c");
}

TEST_F(GeneratedClientStreamTest, EmptyRequestsAreAnsweredFromProtocolVersionOneOn) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  wire::StreamingPullRequest first = First("std");
  first.set_protocol_version(1);
  const auto stream = Open(first);
  wire::StreamingPullResponse response;
  ASSERT_TRUE(stream->Read(response));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(stream->Write(wire::StreamingPullRequest()));
    ASSERT_TRUE(stream->Read(response)) << "keep-alive " << i;
    EXPECT_THAT(response.received_messages(), IsEmpty());
    EXPECT_TRUE(response.has_subscription_properties());
  }
}

TEST_F(GeneratedClientStreamTest, AHalfClosedStreamEndsWell) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  const auto stream = Open(First("std"));
  stream->HalfClose();
  const grpc::Status status = stream->End();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(GeneratedClientStreamTest, DeletingTheSubscriptionEndsItsStreams) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  const auto stream = Open(First("std"));
  wire::StreamingPullResponse response;
  ASSERT_TRUE(stream->Read(response));
  wire::DeleteSubscriptionRequest request;
  request.set_subscription(Subscription("std"));
  google::protobuf::Empty empty;
  ASSERT_TRUE(
      Call([&](auto& context, auto& in, auto& out) { return subscriber().DeleteSubscription(&context, in, &out); },
           request, empty)
          .ok());
  const grpc::Status status = stream->End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "Resource not found (resource=std).");
}

TEST_F(GeneratedClientStreamTest, C27ALargeMessageComesThroughByteForByte) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  const auto stream = Open(First("std"));
  std::string data(9'500'000, '\0');
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>((i * 2'654'435'761u) >> 13);
  const std::string id = Publish("orders", data);
  const std::vector<wire::ReceivedMessage> messages = stream->ReadMessages();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].message().message_id(), id);
  EXPECT_TRUE(messages[0].message().data() == data);
}

}  // namespace
}  // namespace hopgap::tests
