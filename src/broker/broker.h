#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/draw.h"
#include "base/time.h"
#include "broker/action.h"
#include "broker/admin_requests.h"
#include "broker/delays.h"
#include "broker/journal.h"
#include "broker/lease_failure.h"
#include "broker/planted.h"
#include "pubsub/api.h"
#include "trace/event.h"

namespace hopgap::broker {

// When a stream may be given its next response under exactly-once (design,
// "Response policy").
enum class ResponsePolicy : uint8_t { kEager, kGated };

// Counters that are promises made visible (`journal waits on the modack path`).
struct Counters {
  uint64_t receipt_modacks = 0;
  uint64_t modacks_that_waited_for_the_journal = 0;  // a longer lease raised the ceiling first
  uint64_t send_bound_waits = 0;                     // a first delivery waited for B
  uint64_t redeliveries = 0;
  uint64_t expired_leases = 0;
  uint64_t refused_publishes = 0;  // over the memory limit
  uint64_t dead_lettered = 0;
};

// Cloud Pub/Sub's topics, subscriptions and leases, as plain logic: events and
// `now` go in, actions and the next deadline come out. Nothing is delivered
// before its publish is durable; an exactly-once ack answers after its record
// is; a redelivery leaves after its generation is (design, "Durability and
// exactly-once").
//
// `now` must not fall from call to call. Not thread-safe: one strand.
class Broker {
 public:
  struct Options {
    ClockAnchor anchor;  // publish_time = wall of `now`
    HashKey ack_id_key;  // unforgeable ack ids; random in production
    uint64_t first_message_id = 1;
    ResponsePolicy response_policy = ResponsePolicy::kEager;
    // By project; `every_project` applies where there is no other.
    std::map<std::string, std::shared_ptr<const Delays>> delays;
    std::shared_ptr<const Delays> every_project;
    Duration pull_wait = std::chrono::seconds{10};  // a blocking Pull answers empty after this
    size_t messages_per_response_max = 1000;
    size_t bytes_per_response_max = 3'500'000;    // python's client takes 4 MiB
    size_t retained_bytes_max = size_t{4} << 30;  // in memory; beyond: Publish is RESOURCE_EXHAUSTED
    size_t deliveries_per_record_max = 20'000;    // of the journal, about 20 bytes each: any segment has room
    size_t checkpoint_messages_per_slice = 4000;  // what a checkpoint may hold the strand for: about 1 ms
    size_t streams_max = 10'000;                  // beyond: RESOURCE_EXHAUSTED
    size_t waiting_pulls_max = 10'000;            // beyond: RESOURCE_EXHAUSTED
    size_t snapshots_max = 10'000;                // beyond: RESOURCE_EXHAUSTED
    size_t held_max = 1'000'000;                  // requests and replies held by delays; beyond: RESOURCE_EXHAUSTED
    // Called, on the strand, for every id of an exactly-once ack or modack that
    // fails. May not call the broker.
    std::function<void(Instant now, const LeaseFailure& failure)> on_lease_failure;
    Planted planted = Planted::kNone;  // test-only
  };

  // `sink` outlives the broker.
  Broker(Options options, trace::EventSink& sink);
  ~Broker();

  // Rebuilds state from the journal, before any other call: each record in
  // order, then the end. Unacked exactly-once messages below the send bound are
  // then held until `now` + lease ceiling.
  absl::Status Replay(const pubsub::Bytes& record) { return Replay({record, {}}, nullptr); }
  absl::Status Replay(const StoredRecord& record, const FindBody& find);
  absl::Status ReplayDone(Instant now);  // DataLoss for half a checkpoint

  // Unary calls. `method` names the Name and List requests apart. `read`: when the
  // request came off the wire, not later than `now`; for the trace alone.
  void OnCall(Instant now, CallId call, pubsub::Method method, pubsub::Request request, Actions& out,
              std::optional<Instant> read = std::nullopt);
  void OnCallCancelled(Instant now, CallId call, Actions& out);

  // StreamingPull: the first request opens it.
  void OnStreamOpen(Instant now, StreamId stream, pubsub::StreamingPullRequest first, Actions& out);
  void OnStreamRequest(Instant now, StreamId stream, pubsub::StreamingPullRequest request, Actions& out);
  void OnStreamHalfClosed(Instant now, StreamId stream, Actions& out);
  void OnStreamGone(Instant now, StreamId stream, Actions& out);  // cancelled or disconnected; also after kCloseStream
  void OnWriteDone(Instant now, StreamId stream, Actions& out);

  // The journal keeps these records' bodies: before the group's OnPersisted().
  void OnStored(const std::vector<StoredRecord>& records);
  // A token answers for all before it, too.
  void OnPersisted(Instant now, PersistToken token, Actions& out);
  void OnDeadline(Instant now, Actions& out);  // idempotent; early calls do nothing
  std::optional<Instant> NextDeadline() const;

  // The admin API. Answers how many leases, streams or subscriptions it touched.
  // InvalidArgument names field, value and limits; NotFound what is not there.
  absl::StatusOr<uint64_t> OnAdmin(Instant now, const AdminRequest& request, Actions& out);
  absl::StatusOr<LeaseReport> Leases(Instant now, const std::string& subscription);

  // Refuses new work, closes streams with UNAVAILABLE (those with a write in
  // flight after it), answers waiting pulls, journals exact leases. Refuses held
  // requests, sends held answers.
  void Stop(Instant now, Actions& out);

  // Writes the whole state into the journal, a slice with each commit. Requires: !checkpointing().
  void StartCheckpoint(CheckpointPlan plan, Actions& out);
  bool checkpointing() const;
  const LiveBytes& live_bytes() const;  // what is needed of the journal's segments
  // Publishes of more bytes are RESOURCE_EXHAUSTED: the journal's disk is full.
  void SetPublishRoom(uint64_t bytes);

  const Counters& counters() const;
  struct Census TakeCensus() const;  // census.h; walks over everything

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hopgap::broker
