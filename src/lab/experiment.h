#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "lab/chain.h"
#include "lab/ledger.h"
#include "lab/logic.h"
#include "lab/options.h"
#include "lab/schedule.h"

namespace hopgap::lab {

// The whole run: every arm's chain, and the generator that publishes each slot
// to every arm of a group at the same scheduled instant, in an order that
// rotates from slot to slot.
//
// Sans-I/O: a driver (live or sim) performs the commands and brings the
// answers. One strand. `now` must not fall.
class Experiment final : public Logic {
 public:
  // `sink` and `clock` outlive it. Requires: at least one arm, hops >= 1.
  // NotFound for an unknown client model.
  static absl::StatusOr<std::unique_ptr<Experiment>> Make(Options options, trace::EventSink& sink, LedgerClock& clock);

  void Start(Instant now, Commands& out) override;
  bool Ready() const override;

  // The generator begins: slot 0 of the first group is due at `first`.
  void Begin(Instant first);
  // No further slot is sent (Ctrl-C).
  void EndSending() { sending_ended_ = true; }

  void OnResponse(Instant now, uint32_t endpoint, uint32_t stream, Instant received, Instant read_posted,
                  pubsub::StreamingPullResponse response, Commands& out) override;
  void OnStreamEnded(Instant now, uint32_t endpoint, uint32_t stream, const absl::Status& status,
                     Commands& out) override;
  void OnCallDone(Instant now, uint32_t endpoint, uint64_t call, const absl::Status& status, std::string_view details,
                  const pubsub::Bytes& response, Commands& out) override;
  void OnHandlerEntered(Instant now, uint32_t endpoint, uint64_t delivery, Commands& out) override;
  void OnDeadline(Instant now, Commands& out) override;
  std::optional<Instant> NextDeadline() const override;

  bool Finished() const override { return AllSent() && AllSettled(); }
  bool AllSent() const;     // every slot sent, or sending ended
  bool AllSettled() const;  // every sent message handled at the end and every ack answered
  std::optional<Instant> LastSlotDue() const;

  void Stop(Instant now, Commands& out) override;
  bool Stopped() const override;

  // Messages that settled since the last call.
  std::vector<Settled> TakeSettled() { return std::exchange(settled_, {}); }

  const Options& options() const { return options_; }
  const Ledger& ledger() const { return ledger_; }
  // The book itself, when the run is over.
  Ledger TakeLedger() { return std::move(ledger_); }
  const ArmCounts& counts(size_t arm) const { return chains_[arm]->counts(); }
  bool ExactlyOnceSeen(size_t arm) const { return chains_[arm]->ExactlyOnceSeen(); }
  std::pair<uint64_t, uint64_t> TraceId(size_t arm, uint64_t slot) const { return chains_[arm]->TraceId(slot); }
  uint32_t EndpointCount() const override;
  // True for endpoints that publish.
  static bool IsPublisher(uint32_t endpoint) { return endpoint % 2 == 0; }
  // The resource an endpoint works on, for request headers.
  std::string ResourceOf(uint32_t endpoint) const;

 private:
  struct Generator {  // one group's
    std::vector<size_t> arms;
    Duration offset{0};
    uint64_t next_slot = 0;
    size_t next_arm = 0;                     // within the slot
    Instant due = kNever, send_at = kNever;  // of next_slot; kNever once there is none
    bool done(uint64_t slots) const { return arms.empty() || next_slot >= slots; }
  };
  explicit Experiment(Options options);

  Chain& ChainOf(uint32_t endpoint) { return *chains_[endpoint / Chain::EndpointCount(options_.hops)]; }
  uint32_t LocalOf(uint32_t endpoint) const { return endpoint % Chain::EndpointCount(options_.hops); }
  void Aim(Generator& generator) const;  // at its next slot
  void SendNext(Instant now, Generator& generator, Commands& out);

  Options options_;
  Schedule schedule_;
  Ledger ledger_;
  uint64_t next_rpc_ = 1;
  std::vector<Settled> settled_;
  std::vector<std::unique_ptr<Chain>> chains_;  // by arm
  std::vector<Generator> generators_;           // by group
  std::optional<Instant> first_;
  bool sending_ended_ = false;
};

}  // namespace hopgap::lab
