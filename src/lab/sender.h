#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/publisher.h"
#include "lab/logic.h"

namespace hopgap::lab {

// What publishes to the first hop: the generator of a run, or an API that
// answers its callers.
class Sender final : public Logic {
 public:
  struct Options {
    client::Publisher::Options publisher;
    uint32_t endpoint = 0;
  };
  struct Message {
    std::string data;
    std::vector<std::pair<std::string, std::string>> attributes;
    uint64_t trace_hi = 0, trace_lo = 0;
    uint64_t parent = 0;               // span of the caller; 0: none
    std::optional<Instant> scheduled;  // when the schedule wanted it
    uint64_t slot_label = 0;           // slot + 1, for the spans; 0: none
  };
  // The publish that Send() named has its result: the message id, or why not.
  using OnDone = std::function<void(uint64_t send, const absl::StatusOr<std::string>& message_id)>;

  // The references outlive the sender.
  Sender(Options options, trace::EventSink& sink, uint64_t& next_rpc, OnDone done);

  // Returns the number that OnDone will get.
  uint64_t Send(Instant now, const Message& message, Commands& out);

  uint32_t EndpointCount() const override { return 1; }
  void Start(Instant, Commands&) override {}
  bool Ready() const override { return true; }
  void OnResponse(Instant, uint32_t, uint32_t, Instant, Instant, pubsub::StreamingPullResponse, Commands&) override;
  void OnStreamEnded(Instant, uint32_t, uint32_t, const absl::Status&, Commands&) override;
  void OnCallDone(Instant now, uint32_t endpoint, uint64_t call, const absl::Status& status, std::string_view details,
                  const pubsub::Bytes& response, Commands& out) override;
  void OnHandlerEntered(Instant, uint32_t, uint64_t, Commands&) override;
  void OnDeadline(Instant now, Commands& out) override;
  std::optional<Instant> NextDeadline() const override;
  bool Finished() const override { return false; }
  // Sends what is buffered at once.
  void Stop(Instant now, Commands& out) override;
  bool Stopped() const override { return publisher_.in_flight() == 0; }

  Instant next_deadline() const { return next_; }  // kNever: none
  size_t in_flight() const { return publisher_.in_flight(); }

 private:
  void Take(client::Actions& actions, Commands& out);

  const uint32_t endpoint_;
  OnDone done_;
  client::Publisher publisher_;
  Instant next_ = kNever;
  uint64_t next_publish_ = 1;
};

}  // namespace hopgap::lab
