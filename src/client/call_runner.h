#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/action.h"
#include "client/backoff.h"
#include "client/delivery_table.h"
#include "client/model.h"
#include "client/recorder.h"

namespace hopgap::client {

enum class Purpose : uint8_t { kReceipt, kExtension, kAck, kNack };

// What the return of a call (or the end of a retry) settled.
struct Outcome {
  struct Result {
    Target target;
    bool ok = false;
    bool invalid_id = false;  // not ok, because the ack id is invalid
  };
  Purpose purpose = Purpose::kAck;
  uint32_t stream = 0;
  std::vector<Result> results;  // ids whose fate is final
  bool sender_free = false;     // all calls of a sender's batch have returned
};

// The Acknowledge and ModifyAckDeadline calls of one subscriber.
//
// A batch goes out in parallel calls of `ids_per_call`; each call is sent again
// on UNAVAILABLE inside its timeout. Once all calls of the batch have returned,
// the ids that exactly-once allows to retry go on by themselves: at once (where
// the model does), then with growing pauses, until they succeed, fail for good, or the limit is
// reached (modacks: `modack_retries`; acks and nacks: `ack_retry_total`).
// Retries belong to no sender: a sender is free when its first calls returned.
class CallRunner {
 public:
  struct Options {
    std::string subscription;
    Model model;
    uint64_t seed = 0;
  };
  // `recorder` and `next_rpc` outlive it.
  CallRunner(Options options, Recorder& recorder, uint64_t& next_rpc);

  // `seconds` is the new deadline; 0 for kNack, unused for kAck.
  // Requires: targets is not empty.
  void Send(Instant now, uint32_t stream, Purpose purpose, int32_t seconds, bool from_sender,
            std::vector<Target> targets, Actions& out);

  // Requires: `call` is running.
  Outcome OnCallDone(Instant now, uint64_t call, const absl::Status& status, std::string_view details, Actions& out);
  std::vector<Outcome> OnDeadline(Instant now, Actions& out);
  std::optional<Instant> NextDeadline() const;

  // From now on a receipt or extension that failed is not tried again: the
  // subscriber stops, and its result no longer matters. Those that sleep fail now.
  std::vector<Outcome> StopRetryingModacks(Instant now, Actions& out);

  // Batches of this stream that are not finished.
  size_t unfinished(uint32_t stream) const;

 private:
  struct Batch {
    uint32_t stream = 0;
    Purpose purpose = Purpose::kAck;
    int32_t seconds = 0;
    bool from_sender = false;
    int attempt = 0;         // 0: the first sending
    Instant retrying_since;  // attempt > 0
    Backoff backoff;
    size_t running = 0;         // calls
    std::vector<Target> retry;  // ids to try again
  };
  struct Call {
    uint64_t batch = 0;
    std::vector<Target> targets;
    pubsub::Slices payload;
    uint64_t rpc = 0;
    Instant ends;  // its timeout
    Backoff resend;
  };
  using WakeKey = std::pair<Instant, uint64_t>;  // the number keeps equal instants in order

  void StartCalls(Instant now, uint64_t batch_id, std::vector<Target> targets, Actions& out);
  void Issue(Instant now, Call call, Actions& out);
  pubsub::Bytes EncodeRequest(const Batch& batch, const std::vector<Target>& targets) const;
  Outcome Finish(Instant now, Call call, const absl::Status& status, std::string_view details, Actions& out);
  void EndOfCalls(Instant now, uint64_t batch_id, Outcome& outcome, Actions& out);
  void StartRetries(Instant now, const Batch& batch, Actions& out);
  Outcome Retry(Instant now, uint64_t batch_id, Actions& out);
  void FailRetries(uint64_t batch_id, Outcome& outcome);
  bool MayRetry(Instant now, const Batch& batch) const;
  bool MayResend(Instant now, const Call& call) const;
  size_t IdsPerCall(Purpose purpose) const;
  void Forget(uint64_t batch_id);

  Options options_;
  Recorder& recorder_;
  uint64_t& next_rpc_;
  uint64_t last_call_ = 0, last_batch_ = 0, last_wake_ = 0;
  bool retries_modacks_ = true;
  absl::flat_hash_map<uint64_t, Call> calls_;  // looked up only
  std::map<uint64_t, Batch> batches_;
  std::map<WakeKey, Call> resends_;
  std::map<WakeKey, uint64_t> retries_;  // batches between two attempts
  std::vector<size_t> unfinished_;       // by stream
};

}  // namespace hopgap::client
