#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "broker/journal.h"
#include "google/pubsub/v1/pubsub.grpc.pb.h"
#include "loop/timer.h"
#include "pubsub/bytes.h"
#include "server/grpc_server.h"
#include "trace/event.h"

// An independent judge of the server: nothing here uses our codec or client,
// only generated stubs, as any other program would.
namespace hopgap::tests {

namespace wire = google::pubsub::v1;

// Keeps what the broker writes, so that a test can start another from it.
class KeepingJournal final : public broker::Journal {
 public:
  void Append(broker::PersistToken token, std::vector<pubsub::Slices> records, bool awaited, Done done) override;
  std::vector<pubsub::Bytes> records() const;

 private:
  mutable std::mutex mu_;
  std::vector<pubsub::Bytes> records_;  // guarded by mu_
};

// What a call answered.
struct Answer {
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string text;
  std::map<std::string, std::string> ack_failures;  // the ErrorInfo's metadata
  bool ok() const { return code == grpc::StatusCode::OK; }
};
void PrintTo(const Answer& answer, std::ostream* out);

// A server on a free port and the calls of a plain client. Every call has a
// deadline, so that a server that hangs fails a test instead of stopping it.
class GeneratedClientTest : public testing::Test {
 protected:
  static constexpr std::chrono::seconds kCallDeadline{30};

  void SetUp() override;
  void TearDown() override;
  // Ends the server and starts another from what the journal has kept.
  void Restart();

  // ---- resources ----
  Answer CreateTopic(const std::string& id);
  struct Settings {
    bool exactly_once = false;
    int ack_deadline_seconds = 0;
    std::string topic = "orders";
  };
  // Creates a subscription and, if it is missing, its topic.
  Answer CreateSubscription(const std::string& id, const Settings& settings, wire::Subscription* out = nullptr);
  static std::string Topic(const std::string& id) { return "projects/p/topics/" + id; }
  static std::string Subscription(const std::string& id) { return "projects/p/subscriptions/" + id; }

  // ---- messages ----
  std::string Publish(const std::string& topic_id, const std::string& data);  // its message id
  // One Pull that waits; with `now`, one that does not.
  std::vector<wire::ReceivedMessage> Pull(const std::string& id, int max_messages);
  std::vector<wire::ReceivedMessage> PullNow(const std::string& id, int max_messages);
  // Pulls until a message comes.
  wire::ReceivedMessage PullOne(const std::string& id);
  Answer Acknowledge(const std::string& id, const std::vector<std::string>& ack_ids);
  Answer ModifyAckDeadline(const std::string& id, const std::vector<std::string>& ack_ids, int seconds);
  // Returns when a lease of one second that begins after this call has begun
  // has ended on the server: no guess about clocks, and nothing sleeps blindly.
  void LetOneSecondLeasesEnd();

  // ---- any call ----
  template <typename Method, typename Request, typename Response>
  Answer Call(Method method, const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallDeadline);
    return ToAnswer(method(context, request, response));
  }
  static Answer ToAnswer(const grpc::Status& status);

  wire::Publisher::Stub& publisher() { return *publisher_; }
  wire::Subscriber::Stub& subscriber() { return *subscriber_; }

 private:
  void Start();
  std::vector<wire::ReceivedMessage> PullWith(const wire::PullRequest& request);

  KeepingJournal journal_;
  trace::NullSink sink_;
  std::unique_ptr<loop::Timer> timer_;
  std::unique_ptr<server::GrpcServer> server_;
  std::unique_ptr<wire::Publisher::Stub> publisher_;
  std::unique_ptr<wire::Subscriber::Stub> subscriber_;
};

}  // namespace hopgap::tests
