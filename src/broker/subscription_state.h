#pragma once

#include <absl/container/flat_hash_map.h>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/ack_id.h"
#include "broker/delivery.h"
#include "broker/interval_set.h"
#include "broker/lease_table.h"
#include "broker/planted.h"
#include "broker/ready_queue.h"
#include "broker/send_bound.h"
#include "broker/stream_set.h"
#include "broker/topic_log.h"
#include "pubsub/filter.h"
#include "pubsub/resources.h"

namespace hopgap::broker {

struct Topic;

// The data of a subscription. Public is what the broker keeps beside it; what
// has rules of its own is for Subscription alone.
class SubscriptionState {
 public:
  // What an ack id means now.
  enum class IdState : uint8_t {
    kLive,        // the newest generation, and its lease has not ended
    kAckPending,  // ... and its ack is on its way to the journal
    kAckedByThis,
    kEnded,       // the newest generation; expired or nacked, not delivered again
    kSuperseded,  // another generation than the newest
    kUnknown,     // no such message here any more (acked by another id), or never
  };

  // How a message is finished.
  enum class End : uint8_t {
    kAcked,
    kEnded,   // without an ack, so that no id of it is a good one
    kTooOld,  // nor is it kept for a seek
  };

  SubscriptionState(Incarnation incarnation, pubsub::Subscription&& resource, pubsub::Filter its_filter,
                    Topic& its_topic, Sequence from, Sequence send_bound, Duration lease_ceiling)
      : id(incarnation),
        value(std::move(resource)),
        filter(std::move(its_filter)),
        topic(its_topic),
        first(from),
        bound(send_bound),
        ceiling(lease_ceiling),
        ceiling_durable(lease_ceiling),
        exactly_once_(value.enable_exactly_once_delivery) {}

  const Incarnation id;
  pubsub::Subscription value;
  const pubsub::Filter filter;
  Topic& topic;          // outlives it, also when it is deleted by name
  const Sequence first;  // the first sequence it receives
  std::string project;
  uint16_t place = 0;  // in the event sink
  const Delays* delays = nullptr;
  LegUses uses;  // of the other legs
  Planted planted = Planted::kNone;
  SendBound bound;
  Duration ceiling;  // L, as it will be once all is durable
  Duration ceiling_durable;
  Duration ceiling_floor{0};  // the next raise goes at least here
  StreamSet streams;
  std::deque<WaitingPull> pulls;
  // Until the journal knows: failures to be counted, and messages to be
  // forwarded to the dead-letter topic that was there.
  std::vector<AckedDelivery> failures_to_journal;
  std::vector<std::pair<Sequence, Incarnation>> dead_letters;
  Instant last_use{};
  bool retention_armed = false;             // a chore comes when its oldest message is too old, or before
  std::optional<Instant> chore;             // what the broker's chores hold for it
  PlannedFailures fail_acks, fail_modacks;  // by the admin API, like the next
  std::optional<Instant> paused_until;      // nothing is written to streams
  std::optional<Instant> wake;              // what the broker's timer index holds for it

 protected:
  bool exactly_once_;
  SequenceWindow<Delivery> deliveries_;
  LeaseTable leases_;
  ReadyQueue ready_{deliveries_, streams};
  std::vector<std::pair<Instant, Sequence>> delayed_;  // a heap, earliest first
  std::deque<Sequence> awaiting_bound_, awaiting_generation_;
  size_t committing_ = 0;
  IntervalSet acked_;                                 // all that is finished
  IntervalSet ended_;                                 // ... without an ack
  IntervalSet kept_;                                  // ... and still held, to be sought
  absl::flat_hash_map<Sequence, Returned> returned_;  // looked up, never iterated
  std::map<Sequence, Won> winners_;                   // where it is not generation 1
  std::map<Sequence, UnderWay> under_way_;            // of those in deliveries_
};

}  // namespace hopgap::broker
