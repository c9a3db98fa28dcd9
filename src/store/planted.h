#pragma once

#include <cstdint>

namespace hopgap::store {

// Test-only bugs, one at a time, as broker/planted.h has them: the fault world
// has to find every one of them over files that lose bytes.
enum class Planted : uint8_t {
  kNone,
  kWriteNotSynced,          // a group is called durable before its sync
  kNameNotSynced,           // a segment is written to before its name is sure to stay
  kTornTailAccepted,        // a record is believed without its sum
  kCheckpointBeforeRecord,  // the checkpoint's place is noted before the record that ends it is synced
  kBodiesDropped,           // segments that only a checkpoint's bodies lie in are used again
  kEnd,                     // how many there are
};

}  // namespace hopgap::store
