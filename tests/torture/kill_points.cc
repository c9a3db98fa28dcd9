// Loaded into the broker under torture with LD_PRELOAD: ends the process with
// SIGKILL at a named place in its use of the disk. The product knows nothing of
// it. HOPGAP_TORTURE_POINT is "NAME:SKIP:DRAW": die at the place NAME after it
// was passed SKIP times; DRAW is what a torn write is drawn from. The names are
// in kill_points.h.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>

#include "torture/kill_points.h"

namespace hopgap::torture {
namespace {

constexpr size_t kSectorBytes = 512, kFrameHeaderBytes = 32, kSegmentHeaderBytes = 64;
// Types of the journal's records (docs/journal-format.md): a checkpoint's first, the one with bodies, its last.
constexpr int kBegan = 64, kBodies = 71, kEnded = 72;

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

struct Plan {
  std::atomic<int> point{-1};
  std::atomic<long> skip{0};
  uint64_t draw = 0;
};

Plan& ThePlan() {
  static Plan plan;
  static std::once_flag once;
  std::call_once(once, [] {
    const char* text = getenv("HOPGAP_TORTURE_POINT");
    char name[32] = {};
    long skip = 0;
    unsigned long long draw = 0;
    if (text == nullptr || sscanf(text, "%31[a-z-]:%ld:%llu", name, &skip, &draw) != 3) return;
    plan.skip = skip;
    plan.draw = draw;
    for (size_t i = 0; i < kPoints; ++i) {
      if (strcmp(name, kPointNames[i]) == 0) plan.point = static_cast<int>(i);
    }
  });
  return plan;
}

// True once: the place is the one, and was passed often enough.
bool Due(Point point) {
  Plan& plan = ThePlan();
  return plan.point == static_cast<int>(point) && plan.skip.fetch_sub(1) <= 0;
}

[[noreturn]] void Die() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}
void DieIf(Point point) {
  if (Due(point)) Die();
}

enum class Kind { kOther, kSegment, kSpare, kCheckpoint };
Kind KindOf(int descriptor) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size <= 0) return Kind::kOther;
  path[size] = '\0';
  const char* name = strrchr(path, '/');
  if (name == nullptr) return Kind::kOther;
  if (strncmp(name, "/segment-", 9) == 0) return Kind::kSegment;
  if (strcmp(name, "/spare") == 0) return Kind::kSpare;
  return strcmp(name, "/checkpoint") == 0 ? Kind::kCheckpoint : Kind::kOther;
}

// Whether a write to a segment holds a record of that type, or, 0, is the zeros
// with which a start overwrites what is torn.
bool Holds(const char* bytes, size_t size, int type) {
  for (size_t at = 0; at + kFrameHeaderBytes <= size;) {
    uint32_t sum = 0, length = 0;
    memcpy(&sum, bytes + at, sizeof sum);
    memcpy(&length, bytes + at + 4, sizeof length);
    if (type == 0) return sum == 0 && length == 0;
    const size_t body = at + kFrameHeaderBytes;
    if (length >= 2 && body + 2 <= size && bytes[body] == 8 && bytes[body + 1] == type) return true;
    at = body + (length + 7) / 8 * 8;
  }
  return false;
}

using Pwrite = ssize_t (*)(int, const void*, size_t, off_t);

// Some of its sectors reach the file, others do not.
[[noreturn]] void Tear(Pwrite next, int descriptor, const char* bytes, size_t size, off_t offset) {
  uint64_t draw = ThePlan().draw;
  const size_t cut = draw % 3 == 0 ? draw / 3 % (size + 1) : size;  // from the end, or with holes
  for (size_t at = 0; at < cut; at += kSectorBytes) {
    draw = draw * 6364136223846793005u + 1442695040888963407u;
    if (cut == size && draw >> 63 != 0) continue;
    const size_t part = at + kSectorBytes < cut ? kSectorBytes : cut - at;
    (void)!next(descriptor, bytes + at, part, offset + static_cast<off_t>(at));
  }
  Die();
}

std::atomic<int> g_synced_next{-1};  // the point that comes when the write of now is synced

ssize_t WriteSegment(Pwrite next, int descriptor, const char* bytes, size_t size, off_t offset) {
  if (offset < static_cast<off_t>(kSegmentHeaderBytes)) return next(descriptor, bytes, size, offset);
  if (Holds(bytes, size, 0)) {
    if (Due(Point::kWipe)) Tear(next, descriptor, bytes, size, offset);
    return next(descriptor, bytes, size, offset);
  }
  DieIf(Point::kBeforeWrite);
  const bool began = Holds(bytes, size, kBegan), bodies = Holds(bytes, size, kBodies),
             ended = Holds(bytes, size, kEnded);
  if (Due(Point::kTornWrite) || (bodies && Due(Point::kTornCopy)) || (began && Due(Point::kTornCheckpoint))) {
    Tear(next, descriptor, bytes, size, offset);
  }
  const ssize_t written = next(descriptor, bytes, size, offset);
  DieIf(Point::kBeforeSync);
  g_synced_next = ended    ? static_cast<int>(Point::kCheckpointEnded)
                  : bodies ? static_cast<int>(Point::kCopied)
                  : began  ? static_cast<int>(Point::kCheckpointBegan)
                           : static_cast<int>(Point::kAfterSync);
  return written;
}

void Synced(int descriptor) {
  const Kind kind = KindOf(descriptor);
  if (kind == Kind::kCheckpoint) DieIf(Point::kCheckpointSet);
  if (kind == Kind::kSpare) DieIf(Point::kSpareReady);
  if (kind != Kind::kSegment) return;
  const int point = g_synced_next.exchange(-1);
  if (point >= 0) DieIf(static_cast<Point>(point));
}

}  // namespace
}  // namespace hopgap::torture

using namespace hopgap::torture;

extern "C" {

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  static const auto next = Next<Pwrite>("pwrite");
  if (ThePlan().point < 0) return next(descriptor, bytes, size, offset);
  const auto* text = static_cast<const char*>(bytes);
  switch (KindOf(descriptor)) {
    case Kind::kSegment: return WriteSegment(next, descriptor, text, size, offset);
    case Kind::kCheckpoint:
      if (Due(Point::kTornCheckpointFile)) {
        (void)!next(descriptor, bytes, size / 2, offset);
        Die();
      }
      break;
    case Kind::kSpare:
      if (size > kSegmentHeaderBytes && Due(Point::kSpareZeroed)) {
        (void)!next(descriptor, bytes, size / 2, offset);
        Die();
      }
      break;
    case Kind::kOther: break;
  }
  return next(descriptor, bytes, size, offset);
}

int fdatasync(int descriptor) {
  static const auto next = Next<int (*)(int)>("fdatasync");
  const int result = next(descriptor);
  if (ThePlan().point >= 0) Synced(descriptor);
  return result;
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  static const auto next = Next<int (*)(int, const char*, int, const char*)>("renameat");
  const int result = next(from_folder, from, to_folder, to);
  if (ThePlan().point < 0) return result;
  if (strcmp(to, "spare") == 0) DieIf(Point::kGivenBack);
  if (strcmp(from, "spare") == 0) DieIf(Point::kNamed);
  return result;
}

int unlinkat(int folder, const char* name, int flags) {
  static const auto next = Next<int (*)(int, const char*, int)>("unlinkat");
  const int result = next(folder, name, flags);
  if (ThePlan().point >= 0 && strncmp(name, "segment-", 8) == 0) DieIf(Point::kDeleted);
  return result;
}

}  // extern "C"
