#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "broker/broker.h"
#include "broker/census.h"
#include "sim/books.h"
#include "trace/event.h"

namespace hopgap::sim {

// The promises of docs/reliability.md as a judge: it is told what crosses the
// broker's door and when a process ended, and keeps its own books of what that
// allows. It never looks inside the broker, except at the end, when the census
// has to be empty. The first broken promise is kept.
class Checkers {
 public:
  struct Violation {
    Instant at;
    std::string promise;  // one of docs/reliability.md's names
    std::string what;
  };
  struct Tally {  // that a seed did something
    uint64_t calls = 0, deliveries = 0, redeliveries = 0, acks_ok = 0, acks_refused = 0, crashes = 0;
  };

  // `log` gets a line for whatever crosses the door; may be null.
  using Log = std::function<void(Instant now, const std::string& line)>;
  Checkers(size_t messages_per_response_max, Log log)
      : per_response_max_(messages_per_response_max), log_(std::move(log)) {}

  void CallArrived(Instant now, uint64_t call, pubsub::Method method, const pubsub::Request& request);
  void CallCancelled(Instant now, uint64_t call);
  void Replied(Instant now, uint64_t call, const absl::Status& status, std::string_view details,
               const pubsub::Bytes& payload);
  void StreamOpened(Instant now, uint64_t stream, const pubsub::StreamingPullRequest& first);
  void StreamAsked(Instant now, uint64_t stream, const pubsub::StreamingPullRequest& request);
  void StreamGone(Instant now, uint64_t stream);
  void StreamClosed(Instant now, uint64_t stream, const absl::Status& status);
  void Wrote(Instant now, uint64_t stream, const pubsub::StreamingPullResponse& response);
  void WriteDone(uint64_t stream);
  // The process ended: calls and streams with it.
  void Ended(Instant now);
  void Recorded(const trace::Event& event);
  // All faults stopped long ago and clients behaved since.
  void Quiet(Instant now, const broker::Census& census);
  // The driver's own findings.
  void Break(Instant now, std::string promise, std::string what);

  const std::optional<Violation>& violation() const { return violation_; }
  const Tally& tally() const { return tally_; }

 private:
  enum class Outcome : uint8_t { kOk, kPermanent, kUnknown };
  struct Place {
    SubscriptionBook& subscription;
    const std::string& name;
  };

  // checkers.cc: calls, publishes, resources.
  void NoteRequest(Instant now, uint64_t id, CallBook& call, const pubsub::Request& request);
  void PublishReplied(Instant now, const CallBook& call, const absl::Status& status, const pubsub::Bytes& payload);
  void ResourceReplied(Instant now, const CallBook& call, const absl::Status& status);
  void LeaseReplied(Instant now, CallBook& call, const absl::Status& status, std::string_view details);
  void Abandon(Instant now, const CallBook& call);
  MessageBook* Identify(Instant now, MessageId id, std::string_view body, std::string_view topic);
  SubscriptionBook* Find(const std::string& name);

  // checkers_leases.cc: deliveries, acks, modacks.
  Asked Ask(Instant now, SubscriptionBook& subscription, const std::string& id, bool ack, int32_t seconds);
  void AskAck(Instant now, SubscriptionBook& subscription, const std::string& id, InboxEntry& entry, Asked& asked);
  void AskModify(Instant now, const std::string& id, InboxEntry& entry, Asked& asked);
  void Settle(Instant now, SubscriptionBook& subscription, const std::string& id, const Asked& asked, Outcome outcome);
  void SettleAck(Instant now, SubscriptionBook& subscription, const std::string& id, InboxEntry& entry);
  void SettleModify(const Asked& asked, InboxEntry& entry);
  void Deliver(Instant now, SubscriptionBook& subscription, const pubsub::ReceivedMessage& message, Duration lease_min,
               Duration lease_max, uint64_t stream);
  void CheckMayDeliver(Instant now, SubscriptionBook& subscription, MessageId id, const InboxEntry& entry);
  void CheckCredit(Instant now, StreamBook& stream, SubscriptionBook& subscription,
                   const pubsub::StreamingPullResponse& response);
  void Confirm(Instant now, SubscriptionBook& subscription, StreamBook& stream, bool ack,
               const pubsub::Confirmation& confirmation);
  void CheckDrained(Instant now, const SubscriptionBook& subscription);

