#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "pubsub/api.h"
#include "remote/http_client.h"
#include "remote/remote.h"
#include "sim/dice.h"
#include "torture/checker.h"

namespace hopgap::torture {

inline constexpr char kTopic[] = "projects/p/topics/main", kFill[] = "projects/p/topics/fill",
                      kLetters[] = "projects/p/topics/letters";
inline std::string SubscriptionName(const std::string& name) { return "projects/p/subscriptions/" + name; }

// What consumers do with what comes, in so many of a thousand.
struct Manners {
  uint64_t extend = 600, ack = 700, nack = 100;  // the rest is kept and neither acked nor nacked
};

// The clients of one life of the broker: publishers and one consumer of each
// subscription. They tell the checker everything they ask and everything they
// are answered, and do nothing by themselves: Turn() does. One thread.
//
// What a client kept from earlier lives (ack ids) is in `Kept`, which outlives it.
class Session final : public remote::Handler {
 public:
  struct Kept {
    std::vector<std::vector<std::string>> held;   // by subscription: received, not acked, maybe still good
    std::vector<std::vector<std::string>> stale;  // ids whose message came again
    uint64_t next_number = 1;
    explicit Kept(size_t subscriptions) : held(subscriptions), stale(subscriptions) {}
  };
  static constexpr size_t kHeldMax = 300;     // a subscription's ids; older ones are forgotten
  static constexpr size_t kBacklogMax = 600;  // messages; beyond, none are published

  Session(remote::Remote& remote, int port, uint64_t seed, uint64_t life, const std::vector<Rules>& rules,
          Checker& checker, Kept& kept);
  ~Session() override;

  // Blocks: the resources, once.
  absl::Status Make();
  // Blocks: moves the broker's clock on. Not OK: nobody knows whether it moved.
  absl::Status Advance(Duration length);
  // A consumer by StreamingPull, or by pulls.
  void Consume(size_t subscription, bool stream, const Manners& manners);
  // So many calls at once, from now on; bodies of up to that many bytes.
  void Publish(size_t calls, size_t bytes_max);
  void Fill(size_t bytes) { fill_bytes_ = bytes; }  // another topic, that nobody reads, call after call
  // Acks and nacks some ids from before, good ones and stale ones.
  void UseOldIds();

  // Handles what came, waiting so long for it; asks for more. Nothing that came is left.
  void Turn(Duration wait);
  // Pulls, and acks by `manners` (none: as they are), until pulls of all subscriptions came back empty. False if the
  // broker died, or `limit` passed.
  bool PullAll(const std::optional<Manners>& manners, Duration limit, const std::function<bool()>& dead);
  bool connected() const { return !gone_; }
  // The connection is gone: waits until everything under way has been answered.
  bool Settle(Duration limit);

 private:
  struct Consumer {
    bool pulls = false, pulling = false;
    size_t empty_in_a_row = 0;
    remote::StreamRef stream;
    uint64_t stream_id = 0;
    Instant lease_from;
    Manners manners;
  };
  struct Pending {
    enum class Kind { kPublish, kFiller, kPull, kAck, kModack } kind = Kind::kPublish;
    size_t subscription = 0;
    std::vector<uint64_t> numbers{};
    std::vector<std::string> ack_ids{};
    int32_t seconds = 0;
    Instant lease_from{};
  };
  struct Event {
    uint64_t id = 0;
    bool response = false, ended = false;
    absl::Status status{};
    std::string details{};
    pubsub::Bytes payload{};
    std::vector<pubsub::ReceivedMessage> messages{};
  };

  void OnResponse(uint64_t stream, Instant received, Instant read_posted,
                  pubsub::StreamingPullResponse response) override;
  void OnStreamEnded(uint64_t stream, Instant at, const absl::Status& status, const std::string& details) override;
  void OnCallDone(uint64_t call, Instant at, const absl::Status& status, const std::string& details,
                  pubsub::Bytes response) override;
  void Push(Event event);

  void Call(pubsub::Method method, const pubsub::Slices& request, Pending pending);
  void Handle(Event& event);
  void HandleDone(const Pending& pending, Event& event);
  void HandleMessages(size_t subscription, const std::vector<pubsub::ReceivedMessage>& messages, Instant lease_from);
  void Decide(size_t subscription, const std::vector<std::string>& ids);
  void Ack(size_t subscription, const std::vector<std::string>& ids);
  void Modack(size_t subscription, const std::vector<std::string>& ids, int32_t seconds);
  void Pull(size_t subscription);
  void PublishMore();
  void Keep(size_t subscription, const std::vector<std::string>& ids, bool stale);

  const uint64_t seed_;
  sim::Dice dice_;
  const std::vector<Rules>& rules_;
  Checker& checker_;
  Kept& kept_;
  const int port_;
  std::unique_ptr<remote::Connection> connection_;
  std::vector<Consumer> consumers_;
  std::map<uint64_t, Pending> pending_;
  std::map<uint64_t, size_t> streams_;  // → subscription; open
  uint64_t next_id_ = 1;
  size_t calls_ = 0, publishing_ = 0, bytes_max_ = 1, fill_bytes_ = 0;
  bool at_once_ = false;  // pulls do not wait for messages
  bool gone_ = false;     // a call found nobody: no more are begun

  std::mutex mu_;
  std::condition_variable changed_;
  std::vector<Event> inbox_;  // guarded by mu_
};

}  // namespace hopgap::torture
