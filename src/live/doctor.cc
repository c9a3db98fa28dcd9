#include "live/doctor.h"

#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>
#include <random>
#include <utility>

#include "base/system_clock.h"
#include "base/text.h"
#include "live/resources.h"
#include "remote/remote.h"

namespace hopgap::live {
namespace {

using Verdict = Finding::Verdict;

constexpr Duration kDoctorPatience{std::chrono::seconds{10}};
constexpr Duration kDelivered{std::chrono::seconds{20}};
constexpr int kRoundTrips = 9;
constexpr int kAckSeconds = 60;
constexpr char kEndpointSuffix[] = "-pubsub.googleapis.com:443";

Finding Failed(std::string subject, const absl::Status& status) {
  return {.subject = std::move(subject),
          .verdict = Verdict::kFail,
          .found = std::string(MessageOf(status)),
          .code = status.code()};
}

// What the first response with a message says of its subscription.
class FirstResponse final : public remote::Handler {
 public:
  void OnResponse(uint64_t, Instant, Instant, pubsub::StreamingPullResponse response) override {
    std::lock_guard lock(mu_);
    ++responses_;
    if (!response.received_messages.empty()) response_ = std::move(response);
    changed_.notify_all();
  }
  void OnStreamEnded(uint64_t, Instant, const absl::Status& status, const std::string&) override {
    std::lock_guard lock(mu_);
    ended_ = status.ok() ? absl::UnavailableError("the stream ended before a message came") : status;
    changed_.notify_all();
  }
  void OnCallDone(uint64_t, Instant, const absl::Status&, const std::string&, pubsub::Bytes) override {}

  // Reads until a message has come, or the stream ended, or `limit` passed.
  absl::StatusOr<pubsub::StreamingPullResponse> Wait(remote::Stream& stream, Duration limit) {
    const Instant give_up = SteadyNow() + limit;
    std::unique_lock lock(mu_);
    for (uint64_t seen = 0;;) {
      lock.unlock();
      stream.Read();
      lock.lock();
      changed_.wait_for(lock, give_up - SteadyNow(), [&] { return responses_ > seen || !ended_.ok(); });
      if (response_) return *response_;
      if (!ended_.ok()) return ended_;
      if (responses_ == seen) return absl::DeadlineExceededError("no message came on the stream within 20 s");
      seen = responses_;
    }
  }
  void WaitEnded() {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [this] { return !ended_.ok(); });
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  uint64_t responses_ = 0;                                 // guarded
  std::optional<pubsub::StreamingPullResponse> response_;  // guarded
  absl::Status ended_;                                     // guarded
};

class Examination {
 public:
  Examination(remote::Target target, std::string project) : target_(std::move(target)), project_(std::move(project)) {}

  std::vector<Finding> Run(const std::string& region) {
    if (!Credentials() || !Connection()) return std::move(findings_);
    Identity();
    if (target_.service()) findings_.push_back(CompareRegions(target_, region));
    ExactlyOnce();
    return std::move(findings_);
  }

 private:
  bool Credentials() {
    if (!target_.tls) return true;
    if (const absl::Status status = remote::Authorize(target_); !status.ok()) {
      findings_.push_back(Failed("credentials", status));
      return false;
    }
    const std::string who = remote::DescribeAccess(target_);
    findings_.push_back({.subject = "credentials", .found = who.empty() ? "none are sent" : who});
    return true;
  }

  bool Connection() {
    connection_ = remote_.Connect(target_);
    const Instant start = SteadyNow();
    if (const absl::Status status = connection_->WaitReady(kDoctorPatience); !status.ok()) {
      findings_.push_back(Failed("target", status));
      return false;
    }
    const Duration took = SteadyNow() - start;
    findings_.push_back({.subject = "target",
                         .found = StrCat(target_.address, " answers; connected in ", Millis(took),
                                         target_.tls ? " over TLS" : " without TLS")});
    return true;
  }

  // The empty call of a hopgap server is an unknown one everywhere else, and a
  // round trip in any case.
  void Identity() {
    std::vector<Duration> round_trips;
    absl::Status status;
    for (int i = 0; i < kRoundTrips; ++i) {
      std::promise<std::pair<absl::Status, Duration>> done;
      connection_->Probe([&done](const absl::Status& answer, Duration took) { done.set_value({answer, took}); });
      const auto [answer, took] = done.get_future().get();
      status = answer;
      round_trips.push_back(took);
    }
    std::sort(round_trips.begin(), round_trips.end());
    const char* who = status.ok() ? "a hopgap broker" : target_.service() ? "Cloud Pub/Sub" : "an emulator or broker";
    Finding finding{.subject = "broker",
                    .found = StrCat(who, "; an empty call takes ", Millis(round_trips[round_trips.size() / 2]),
                                    " (p50 of ", kRoundTrips, ")")};
    if (status.ok() && target_.service()) finding.found += ", in the place of Cloud Pub/Sub";
    findings_.push_back(std::move(finding));
  }