  // checkers_changes.cc: seeks, snapshots, updates, detached subscriptions.
  static void NoteMade(SubscriptionBook& book, const pubsub::Subscription& value);
  void NoteChange(Instant now, uint64_t id, CallBook& call, const pubsub::Request& request);
  void ChangeReplied(Instant now, uint64_t id, const CallBook& call, const absl::Status& status);
  void SeekArrived(Instant now, CallBook& call, SubscriptionBook& subscription, const pubsub::SeekRequest& request);
  std::optional<bool> SeekWants(const pubsub::SeekRequest& request, MessageId id) const;
  SeekEffect EffectOn(const SubscriptionBook& subscription, const InboxEntry& entry, std::optional<bool> wanted,
                      bool to_snapshot) const;
  void SeekReplied(Instant now, const CallBook& call, SubscriptionBook& subscription, const absl::Status& status);
  void SnapshotReplied(Instant now, const CallBook& call, const SubscriptionBook& subscription,
                       const absl::Status& status);
  std::map<MessageId, bool> CertainlyUnacked(const SubscriptionBook& subscription) const;
  void UpdateArrived(Instant now, uint64_t id, const CallBook& call, SubscriptionBook& subscription);
  void UpdateReplied(Instant now, uint64_t id, const CallBook& call, SubscriptionBook& subscription);
  void SetKind(Instant now, SubscriptionBook& subscription, SubscriptionBook::Kind kind);
  void CheckShown(Instant now, const CallBook& call, const SubscriptionBook& subscription,
                  const pubsub::Bytes& payload);
  void CheckBackoff(Instant now, const SubscriptionBook& subscription, MessageId id, const InboxEntry& entry);

  // checkers_rules.cc: filters, ordering keys, retry policies, dead letters.
  static bool Wants(const SubscriptionBook& subscription, const MessageBook& message);
  static bool MayBeForwarded(const SubscriptionBook& subscription, const InboxEntry& entry);
  void Expect(SubscriptionBook& subscription, MessageId id, const MessageBook& message);
  void CheckRules(Instant now, SubscriptionBook& subscription, MessageId id, const MessageBook& message,
                  const InboxEntry& entry, const pubsub::ReceivedMessage& received, uint64_t stream);
  void CheckOrder(Instant now, SubscriptionBook& subscription, MessageId id, const MessageBook& message,
                  uint64_t stream);
  void CheckAttempt(Instant now, const SubscriptionBook& subscription, const InboxEntry& entry, int32_t attempt);
  bool OnlyHeld(const InboxEntry& entry) const;
  void NoteRevoked(Instant now, SubscriptionBook& subscription, MessageId id);
  Instant LeasedUntil(Instant now, SubscriptionBook& subscription, MessageId id);
  bool FirstOfItsKey(SubscriptionBook& subscription, MessageId id);
  bool CertainlyFirst(SubscriptionBook& subscription, MessageId id);
  MessageBook* IdentifyLetter(Instant now, const pubsub::ReceivedMessage& received, MessageId id);

  const size_t per_response_max_;
  const Log log_;
  uint32_t epoch_ = 1;
  std::map<std::string, SubscriptionBook> subscriptions_;
  std::map<std::string, Instant> topics_gone_;  // deletion answered
  std::map<std::string, SnapshotBook> snapshots_;
  std::map<MessageId, MessageBook> messages_;
  absl::flat_hash_map<std::string, BodyBook> bodies_;
  absl::flat_hash_map<uint64_t, CallBook> calls_;
  std::map<uint64_t, StreamBook> streams_;
  std::multiset<uint64_t> written_;  // delivery keys of events, not yet seen at the door
  std::optional<Violation> violation_;
  Tally tally_;
};

}  // namespace hopgap::sim
