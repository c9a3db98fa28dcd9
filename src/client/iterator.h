#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "client/core.h"
#include "client/lease_keeper.h"
#include "client/sender.h"
#include "client/stream_keeper.h"
#include "pubsub/api.h"

namespace hopgap::client {

// One stream of a subscriber: its loop, its sender, its leases.
//
// The loop of the Go library is stop-and-wait: read a response; under
// exactly-once wait for the receipt modacks of all its messages; then for each
// message, in order, take flow-control credits and a worker; read again. A
// message that waits keeps all that is behind it on this stream waiting.
//
// Where a model's messages wait for their receipts by themselves (kInOrder,
// kOwn) the stream reads on meanwhile, until as many messages wait in it as
// flow control lets out at once.
class Iterator {
 public:
  // `core` outlives it. Iterators may share a sender (Model::shares_sender).
  Iterator(Core& core, uint32_t index, std::shared_ptr<Sender> sender, Instant start);

  void Start(Instant now, Actions& out);
  void OnResponse(Instant now, Instant received, Instant read_posted, pubsub::StreamingPullResponse response,
                  Actions& out);
  void OnStreamEnded(Instant now, const absl::Status& status, Actions& out);

  // The loop's present message got its flow-control credits, or its worker.
  void OnAdmitted(Instant now, Actions& out);
  void OnWorker(Instant now, Actions& out);
  // A call of this stream settled something.
  void OnOutcome(Instant now, Outcome outcome, Actions& out);

  // Requires: not settled. `purpose` is kAck or kNack.
  void Settle(Instant now, DeliveryEntry& entry, Purpose purpose, Actions& out);
  void OnCallbackReturned(Instant now, DeliveryEntry& entry, Actions& out);

  void OnDeadline(Instant now, Actions& out);
  std::optional<Instant> NextDeadline() const;

  // No more reads; messages of the loop that are not admitted yet are nacked.
  void Stop(Instant now, Actions& out);
  // A message that was admitted but never handed over (the subscriber stops).
  void GiveUp(Instant now, DeliveryEntry& entry);
  // Flushes and half-closes as soon as that is possible. Only after Stop().
  void FinishStop(Instant now, Actions& out);
  bool stopped() const { return closed_; }

  bool exactly_once() const { return leases_.exactly_once(); }
  const std::optional<std::string>& failure() const { return stream_.failure(); }

 private:
  enum class Step : uint8_t { kIdle, kReceipts, kCredits, kPlanted, kWorker };

  using Ids = std::vector<uint64_t>;
  // The deliveries of the response.
  Ids TakeIn(Instant now, Instant received, Instant read_posted, pubsub::StreamingPullResponse& response);
  DeliveryEntry& AddDelivery(Instant received, pubsub::ReceivedMessage& message, bool ordered);
  const Receipts& receipts() const;
  bool reads_on() const;
  // How many of them have a receipt that somebody waits for.
  size_t SendReceipts(Instant now, const Ids& arrived, Actions& out);
  void OnReceipt(const Outcome::Result& result);
  void AfterReceipts(Instant now, Actions& out);
  // Moves what waits for no receipt any more to where callbacks start from.
  void Release(Instant now);
  bool DropIfFailed(Instant now, DeliveryEntry& entry);

  void Dispatch(Instant now, Actions& out);
  void ReadOn(Instant now, Actions& out);
  bool Credits(Instant now, DeliveryEntry& entry);
  bool Worker(Instant now, DeliveryEntry& entry, Actions& out);
  DeliveryEntry& Present() { return *core_.deliveries.Find(ready_.front()); }

  void Pump(Instant now, Actions& out);
  void OnLeaseTick(Instant now, const LeaseKeeper::Tick& tick, Actions& out);
  void OnSettled(const Target& target, bool ok, Actions& out);
  void ForgetIfOver(DeliveryEntry& entry);

  Core& core_;
  uint32_t index_;
  StreamKeeper stream_;
  std::shared_ptr<Sender> sender_;
  LeaseKeeper leases_;

  // Deliveries that wait for their own receipts, in order of receipt; then
  // those that the loop has to hand over, the present one first.
  std::deque<uint64_t> unreceipted_, ready_;
  Step step_ = Step::kIdle;      // what the loop waits for; kIdle: for a response
  size_t receipts_running_ = 0;  // kReceipts: ids without a result
  Instant resume_at_;            // kPlanted
  uint64_t responses_ = 0;       // numbers them from 1, over all reconnects
  size_t live_ = 0;              // deliveries not forgotten yet
  bool stopping_ = false;
  bool closed_ = false;
};

}  // namespace hopgap::client
