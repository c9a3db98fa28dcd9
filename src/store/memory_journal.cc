#include "store/memory_journal.h"

namespace hopgap::store {

void MemoryJournal::Append(broker::PersistToken token, std::vector<pubsub::Slices> records, bool /*awaited*/,
                           Done done) {
  ++groups_;
  if (keep_ == Keep::kRecords) {
    for (const pubsub::Slices& record : records) records_.emplace_back(pubsub::Join(record));
  }
  done(token, {});
}

}  // namespace hopgap::store
