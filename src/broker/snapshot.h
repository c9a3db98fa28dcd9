#pragma once

#include <vector>

#include "broker/journal_record.h"
#include "broker/planted.h"
#include "pubsub/resources.h"

namespace hopgap::broker {

struct Topic;

// The ack state of one subscription at one moment, for a seek to come back to:
// of the topic's messages below `next` those in `unacked` were not finished
// with, all others were; what was published later is unacked. It has a reference
// to every message that it calls unacked, so all of them are in the topic's log.
struct Snapshot {
  const Incarnation id;
  pubsub::Snapshot value;
  Topic& topic;  // outlives it, also when it is deleted by name
  const Sequence next;
  const std::vector<SequenceRange> unacked;  // rising, apart from each other
  Planted planted = Planted::kNone;

  // Whether a seek to it makes the message unacked.
  bool Wants(Sequence sequence) const;
};

}  // namespace hopgap::broker
