#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "client/publisher.h"
#include "client/subscriber.h"
#include "lab/handled_ids.h"
#include "lab/logic.h"
#include "lab/options.h"

namespace hopgap::lab {

// Hears what becomes of a worker's messages, in the order in which it happens.
class WorkerBook {
 public:
  virtual ~WorkerBook() = default;
  // A handler is entered. False: the message is none of ours; it is acked and
  // nothing below is said of it but OnAckDone().
  virtual bool OnEntered(uint64_t delivery, const client::Subscriber::Delivery& received) = 0;
  // Its work is done; the publish call to the next hop, if there is one, follows.
  virtual void OnWorkDone(uint64_t delivery) = 0;
  // It fails instead (Options::failures): a nack follows, and no publish.
  virtual void OnHandlerFailed(uint64_t) {}
  // The publish it made has its result.
  virtual void OnPublished(bool ok) = 0;
  // Its store knows it: it is acked without being handled again.
  virtual void OnRepeatDropped(uint64_t) {}
  // It returns, with an ack or a nack.
  virtual void OnReturned(uint64_t delivery, bool ack) = 0;
  // The ack or nack has its result.
  virtual void OnAckDone(uint64_t delivery, bool ok) = 0;
  // The subscriber stopped for good.
  virtual void OnFailed(const std::string& error) = 0;
};

// One hop of a chain: receives, works, publishes the same message on, acks.
// docs/worker-contract.md is what it does, for any program.
class Worker final : public Logic {
 public:
  // Its endpoints, counted from Options::first_endpoint.
  static constexpr uint32_t kSubscribes = 0, kPublishes = 1;

  struct Options {
    client::Subscriber::Options subscriber;
    std::optional<client::Publisher::Options> publisher;  // to the next hop; none at the last
    WorkLaw work;
    Duration work_planted{0};  // a test's, on top
    HandlerFailures failures;
    PublishMode publish = PublishMode::kAwait;
    uint32_t first_endpoint = 0;
    std::optional<HandledIds::Options> dedupe = {};  // it asks a store of handled messages first, and tells it after
  };

  // The references outlive the worker.
  Worker(Options options, trace::EventSink& sink, uint64_t& next_rpc, WorkerBook& book);

  uint32_t EndpointCount() const override { return publisher_ ? 2 : 1; }
  void Start(Instant now, Commands& out) override;
  bool Ready() const override { return subscriber_.properties_seen(); }
  void OnResponse(Instant now, uint32_t endpoint, uint32_t stream, Instant received, Instant read_posted,
                  pubsub::StreamingPullResponse response, Commands& out) override;
  void OnStreamEnded(Instant now, uint32_t endpoint, uint32_t stream, const absl::Status& status,
                     Commands& out) override;
  void OnCallDone(Instant now, uint32_t endpoint, uint64_t call, const absl::Status& status, std::string_view details,
                  const pubsub::Bytes& response, Commands& out) override;
  void OnHandlerEntered(Instant now, uint32_t endpoint, uint64_t delivery, Commands& out) override;
  void OnDeadline(Instant now, Commands& out) override;
  std::optional<Instant> NextDeadline() const override;
  bool Finished() const override { return false; }
  void Stop(Instant now, Commands& out) override;
  bool Stopped() const override;

  Instant next_deadline() const { return next_; }  // kNever: none
  bool exactly_once_seen() const { return subscriber_.exactly_once_seen(); }
  size_t outstanding() const { return subscriber_.outstanding(); }

 private:
  struct Handling {
    uint64_t delivery = 0;
    bool ours = true;
  };
  enum class Step : uint8_t { kAsked, kWorked, kTold };  // what ends: a question to the store, the work, a note to it
  struct WorkEnd {
    Instant at;
    uint64_t order = 0;
    uint64_t delivery = 0;
    Step step = Step::kWorked;
    bool operator>(const WorkEnd& other) const { return std::tie(at, order) > std::tie(other.at, other.order); }
  };

  void Take(Instant now, uint32_t side, client::Actions& actions, Commands& out);
  void StartStep(Instant now, uint64_t delivery, Step step, Duration length, Commands& out);
  void OnStepDone(Instant now, uint64_t delivery, Step step, Commands& out);
  void OnWorkDone(Instant now, uint64_t delivery, Commands& out);
  void Succeed(Instant now, uint64_t delivery, Commands& out);
  std::string StoreId(uint64_t delivery) const;
  // What the draws of a message are keyed by.
  struct DrawKey {
    uint64_t hop = 0, message = 0;
  };
  DrawKey DrawKeyOf(uint64_t delivery) const;
  void StartWork(Instant now, uint64_t delivery, Commands& out);
  bool Fails(uint64_t delivery);
  void PublishOn(Instant now, uint64_t delivery, uint64_t publish, Commands& out);
  void OnPublished(Instant now, const client::Action& action, Commands& out);
  void Finish(Instant now, const Handling& handling, bool ack, Commands& out);
  void Refresh(uint32_t side);
  void Aim();

  const Options options_;
  WorkerBook& book_;
  client::Subscriber subscriber_;
  std::optional<client::Publisher> publisher_;
  std::optional<HandledIds> handled_;
  std::priority_queue<WorkEnd, std::vector<WorkEnd>, std::greater<>> working_;
  std::unordered_map<uint64_t, uint64_t> publishing_;  // publish -> the delivery that waits for it
  std::array<Instant, 2> deadlines_{kNever, kNever};   // of the two endpoints
  Instant next_ = kNever;
  std::unordered_map<uint64_t, uint64_t> failed_;  // by message: how often it failed here, not yet well
  uint64_t next_publish_ = 1;
  uint64_t next_order_ = 0;
};

// "hop.slot" of pubsub::kDrawAttribute; nullopt for text of another form.
struct Draw {
  uint64_t hop = 0, slot = 0;
};
std::optional<Draw> ParseDraw(std::string_view text);

}  // namespace hopgap::lab
