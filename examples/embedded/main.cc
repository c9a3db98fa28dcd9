// A test of your own code with a broker in the same process: what a worker sees
// whose lease of 60 s ran out, without waiting for it.
#include <google/pubsub/v1/pubsub.grpc.pb.h>
#include <grpcpp/create_channel.h>

#include <chrono>
#include <cstdio>

#include "embedded/broker.h"

namespace {

constexpr char kSeed[] = R"(
projects:
  my-project:
    topics:
      orders: {messages: [{data: hello}]}
    subscriptions:
      worker: {topic: orders, ack_deadline_seconds: 60, enable_exactly_once_delivery: true}
)";
constexpr char kSubscription[] = "projects/my-project/subscriptions/worker";

google::pubsub::v1::ReceivedMessage PullOne(google::pubsub::v1::Subscriber::Stub& subscriber) {
  grpc::ClientContext context;
  google::pubsub::v1::PullRequest request;
  request.set_subscription(kSubscription);
  request.set_max_messages(1);
  google::pubsub::v1::PullResponse response;
  const grpc::Status status = subscriber.Pull(&context, request, &response);
  if (!status.ok() || response.received_messages().empty()) {
    std::fprintf(stderr, "no message: %s\n", status.error_message().c_str());
    return {};
  }
  return response.received_messages(0);
}

grpc::Status Ack(google::pubsub::v1::Subscriber::Stub& subscriber, const std::string& ack_id) {
  grpc::ClientContext context;
  google::pubsub::v1::AcknowledgeRequest request;
  request.set_subscription(kSubscription);
  request.add_ack_ids(ack_id);
  google::protobuf::Empty nothing;
  return subscriber.Acknowledge(&context, request, &nothing);
}

}  // namespace

int main() {
  auto broker = hopgap::embedded::Broker::Start({.seed = kSeed, .test_clock = true});
  if (!broker.ok()) {
    std::fprintf(stderr, "%s\n", broker.status().ToString().c_str());
    return 1;
  }
  const auto subscriber = google::pubsub::v1::Subscriber::NewStub(
      grpc::CreateChannel((*broker)->endpoint(), grpc::InsecureChannelCredentials()));

  const auto first = PullOne(*subscriber);
  std::printf("delivery 1: %s\n", first.message().data().c_str());
  if (!(*broker)->AdvanceClock(std::chrono::seconds{61}).ok()) return 1;
  const auto second = PullOne(*subscriber);
  std::printf("delivery 2, a minute later: %s\n", second.message().data().c_str());
  // The lease is lost: only the second delivery may be acked.
  return !Ack(*subscriber, first.ack_id()).ok() && Ack(*subscriber, second.ack_id()).ok() ? 0 : 1;
}
