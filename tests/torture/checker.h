#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "torture/delivery.h"

namespace hopgap::torture {

// The promises of docs/reliability.md over the life of a broker that is killed
// again and again, judged by what its clients saw and nothing else: publishes
// that were asked and answered, deliveries, acks and modacks likewise, when the
// process was known to be dead, and by how much the test clock was moved. Keeps
// books of its own. The first broken promise is kept.
//
// Broker time is only known within bounds: at least the machine's plus what
// advances were answered, at most the machine's plus what was asked. Each rule
// uses the bound that favours the broker. Not thread-safe.
class Checker {
 public:
  struct Violation {
    std::string promise, what;
  };
  struct Tally {  // that a run did something
    uint64_t publishes = 0, deliveries = 0, again = 0, acks = 0, refused = 0, modacks = 0, letters = 0, held = 0,
             old_ids = 0;
  };
  Checker(uint64_t seed, std::vector<Rules> rules) : seed_(seed), rules_(std::move(rules)), ids_(rules_.size()) {}

  void PublishAsked(uint64_t number, size_t size, std::string key);
  void PublishAnswered(uint64_t number, const std::string& message_id);
  void Received(Instant now, const Delivery& delivery);
  void AckAsked(Instant now, size_t subscription, const std::string& ack_id);
  void AckAnswered(Instant now, size_t subscription, const std::string& ack_id, Outcome outcome);
  // A length of 0 is a nack.
  void ModackAsked(Instant now, size_t subscription, const std::string& ack_id, Duration length);
  void ModackAnswered(Instant now, size_t subscription, const std::string& ack_id, Outcome outcome);
  void AdvanceAsked(Duration length) { asked_ += length; }
  void AdvanceAnswered() { answered_ = asked_; }
  // The process is dead, and everything that was under way has been reported.
  void Ended();

  // Broker time is at least that at `now`.
  Instant AtLeast(Instant now) const { return now + answered_; }
  // Since broker time `since` every lease had ended, and pulls brought what
  // there was until they came back empty: what nobody has acknowledged must have come.
  void ExpectArrived(Instant since, size_t subscription);
  // Everything was pulled and acknowledged until nothing came any more. Forgets
  // the messages; exactly-once, none of them may ever come again.
  void ExpectDrained();
  // What may still be with somebody under exactly-once, delivered and not acknowledged.
  size_t Outstanding(Instant now) const;
  // Not acknowledged everywhere, as far as the clients know.
  size_t backlog() const { return existing_ - finished_; }
  // For what the driver finds out itself.
  void Break(std::string promise, std::string what);
  // What the broker itself says of a promise that it has just broken.
  void Explain(std::string_view words);

  const std::optional<Violation>& violation() const { return violation_; }
  const Tally& tally() const { return tally_; }

 private:
  // One message in one subscription.
  struct Entry {
    std::string ack_id;    // the newest; empty: it never came
    Instant leased_until;  // at least, on the broker's time
    Instant came_at;       // at most, likewise
    uint32_t life = 0;     // in which it came last
    uint32_t times = 0;    // in that life
    bool nacked = false;   // asked, since it came last
    bool refused = false;  // the newest id is over
    bool acked = false, ack_asked = false, ack_unknown = false;
    uint32_t acked_life = 0;
    uint64_t advanced = 0;  // seconds asked of the clock when it came
  };
  struct Message {
    size_t size = 0;
    std::string key, id, letter_id;  // empty: not known
    std::vector<Entry> entries;
    size_t done = 0;  // subscriptions
    bool exists() const { return !id.empty(); }
  };
  struct Asked {
    Instant at;         // at least
    bool live = false;  // the id had to be good
    Duration length{0};
    size_t under_way = 0;  // of the same id
  };
  using Number = uint64_t;

  Message* Identify(const Delivery& delivery, Number& number);
  bool NoteId(const Delivery& delivery, Number number, Message& message);
  void NoteExists(Message& message, Number number, const std::string& message_id);
  void CheckMayCome(Instant now, const Delivery& delivery, Number number, const Message& message);
  void CheckOrder(size_t subscription, const Message& message);
  void Revoke(size_t subscription, const Message& message);
  bool Live(Instant now, size_t subscription, const Message& message) const;
  Entry* Find(size_t subscription, const std::string& ack_id, Message** message);
  static std::string Describe(const Entry& entry);
  std::string Before(size_t subscription, const Message& message) const;
  std::string Name(size_t subscription, const Message& message) const;
  void Count(Message& message, int change);
  Instant AtMost(Instant now) const { return now + asked_; }

  const uint64_t seed_;
  const std::vector<Rules> rules_;
  uint32_t life_ = 1;
  Number floor_ = 0;  // below it everything was drained
  Duration asked_{0}, answered_{0};
  std::map<Number, Message> messages_;
  size_t existing_ = 0, finished_ = 0;
  std::map<std::string, std::map<uint64_t, Number>> keys_;  // message id → number
  struct Ids {
    std::unordered_map<std::string, Number> numbers;  // of every ack id seen
    std::map<std::string, Asked> acks, modacks;       // under way
  };
  std::vector<Ids> ids_;
  std::optional<Violation> violation_;
  Tally tally_;
};

}  // namespace hopgap::torture
