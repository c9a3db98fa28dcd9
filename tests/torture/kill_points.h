#pragma once

#include <cstddef>

namespace hopgap::torture {

// Places in the broker's use of its disk at which kill_points.cc ends it.
enum class Point {
  kBeforeWrite,         // a group is about to be written
  kTornWrite,           // ... and some of its sectors are
  kBeforeSync,          // ... and all are, without a sync
  kAfterSync,           // ... and synced; nobody has been answered
  kTornCheckpoint,      // the same of a checkpoint's first group
  kCheckpointBegan,     // which is synced
  kTornCopy,            // bodies of a segment that is to be emptied are written again, in part
  kCopied,              // ... synced
  kCheckpointEnded,     // the last record of a checkpoint is synced, the file does not say so
  kTornCheckpointFile,  // the file is written in part
  kCheckpointSet,       // the file is synced, no segment has been given back
  kGivenBack,           // a segment nobody needs has lost its name
  kNamed,               // ... and got its new one
  kDeleted,             // a segment was deleted
  kSpareZeroed,         // a new file is being filled
  kSpareReady,          // ... has its header
  kWipe,                // a start overwrites what was torn, in part
};
inline constexpr const char* kPointNames[] = {
    "before-write",     "torn-write", "before-sync", "after-sync",       "torn-checkpoint",
    "checkpoint-began", "torn-copy",  "copied",      "checkpoint-ended", "torn-checkpoint-file",
    "checkpoint-set",   "given-back", "named",       "deleted",          "spare-zeroed",
    "spare-ready",      "wipe"};
inline constexpr size_t kPoints = sizeof kPointNames / sizeof kPointNames[0];

}  // namespace hopgap::torture
