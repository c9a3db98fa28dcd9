#pragma once

#include <absl/container/flat_hash_map.h>

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "broker/broker.h"
#include "broker/catalog.h"
#include "broker/commits.h"
#include "broker/durability.h"
#include "broker/held.h"
#include "broker/replayer.h"

namespace hopgap::broker {

// The data of the broker, for Broker::Impl and its parts alone.
class ImplState {
 protected:
  ImplState(Broker::Options options, trace::EventSink& sink)
      : options_(std::move(options)),
        any_delays_(options_.every_project != nullptr || !options_.delays.empty()),
        sink_(sink),
        catalog_(options_, sink),
        next_message_id_(options_.first_message_id),
        replayer_(catalog_, next_message_id_) {}

  Broker::Options options_;  // the admin API may change how responses are made up
  const bool any_delays_;    // else nobody ever looks at a draw key
  trace::EventSink& sink_;
  Catalog catalog_;
  Commits commits_{options_.deliveries_per_record_max};
  Held held_;
  Counters counters_;
  Instant read_at_;
  uint64_t next_message_id_;
  Replayer replayer_;
  size_t held_publish_bytes_ = 0;  // of requests that a delay holds before they are in a log
  size_t holds_ = 0;               // calls that have a place in held_, or will
  bool stopping_ = false;
  Durability durability_{options_, catalog_, commits_, next_message_id_, stopping_};
  size_t waiting_pulls_ = 0;
  absl::flat_hash_map<CallId, Incarnation> calls_;         // without an answer; where a Pull waits (0: it does not)
  std::deque<std::pair<Instant, CallId>> pull_deadlines_;  // in order: every wait is as long
  absl::flat_hash_map<StreamId, Incarnation> streams_;
  absl::flat_hash_map<StreamId, absl::Status> orphans_;  // subscription gone, last write not done
  std::set<std::pair<Instant, Incarnation>> wakes_;      // when a subscription has something to do
  std::set<std::pair<Instant, Incarnation>> chores_;     // when something of a topic or subscription may be too old
};

}  // namespace hopgap::broker
