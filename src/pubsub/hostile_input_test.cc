#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pubsub/api.h"
#include "pubsub/error_details.h"
#include "pubsub/resources.h"
#include "pubsub/wire_testing.h"

// Every reader against bytes nobody should send. The input ends at a guard
// page, so one byte read too many ends the test; what is accepted must point
// into the input and must read the same after it was written again.
namespace hopgap::pubsub {
namespace {

constexpr int kMutations = 1000;

std::string AsText(const Bytes& bytes) { return std::string(bytes.view()); }
std::string AsText(const Slices& slices) { return Join(slices); }
std::string AsText(std::string text) { return text; }

std::string Rewritten(const CreateTopicRequest& request) { return Encode(request.topic); }
// (topic_message_retention_duration is read and dropped.)
std::string Rewritten(const CreateSubscriptionRequest& request) { return Encode(request.subscription); }
template <typename Value>
std::string Rewritten(const Value& value) {
  return AsText(Encode(value));
}

// Also follows a message on its way through the broker.
void CheckMessage(const Message& message, std::string_view input) {
  EXPECT_TRUE(Inside(message.data(), input));
  EXPECT_TRUE(Inside(message.ordering_key(), input));
  EXPECT_TRUE(Inside(message.message_id(), input));
  EXPECT_EQ(message.Attributes().size(), message.attribute_count());
  const Message accepted = message.Accepted("id", WallTime{Duration{7}});
  EXPECT_EQ(accepted.wire_size(), TotalSize(accepted.wire_slices()));
  const absl::StatusOr<Message> read = Message::Parse(accepted.wire());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->message_id(), "id");
  EXPECT_EQ(read->publish_time(), WallTime{Duration{7}});
  EXPECT_EQ(read->data(), message.data());
  EXPECT_EQ(read->ordering_key(), message.ordering_key());
  EXPECT_EQ(read->Attributes(), message.Attributes());
}

// What a reader makes of an input, written again; nullopt if it refuses.
using Reader = std::function<std::optional<std::string>(const Bytes&)>;

template <typename Value>
std::optional<std::string> Again(const absl::StatusOr<Value>& value) {
  if (!value.ok()) return std::nullopt;
  return Rewritten(*value);
}

Reader RequestReader(Method method) {
  return [method](const Bytes& input) -> std::optional<std::string> {
    const absl::StatusOr<Request> request = DecodeRequest(method, input);
    if (!request.ok()) return std::nullopt;
    if (const auto* publish = std::get_if<PublishRequest>(&*request)) {
      for (const Message& message : publish->messages) CheckMessage(message, input.view());
    }
    return std::visit([](const auto& call) { return Rewritten(call); }, *request);
  };
}

std::optional<std::string> ReadMessage(const Bytes& input) {
  const absl::StatusOr<Message> message = Message::Parse(input);
  if (!message.ok()) return std::nullopt;
  CheckMessage(*message, input.view());
  return AsText(message->wire());
}

std::optional<std::string> ReadStreamingResponse(const Bytes& input) {
  const absl::StatusOr<StreamingPullResponse> response = DecodeStreamingPullResponse(input);
  if (!response.ok()) return std::nullopt;
  for (const ReceivedMessage& received : response->received_messages) CheckMessage(received.message, input.view());
  return Rewritten(*response);
}

std::optional<std::string> ReadPullResponse(const Bytes& input) {
  const absl::StatusOr<std::vector<ReceivedMessage>> messages = DecodePullResponse(input);
  if (!messages.ok()) return std::nullopt;
  return AsText(EncodePullResponse(*messages));
}

std::optional<std::string> ReadPublishResponse(const Bytes& input) {
  const absl::StatusOr<std::vector<std::string>> ids = DecodePublishResponse(input.view());
  if (!ids.ok()) return std::nullopt;
  return AsText(EncodePublishResponse(*ids));
}

std::optional<std::string> ReadErrorDetails(const Bytes& input) {
  const std::map<std::string, std::string> metadata = DecodeErrorMetadata(input.view());
  return EncodeAckFailures(absl::InvalidArgumentError("x"), AckIdFailures(metadata.begin(), metadata.end()));
}

struct Subject {
  std::string name;
  Reader read;
  std::string seed;  // what it accepts
};

std::vector<Subject> Subjects() {
  const std::string message = Wire("0a 02 'hi' 12 06 0a 01 'a' 12 01 'b' 1a 01 '7' 22 04 08 02 10 05 2a 02 c3 a4");
  const std::string nested = static_cast<char>(message.size()) + message;
  const std::string received = Wire("0a 03 'ack' 12") + nested + Wire("18 05");
  const std::string one_received = Wire("0a") + static_cast<char>(received.size()) + received;
  std::vector<Subject> subjects;
  for (int i = 0; i < static_cast<int>(Method::kStreamingPull); ++i) {
    const Method method = static_cast<Method>(i);
    std::string seed = Wire("0a 03 'abc' 10 05 1a 02 'tk'");
    if (method == Method::kPublish) seed = Wire("0a 01 't' 12") + nested + Wire("12") + nested;
    if (method == Method::kPull) seed = Wire("0a 01 's' 10 01 18 e8 07");
    if (method == Method::kAcknowledge) seed = Wire("0a 01 's' 12 01 'a' 12 02 'bc'");
    if (method == Method::kModifyAckDeadline) seed = Wire("0a 01 's' 18 d8 04 22 01 'a' 22 02 'bc'");
    if (method == Method::kCreateTopic) seed = Wire("0a 01 't' 12 06 0a 01 'a' 12 01 '1' 48 01");
    if (method == Method::kCreateSubscription) {
      seed = Wire(
          "0a 01 's' 12 01 't' 22 00 28 0a 42 04 08 80 f5 24 4a 06 0a 01 'a' 12 01 '1'"
          "5a 07 0a 05 08 80 bd a3 01 80 01 01 98 01 01"
          "6a 05 0a 01 'd' 10 05 72 0c 0a 08 08 01 10 80 ca b5 ee 01 12 00 62 02 'fi' 8a 01 02 08 05");
    }
    if (method == Method::kUpdateTopic) seed = Wire("0a 0a 0a 01 't' 2a 01 'k' 42 02 08 05 12 08 0a 06 'labels'");
    if (method == Method::kUpdateSubscription) {
      seed = Wire("0a 0e 0a 01 's' 5a 06 0a 04 08 80 a3 05 ba 01 00 12 08 0a 01 'a' 0a 03 'b.c' 0a 02 50 01");
    }
    if (method == Method::kUpdateSnapshot) seed = Wire("0a 09 0a 01 's' 1a 04 08 05 10 07 12 04 0a 02 'ab'");
    if (method == Method::kCreateSnapshot) seed = Wire("0a 01 'n' 12 01 's' 1a 06 0a 01 'a' 12 01 '1'");
    if (method == Method::kSeek) seed = Wire("0a 01 's' 12 04 08 05 10 07");
    subjects.push_back({std::string(MethodPath(method)), RequestReader(method), seed});
  }
  subjects.push_back({"StreamingPullRequest",
                      [](const Bytes& input) { return Again(DecodeStreamingPullRequest(input.view())); },
                      Wire("0a 01 's' 12 01 'a' 1a 03 0a d8 04 18 0a 22 01 'm' 28 3c 32 01 'c' 38 e8 07 40 0a 50 01")});
  subjects.push_back({"StreamingPullResponse", ReadStreamingResponse,
                      one_received + Wire("1a 09 0a 01 '5' 12 01 '6' 1a 01 '7' 22 04 08 01 10 01"
                                          "2a 0c 0a 01 '1' 12 01 '2' 1a 01 '3' 22 01 '4'")});
  subjects.push_back({"PullResponse", ReadPullResponse, one_received + one_received});
  subjects.push_back({"PublishResponse", ReadPublishResponse, Wire("0a 01 '1' 0a 02 '22'")});
  subjects.push_back({"PubsubMessage", ReadMessage, message});
  subjects.push_back({"Topic", [](const Bytes& input) { return Again(DecodeTopic(input.view())); },
                      Wire("0a 01 't' 12 06 0a 01 'a' 12 01 '1' 32 02 0a 00 48 01")});
  subjects.push_back({"Snapshot", [](const Bytes& input) { return Again(DecodeSnapshot(input.view())); },
                      Wire("0a 01 'n' 12 01 't' 1a 04 08 05 10 01 22 06 0a 01 'a' 12 01 '1' a0 06 05")});
  subjects.push_back({"Subscription", [](const Bytes& input) { return Again(DecodeSubscription(input.view())); },
                      Wire("0a 01 's' 12 01 't' 28 d8 04 4a 06 0a 01 'a' 12 01 '1' 62 01 'f' 80 01 01")});
  subjects.push_back({"google.rpc.Status", ReadErrorDetails,
                      EncodeAckFailures(absl::InvalidArgumentError("x"), {{"a", "b"}, {"c", "d"}})});
  return subjects;
}

void CheckInput(const Subject& subject, std::string_view input) {
  const std::optional<std::string> once = subject.read(Guarded(input));
  if (!once) return;
  const std::optional<std::string> twice = subject.read(Guarded(*once));
  ASSERT_TRUE(twice) << "it refuses what it wrote";
  EXPECT_EQ(*once, *twice);
}

std::string Mutated(std::string text, TestDraws& draws) {
  for (size_t changes = 1 + draws.Below(3); changes > 0; --changes) {
    const size_t at = text.empty() ? 0 : draws.Below(text.size());
    switch (draws.Below(6)) {
      case 0: text.resize(at); break;
      case 1: text.insert(at, 1, static_cast<char>(draws.Next())); break;
      case 2: text.erase(at, 1 + draws.Below(3)); break;
      case 3: text += text.substr(at); break;
      case 4:
        if (!text.empty()) text[at] = static_cast<char>(draws.Next());
        break;
      default:
        if (!text.empty()) text[at] = static_cast<char>(text[at] ^ (1 << draws.Below(8)));
        break;
    }
  }
  return text;
}

TEST(HostileInputTest, EverySeedIsAccepted) {
  for (const Subject& subject : Subjects()) {
    SCOPED_TRACE(subject.name);
    EXPECT_TRUE(subject.read(Guarded(subject.seed)));
  }
}

TEST(HostileInputTest, TruncationAtEveryByteIsAnAnswer) {
  for (const Subject& subject : Subjects()) {
    for (size_t size = 0; size <= subject.seed.size(); ++size) {
      SCOPED_TRACE(subject.name + " cut at " + std::to_string(size));
      CheckInput(subject, std::string_view(subject.seed).substr(0, size));
    }
  }
}

TEST(HostileInputTest, MutationsAreRefusedOrReadTheSameWhenWrittenAgain) {
  const uint64_t seed = TestSeed();
  for (const Subject& subject : Subjects()) {
    TestDraws draws(Mix(seed, HashName(subject.name)));
    for (int i = 0; i < kMutations; ++i) {
      SCOPED_TRACE(subject.name + ", HOPGAP_SEED=" + std::to_string(seed) + ", mutation " + std::to_string(i));
      CheckInput(subject, Mutated(subject.seed, draws));
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace hopgap::pubsub
