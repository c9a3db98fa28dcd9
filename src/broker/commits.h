#pragma once

#include <deque>
#include <vector>

#include "broker/held.h"
#include "broker/journal_record.h"

namespace hopgap::broker {

// The groups of records that are on their way to the journal, and what waits
// for them. Groups become durable in the order in which they were emitted, so
// to wait for one is to wait for all before it.
class Commits {
 public:
  // A record that lists more deliveries is made into several of one group: one
  // has to fit into a segment of the journal, and any number may fail at once.
  explicit Commits(size_t deliveries_per_record_max) : deliveries_max_(deliveries_per_record_max) {}

  // Emits one group. `then` runs when it is durable; null: nobody waits.
  void Persist(const std::vector<Record>& records, Then then, Actions& out);

  // The same for records that are wire bytes already.
  void PersistEncoded(std::vector<pubsub::Slices> records, Then then, Actions& out);

  // Runs `then` once every awaited group emitted so far is durable: now, if all
  // are. A lazy group is not waited for: it may lie until the next awaited one.
  void AfterAwaited(Instant now, Then then, Actions& out);

  // Runs what waited, oldest group first. A token that was answered before is
  // ignored; one answers for all before it.
  void OnPersisted(Instant now, PersistToken token, Actions& out);

  size_t pending() const { return pending_.size(); }
  size_t awaited() const;

 private:
  struct Group {
    PersistToken token = 0;
    bool awaited = false;
    std::vector<Then> waiting;
  };
  void Encode(const Record& record, std::vector<pubsub::Slices>& out) const;

  const size_t deliveries_max_;
  std::deque<Group> pending_;
  PersistToken last_token_ = 0;
};

}  // namespace hopgap::broker
