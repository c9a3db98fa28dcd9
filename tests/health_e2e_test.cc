// grpc.health.v1 as probes ask it.
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include "pubsub/wire.h"
#include "server/health.h"
#include "server/health_watches.h"
#include "wire_fixture.h"

namespace hopgap {
namespace {

grpc::ByteBuffer Asking(const std::string& service) {
  std::string wire;
  if (!service.empty()) pubsub::WireWriter(wire).Text(1, service);
  const grpc::Slice slice(wire);
  return {&slice, 1};
}

std::string TextOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

constexpr char kServing[] = "\x08\x01", kNotServing[] = "\x08\x02", kServiceUnknown[] = "\x08\x03";

struct Checked {
  grpc::Status status;
  std::string response;
};

Checked Check(const std::string& target, const std::string& service) {
  grpc::GenericStub stub(grpc::CreateChannel(target, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const grpc::ByteBuffer request = Asking(service);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, std::string(server::kHealthCheckPath), {}, &request, &response,
                 [&](grpc::Status status) { done.set_value(std::move(status)); });
  grpc::Status status = done.get_future().get();
  return {status, status.ok() ? TextOf(response) : ""};
}

// Reads all that a watch says.
class Watch final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Watch(const std::string& target, const std::string& service)
      : stub_(grpc::CreateChannel(target, grpc::InsecureChannelCredentials())), request_(Asking(service)) {
    stub_.PrepareBidiStreamingCall(&context_, std::string(server::kHealthWatchPath), {}, this);
    StartWriteLast(&request_, {});
    StartRead(&response_);
    StartCall();
  }
  // gRPC calls until the end, whoever waits for that or not.
  ~Watch() override {
    context_.TryCancel();
    WaitForEnd();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    std::lock_guard lock(mu_);
    said_.push_back(TextOf(response_));
    changed_.notify_all();
    StartRead(&response_);
  }
  void OnDone(const grpc::Status& status) override {
    std::lock_guard lock(mu_);
    ended_ = status;
    changed_.notify_all();
  }
  std::vector<std::string> WaitFor(size_t count) {
    std::unique_lock lock(mu_);
    changed_.wait_for(lock, Mailbox::kPatience, [&] { return said_.size() >= count; });
    return said_;
  }
  grpc::Status WaitForEnd() {
    std::unique_lock lock(mu_);
    EXPECT_TRUE(changed_.wait_for(lock, Mailbox::kPatience, [&] { return ended_.has_value(); }));
    return ended_.value_or(grpc::Status::OK);
  }

 private:
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  const grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  std::mutex mu_;
  std::condition_variable changed_;
  std::vector<std::string> said_;
  std::optional<grpc::Status> ended_;
};

TEST_F(WireTest, HealthCheckKnowsTheServicesThatAreServed) {
  Start();
  for (const char* service : {"", "google.pubsub.v1.Publisher", "google.pubsub.v1.Subscriber"}) {
    SCOPED_TRACE(service);
    const Checked checked = Check(server_->target(), service);
    EXPECT_TRUE(checked.status.ok()) << checked.status.error_message();
    EXPECT_EQ(checked.response, kServing);
  }
  const Checked unknown = Check(server_->target(), "google.pubsub.v1.Nobody");
  EXPECT_EQ(unknown.status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(unknown.status.error_message(), "unknown service: 'google.pubsub.v1.Nobody'");
}

TEST_F(WireTest, HealthCheckNeedsNoTokenAndAWatchDoes) {
  server::GrpcServer::Options options = ServerOptions();
  options.admission = server::RequireBearerToken("0123456789abcdef");
  Start(std::move(options));
  EXPECT_EQ(Check(server_->target(), "").response, kServing);
  Watch watch(server_->target(), "");
  EXPECT_EQ(watch.WaitForEnd().error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(WireTest, AHealthWatchHearsThatTheServerStopsAndDoesNotHoldItUp) {
  Start();
  Watch watch(server_->target(), ""), stranger(server_->target(), "nobody");
  EXPECT_THAT(watch.WaitFor(1), ::testing::ElementsAre(kServing));
  EXPECT_THAT(stranger.WaitFor(1), ::testing::ElementsAre(kServiceUnknown));
  const Instant before = SteadyNow();
  server_->Stop();
  EXPECT_LT(SteadyNow() - before, 900ms) << "stop_wait, a second, was spent on a watch";
  EXPECT_EQ(watch.WaitForEnd().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(watch.WaitFor(2), ::testing::ElementsAre(kServing, kNotServing));
}

TEST_F(WireTest, HealthWatchesHaveALimit) {
  Start();
  std::vector<std::unique_ptr<Watch>> watches;
  for (size_t i = 0; i < server::HealthWatches::kMax; ++i) {
    watches.push_back(std::make_unique<Watch>(server_->target(), ""));
  }
  for (const auto& watch : watches) EXPECT_THAT(watch->WaitFor(1), ::testing::ElementsAre(kServing));
  Watch late(server_->target(), "");
  EXPECT_EQ(late.WaitForEnd().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  server_->Stop();
  for (const auto& watch : watches) watch->WaitForEnd();
}

}  // namespace
}  // namespace hopgap
