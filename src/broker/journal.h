#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "pubsub/bytes.h"

namespace hopgap::broker {

// Names one group of records that is on its way to the journal; rises by one.
using PersistToken = uint64_t;

// The one durable thing. The broker emits groups of records (an action of kind
// kPersist); the adapter appends them here and tells the broker, on its strand,
// when a group is down. Groups become durable in the order in which they were
// appended. Implemented in `store`.
class Journal {
 public:
  virtual ~Journal() = default;

  // `awaited`: an answer waits for it; a lazy group may ride with the next.
  // `done` is called exactly once, from any thread, when the group and all
  // before it are durable.
  virtual void Append(PersistToken token, std::vector<pubsub::Slices> records, bool awaited,
                      std::function<void(PersistToken)> done) = 0;
};

}  // namespace hopgap::broker
