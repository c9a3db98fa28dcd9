#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "pubsub/message.h"
#include "pubsub/resources.h"

namespace hopgap::broker {

// Resources are named in the journal by incarnation: a number never used twice,
// so that a topic deleted and made again is another topic.
using Incarnation = uint64_t;
using Sequence = uint64_t;    // of a message within its topic's incarnation, from 0
using Generation = uint32_t;  // of a delivery of one message to one subscription, from 1

// The journal's records, as values.
struct TopicCreated {
  Incarnation topic;
  pubsub::Topic value;
};
struct TopicDeleted {
  Incarnation topic;
};
struct SubscriptionCreated {
  Incarnation subscription;
  Incarnation topic;
  Sequence first;          // the first sequence it will receive
  Sequence send_bound;     // exactly-once only
  Duration lease_ceiling;  // exactly-once only
  pubsub::Subscription value;
};
struct SubscriptionDeleted {
  Incarnation subscription;
};
struct AckedDelivery {
  Sequence sequence;
  Generation generation;
};
// Accepted messages, as they will be delivered (message id and publish time in).
struct Published {
  Incarnation topic;
  Sequence first;
  std::vector<pubsub::Message> messages;
  // Not 0: they were forwarded to a dead-letter topic, message by message, and
  // this subscription has finished with these. One record, so that neither
  // happens without the other.
  Incarnation dead_lettered_by = 0;
  std::vector<AckedDelivery> dead_lettered = {};
};
struct Acked {
  Incarnation subscription;
  std::vector<AckedDelivery> deliveries;
};
// Awaited before a delivery of generation >= 2 is written.
struct Redelivered {
  Incarnation subscription;
  std::vector<AckedDelivery> deliveries;
};
// B: no message of this subscription with sequence >= bound was ever sent.
struct SendBoundRaised {
  Incarnation subscription;
  Sequence bound;
};
// L: no lease of this subscription is longer.
struct LeaseCeilingRaised {
  Incarnation subscription;
  Duration ceiling;
};
struct Nacked {
  Incarnation subscription;
  std::vector<AckedDelivery> deliveries;
};  // lazy
// Nacks and expired leases so far, in place of generations. Lazy: a crash may
// forget the newest, and then a delivery_attempt is given twice.
struct DeliveriesFailed {
  Incarnation subscription;
  std::vector<AckedDelivery> deliveries;
};
// Lazy, and never needed: a hold lasts L, whatever a lease was. Nothing writes it
// yet; replay reads it and goes on.
struct LeaseLength {
  Incarnation subscription;
  AckedDelivery delivery;
  Duration length;
};
// Exact leases at a clean stop: the next start holds only these. Void as soon as
// any record follows.
struct CleanStop {
  struct Lease {
    Incarnation subscription;
    AckedDelivery delivery;
    Duration remaining;
  };
  std::vector<Lease> leases;
  bool more = false;  // another record of this kind follows; without it the stop was not clean
};

// The whole value as it is from now on.
struct TopicUpdated {
  Incarnation topic;
  pubsub::Topic value;
};
struct SubscriptionUpdated {
  Incarnation subscription;
  pubsub::Subscription value;
};
// Its backlog is gone, it gets nothing any more, and it goes on as another
// incarnation, so that nothing that waits for the old one finds it.
struct SubscriptionDetached {
  Incarnation subscription;
  Incarnation as;
};
struct SequenceRange {
  Sequence begin;
  Sequence end;  // not in it
  friend bool operator==(const SequenceRange&, const SequenceRange&) = default;
};
// The ack state of a subscription at that moment: `unacked` was not finished
// with, every other sequence below `next` was, and what came later is unacked.
struct SnapshotCreated {
  Incarnation snapshot;
  Incarnation topic;
  Sequence next;                       // of the topic
  std::vector<SequenceRange> unacked;  // rising, apart from each other, below `next`
  pubsub::Snapshot value;
};
struct SnapshotUpdated {
  Incarnation snapshot;
  pubsub::Snapshot value;
};
struct SnapshotDeleted {
  Incarnation snapshot;
};
// A seek: of the topic's messages below `next` those in `unacked` are not
// finished with, all others are.
struct Sought {
  Incarnation subscription;
  Sequence next;
  std::vector<SequenceRange> unacked;
};
// What lies below `before` is too old: for a subscription, or for its topic to
// keep. Lazy: it follows from publish times too, after a restart once more.
struct RetentionPassed {
  Incarnation owner;
  Sequence before;
};

}  // namespace hopgap::broker
