#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "pubsub/api.h"
#include "sim/change_books.h"

// What the checkers write down of what crossed the broker's door, whatever is behind it.
namespace hopgap::sim {

inline constexpr uint64_t kByPull = uint64_t{1} << 63;  // in place of a stream: the pull with the rest as its call

// An ack or modack of one id on its way, judged at its arrival.
struct Asked {
  bool ack = true;
  int32_t seconds = 0;
  Instant arrived;
  bool may = false;      // OK is a right answer
  bool must = false;     // ... and the only right one, if nothing else happens
  bool lapsed = false;   // the lease had perhaps ended when it came
  bool alone = false;    // no other modack of the id was on its way
  bool repeat = false;   // an ack of the id that may have counted came before
  bool early = false;    // a standard ack before its turn in its key
  uint32_t touches = 0;  // of the delivery, when it came
  uint32_t version = 0;  // of the subscription, when it came; 0: a change was under way
};

// The newest delivery of one message to one subscription.
struct DeliveryBook {
  std::string ack_id;
  uint64_t stream = 0;   // or kByPull
  uint32_t epoch = 0;    // of the broker process that wrote it
  Instant lease_min;     // certainly leased before it,
  Instant lease_max;     // certainly not from it on (a restart may add to that)
  uint32_t touches = 0;  // acks and modacks that may have counted
  uint32_t modacks_pending = 0;
  bool ack_came = false, nack_came = false;  // and may have counted
  bool ack_unknown = false;                  // an ack of it may have counted, and nobody heard
  bool nacked = false;                       // answered OK
  bool held = false;                         // exactly-once: leased when its process ended
  bool sought = false;                       // a seek may have ended its lease
  bool voided = false;                       // exactly-once: a seek certainly made its id void
};

// One message for one subscription.
struct InboxEntry {
  std::optional<DeliveryBook> newest;
  uint32_t deliveries = 0;
  bool due = false;                  // its publish was answered: it has to come until it is acked
  bool ack_maybe = false;            // an ack that may have counted came since the newest delivery
  bool acked = false;                // exactly-once: an ack was answered OK
  std::string winner;                // ... of this id
  std::optional<uint32_t> acked_in;  // standard: epoch of an ack that certainly counted
  int32_t attempt = 0;               // as the newest delivery said
  int32_t more_attempts = 0;         // that may count beside: nacks by ids from before a switch, or before a seek
  uint32_t letters = 0;              // seen of it on the dead-letter topic
  bool passed = false;               // a seek certainly finished with it, and none may have brought it back
  bool unclear = false;              // a seek may have finished with it, or brought it back

  bool finished() const { return acked || ack_maybe || letters > 0 || passed || unclear; }
};

struct SubscriptionBook {
  pubsub::Subscription value;
  Instant made;          // when its creation was answered
  bool leaving = false;  // its deletion came; answered or not
  bool gone = false;     // its deletion was answered
  std::map<MessageId, InboxEntry> inbox;
  struct IdBook {
    MessageId message;
    uint32_t once;  // exactly-once: 1 + switches, when it was written
  };
  absl::flat_hash_map<std::string, IdBook> ids;        // every ack id ever written
  std::map<std::string, std::vector<MessageId>> keys;  // ordered: of each key, as published

  // Changes. `version` rises when one comes and when it is answered: what was
  // asked before a change is not judged after it.
  enum class Kind : uint8_t { kStandard, kExactlyOnce, kUnclear };
  Kind kind = Kind::kUnclear;
  uint32_t version = 1, switches = 0, updates = 0, seeks_pending = 0;
  bool sought = false;                                 // ever
  Instant sought_at{};                                 // the last time that one came or was answered
  std::map<std::string, uint64_t> latest;              // of each field that was changed: the call that came last
  std::set<std::string> unclear_fields;                // value holds what was answered last, another may hold
  int32_t deadline_min = 0, deadline_max = 0;          // of ack_deadline_seconds
  std::vector<std::pair<Instant, Duration>> backoffs;  // since when, the least that holds then
  std::optional<int32_t> letters_from;                 // the fewest attempts after which anything was ever forwarded
  bool keeps_acked = false, may_keep_acked = false;

  bool exactly_once() const { return kind == Kind::kExactlyOnce; }
  bool changed(const std::string& field) const { return latest.contains(field); }
};

// A message that has an id: seen in a delivery or in the answer to its publish.
struct MessageBook {
  std::string data, topic, key, number;  // number: the attribute that filters look at
  bool answered = false;
  Instant arrived = kNever;            // its publish, if it was answered
  std::optional<WallTime> published;   // as delivered
  std::optional<uint64_t> bytes_hash;  // as first delivered
};

// A body that a publisher sent; every body is sent in one request only, which
// may arrive more than once.
struct BodyBook {
  std::string topic, key, number;
  uint32_t arrivals = 0;  // requests with it, refused ones taken off
  uint32_t ids = 0;       // messages made of it
};

struct CallBook {
  pubsub::Method method{};
  Instant arrived;
  std::string resource;             // topic or subscription
  std::vector<std::string> bodies;  // of a publish
  std::vector<std::pair<std::string, Asked>> asked;
  int32_t pull_max = 0;
  pubsub::Subscription subscription;  // of a creation or update
  pubsub::UpdateMask mask;
  uint32_t version = 0;  // of the subscription, when it came
  std::string snapshot;  // to be made, or sought
  std::map<MessageId, SeekEffect> effects;
  std::map<MessageId, bool> unacked;  // as it came: what a snapshot has to hold
};

struct StreamBook {
  std::string subscription;
  Duration lease_min{0}, lease_max{0};  // what a delivery may have been leased for
  int64_t messages_max = 0, bytes_max = 0;
  bool write_in_flight = false;
  bool loose = false;  // its subscription was switched: what is confirmed is left open
  struct Out {
    MessageId message;
    std::string ack_id;
    size_t bytes;
  };
  std::vector<Out> out;                              // written here and not certainly ended
  std::vector<std::pair<std::string, Asked>> asked;  // exactly-once: awaiting confirmation
};

}  // namespace hopgap::sim
