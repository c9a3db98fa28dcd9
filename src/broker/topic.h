#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/delays.h"
#include "broker/snapshot.h"
#include "broker/subscription.h"
#include "broker/topic_log.h"
#include "pubsub/resources.h"

namespace hopgap::broker {

struct Topic {
  Topic(Incarnation incarnation, pubsub::Topic resource, Retained& retained)
      : id(incarnation), value(std::move(resource)), log(retained) {}

  // The next message, on its way to the journal: every subscription whose
  // filter it matches gets it, and every snapshot keeps it.
  void Take(LoggedMessage message);

  void SetValue(pubsub::Topic updated);
  // Whether it keeps its messages for a while, whatever becomes of them in subscriptions.
  bool keeps() const { return value.message_retention_duration && !deleted; }
  bool Keeps(Sequence sequence) const { return keeps() && sequence >= kept_from; }
  // Those below `before` it keeps no longer. Requires: it does until now.
  void DropBefore(Sequence before);

  const Incarnation id;
  pubsub::Topic value;
  TopicLog log;
  std::vector<Subscription*> subscriptions;  // in the order of creation
  std::vector<Subscription*> detached;       // they get nothing, but name it
  std::vector<Snapshot*> snapshots;
  std::string project;
  uint16_t place = 0;
  const Delays* delays = nullptr;
  LegUses uses;                        // of the publish legs
  uint64_t arrivals = 0;               // messages that ever came, in the order in which they did
  Instant keyed_due{Duration::min()};  // the latest due of a held request with an ordering key
  uint64_t keyed_held = 0;             // such requests
  bool deleted = false;                // by name; lives on while a subscription does
  Sequence kept_from = 0;              // the first that it keeps, if it keeps any
  Sequence committed = 0;              // the journal has all below it
  std::optional<Instant> chore;        // what the broker's chores hold for it
};

}  // namespace hopgap::broker