  void ExactlyOnce() {
    const std::string id = StrCat("hopgap-doctor-", absl::Hex((uint64_t{std::random_device{}()} << 32) | 1));
    const std::string topic = StrCat("projects/", project_, "/topics/", id);
    const std::string subscription = StrCat("projects/", project_, "/subscriptions/", id, "-sub");
    Resources resources(*connection_, target_);
    absl::Status status = resources.Make({{topic, "", false}, {topic, subscription, true}}, nullptr);
    findings_.push_back(status.ok() ? ReadProperties(topic, subscription) : Failed("exactly-once", status));
    for (const std::string& name : resources.Remove()) {
      findings_.push_back({.subject = "clean-up",
                           .verdict = Verdict::kWarn,
                           .found = StrCat("could not remove ", name),
                           .advice = "remove it by hand"});
    }
  }

  Finding ReadProperties(const std::string& topic, const std::string& subscription) {
    pubsub::StreamingPullRequest first;
    first.subscription = subscription;
    first.stream_ack_deadline_seconds = kAckSeconds;
    first.client_id = "hopgap-doctor";
    FirstResponse handler;
    const remote::StreamRef stream = connection_->OpenStream(handler, 1, {pubsub::Encode(first)});
    // The service may say nothing on a stream before its first message.
    const absl::Status published = Publish(topic);
    absl::StatusOr<pubsub::StreamingPullResponse> response =
        published.ok() ? handler.Wait(*stream, kDelivered) : absl::StatusOr<pubsub::StreamingPullResponse>(published);
    stream->Cancel();
    handler.WaitEnded();
    if (!response.ok()) return Failed("exactly-once", remote::Explain(response.status(), target_));
    if (response->has_properties && response->properties.exactly_once_delivery_enabled) {
      return {.subject = "exactly-once", .found = "on: the stream of a temporary subscription says so"};
    }
    return {
        .subject = "exactly-once",
        .verdict = Verdict::kFail,
        .found = "asked for, and the stream does not say that it is on: this broker accepts the flag and ignores it",
        .advice = "use hopgap serve or Cloud Pub/Sub for exactly-once results",
        .code = absl::StatusCode::kFailedPrecondition};
  }

  absl::Status Publish(const std::string& topic) {
    pubsub::PublishRequest request;
    request.topic = topic;
    request.messages.push_back(pubsub::Message::Make("doctor", {}));
    return connection_->CallAndWait(pubsub::Method::kPublish, pubsub::Encode(request), kDoctorPatience).status();
  }

  remote::Target target_;
  const std::string project_;
  std::vector<Finding> findings_;
  remote::Remote remote_;
  std::unique_ptr<remote::Connection> connection_;
};

}  // namespace

std::optional<std::string> RegionOfEndpoint(const std::string& address) {
  const size_t at = address.find(kEndpointSuffix);
  if (at == std::string::npos || at == 0 || at + sizeof kEndpointSuffix - 1 != address.size()) return std::nullopt;
  return address.substr(0, at);
}

Finding CompareRegions(const remote::Target& target, const std::string& machine_region) {
  Finding finding{.subject = "region", .verdict = Verdict::kWarn, .found = ""};
  const std::optional<std::string> endpoint = RegionOfEndpoint(target.address);
  const std::string here = machine_region.empty() ? "REGION" : machine_region;
  if (target.global_endpoint()) {
    finding.found = "the global endpoint chooses a region for each connection; exactly-once holds within one";
    finding.advice = StrCat("give --endpoint ", here, "-pubsub.googleapis.com");
  } else if (!endpoint) {
    finding.found = StrCat(target.address, " is no endpoint of Google's: its region is not known");
  } else if (machine_region.empty()) {
    finding.found =
        StrCat("the endpoint is in ", *endpoint, "; this machine is not in Google Cloud, or does not say where");
    finding.advice = "the way there is part of every figure";
  } else if (machine_region != *endpoint) {
    finding.found = StrCat("the endpoint is in ", *endpoint, ", this machine in ", machine_region);
    finding.advice = StrCat("the way between them is part of every figure: give --endpoint ", here,
                            "-pubsub.googleapis.com, or move");
  } else {
    finding.verdict = Verdict::kOk;
    finding.found = StrCat("the endpoint and this machine are in ", machine_region);
  }
  return finding;
}

std::vector<Finding> ExamineTarget(remote::Target target, const std::string& project, const std::string& region) {
  return Examination(std::move(target), project).Run(region);
}

}  // namespace hopgap::live
