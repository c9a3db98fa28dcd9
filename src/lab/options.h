#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "base/work_law.h"
#include "client/model.h"
#include "lab/arm.h"
#include "lab/schedule.h"

namespace hopgap::lab {

// kAwait: a worker acks after its publish has its result (what a careful user
// writes). kFire: it acks right after the publish call.
enum class PublishMode : uint8_t { kAwait, kFire };

// Test-only faults of the lab itself; the client's and the broker's are theirs.
struct Planted {
  Duration send{0};             // every publish call of the generator this much late
  Duration work{0};             // every handler works this much longer
  Duration generator_stall{0};  // the generator does nothing for this long, from the middle slot on
};

// A share of handlings ends in a nack instead of a publish and an ack: drawn per
// hop, message and attempt, so that arms share the draws and a redelivery draws anew.
struct HandlerFailures {
  double share = 0;  // [0, kHandlerFailuresMax]
  uint64_t seed = 0;
  // `attempt`: how often this hop has failed on this message before.
  bool Of(uint64_t hop, uint64_t key, uint64_t attempt) const;
};
inline constexpr double kHandlerFailuresMax = 0.9;  // a message then takes ten attempts, on average

struct Group {
  std::string name;     // "here", "replay"
  std::string project;  // its resources' project: what a profile belongs to
  Duration offset{0};   // of its slots
};

struct Options {
  std::vector<Group> groups;
  std::vector<ArmSpec> arms;  // in order of their groups
  int hops = 3;
  WorkLaw work;                // of every handler
  HandlerFailures failures;    // of handlers, drawn
  uint64_t millihertz = 1000;  // the mean rate
  Arrival arrival;             // every arm's and group's slots alike
  uint64_t slots = 31;
  uint64_t message_bytes = 0;  // of data; 0: as short as its draw
  uint32_t streams = 4;
  int64_t max_outstanding_messages = 1000;
  PublishMode publish = PublishMode::kAwait;
  uint64_t seed = 0;
  std::string resource_prefix;  // makes topics and subscriptions unique on a shared target
  Planted planted;
  client::Planted client_planted;
};

// A topic or subscription the run needs.
struct Resource {
  std::string topic;         // full name
  std::string subscription;  // full name; empty: the topic itself
  bool exactly_once = false;
};

// The data of a slot's message: "1.SLOT", or exactly `bytes` bytes that begin like it.
std::string DataOf(uint64_t slot, uint64_t bytes);
inline constexpr uint64_t kMessageBytesMax = 9'000'000;  // with attributes inside the service's 10 MB

// Topics first, so that they can be made in this order and removed in reverse.
std::vector<Resource> ResourcesOf(const Options& options);
// The trace of an arm's message.
std::pair<uint64_t, uint64_t> TraceIdOf(const Options& options, size_t arm, uint64_t slot);
std::string TopicName(const Options& options, const ArmSpec& arm, int hop);
std::string SubscriptionName(const Options& options, const ArmSpec& arm, int hop);

}  // namespace hopgap::lab
