#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "broker/broker.h"
#include "pubsub/resources.h"
#include "sim/disk.h"

namespace hopgap::sim {

// How a subscriber of the fault world behaves; shares in permille, the rest acks.
struct SubscriberPlan {
  enum class Kind : uint8_t { kStream, kPull, kLibrary };  // library: the real client::Subscriber
  Kind kind = Kind::kStream;
  size_t subscription = 0;  // index into FaultPlan::subscriptions
  int32_t stream_deadline_seconds = 10;
  int64_t messages_max = 0;  // outstanding on the stream, 0: no limit; of a pull: asked for
  int64_t bytes_max = 0;
  Duration work_min{0}, work_max{0};  // > 0
  uint64_t nack = 0, extend = 0, hold = 0, repeat = 0, stale = 0;
  bool receipts = false;         // a modack for each message as it comes
  bool acks_on_stream = false;   // else by calls
  Duration dies_about_every{0};  // 0: never
};

struct PublisherPlan {
  size_t topic = 0;
  uint64_t requests = 0;
  uint64_t messages_max = 1;  // per request, at most
  uint64_t keys = 0;          // ordering keys in use; 0: none
  bool library = false;       // the real client::Publisher
  bool traced = false;        // messages carry a trace context
  size_t body_max = 16;
};

// Everything that is drawn once per seed. Each class of faults is on in about
// half of the seeds only: where all happens at once, little goes deep.
struct FaultPlan {
  uint64_t seed = 0;
  broker::Broker::Options broker;
  std::vector<pubsub::Topic> topics;
  pubsub::Topic dead_letter_topic;  // without a name: nobody needs it
  std::vector<pubsub::Subscription> subscriptions;
  std::vector<SubscriberPlan> subscribers;
  std::vector<PublisherPlan> publishers;
  Duration chaos{0};  // how long faults last; then they stop and everything has to drain

  // Network.
  Duration delay_min{0}, delay_max{0};  // each direction, each packet
  uint64_t slow = 0;                    // permille of packets that take up to slow_max
  Duration slow_max{0};
  uint64_t lost = 0;        // permille of requests, and of answers
  uint64_t duplicated = 0;  // permille of calls that arrive twice
  Duration cut_about_every{0};
  Duration write_max{0};  // a stream's write is done after at most this: a slow reader

  // Disk.
  Duration sync_min{0}, sync_max{0};
  uint64_t sync_fails = 0;  // permille; the process ends
  Duration crash_about_every{0};
  uint64_t crash_after_ok = 0;  // permille of the answers OK after which, at once, the process crashes
  Duration down_max{0};
  uint64_t clean_stops = 0;  // permille of the crashes that are none
  Duration wall_step_max{0};
  StorePlan store;

  // What else happens in the middle.
  Duration admin_about_every{0};    // subscriptions made, detached and deleted, topics too
  Duration changes_about_every{0};  // seeks, snapshots, updates
  uint64_t detaches = 0;            // permille: that one of those in use is detached

  std::string Describe() const;  // one line, for the report of a failure
};

FaultPlan DrawFaultPlan(uint64_t seed);

// When the world begins, and what wall clocks then say that did not step.
inline constexpr Instant kWorldStart = InstantFromNanos(1'000'000'000);
inline constexpr WallTime kWorldWall{std::chrono::hours{24 * 365 * 40}};

// Longest lease that any subscriber asks for.
inline constexpr int32_t kExtensionSecondsMax = 120;

}  // namespace hopgap::sim
