#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "client/action.h"
#include "client/model.h"
#include "pubsub/message.h"
#include "trace/event.h"

namespace hopgap::client {

// One Receive() of the Go library: S streams, each with a stop-and-wait loop, a
// serial sender with 100 ms tickers and a lease timer; one flow controller and
// one scheduler for all. Under exactly-once the loop waits for the receipt
// modack of the whole response before it goes on. Other libraries differ as
// Model says.
//
// Sans-I/O. `now` must not fall. Not thread-safe.
class Subscriber {
 public:
  struct Options {
    std::string subscription;  // full name
    std::string client_id;     // the same for all streams and reconnects
    Model model;
    uint32_t streams = 1;
    uint16_t place = 0;                // the subscription, in `sink`
    uint64_t seed = 0;                 // backoff jitter
    std::vector<Duration> tick_phase;  // per stream, in [0, tick); empty: all 0
    Planted planted;
  };
  // A message in the hands of its handler. `id` names it in the calls below.
  struct Delivery {
    uint64_t id = 0;
    pubsub::Message message;
    trace::MessageKey key;      // trace context of its create span
    uint64_t delivery_key = 0;  // trace::DeliveryKey of its ack id
    bool exactly_once = false;
    Instant received;
  };

  // `sink` and `next_rpc` outlive the subscriber.
  Subscriber(Options options, trace::EventSink& sink, uint64_t& next_rpc);
  ~Subscriber();

  void Start(Instant now, Actions& out);

  // A read came back: `received` is the clock right after it did (the receipt;
  // not later than `now`), `read_posted` when it was posted.
  void OnResponse(Instant now, uint32_t stream, Instant received, Instant read_posted,
                  pubsub::StreamingPullResponse response, Actions& out);
  void OnStreamEnded(Instant now, uint32_t stream, const absl::Status& status, Actions& out);
  // `details` are the google.rpc.Status bytes of the trailer, if any.
  void OnCallDone(Instant now, uint64_t call, const absl::Status& status, std::string_view details, Actions& out);

  // After kStartCallback. Requires: the id is in a handler's hands.
  const Delivery& Get(uint64_t delivery) const;
  // The handler is entered now (driver); events are stamped with `now`.
  void OnCallbackStarted(Instant now, uint64_t delivery);
  // The handler asks its store of handled messages (kStoreStart) and has its
  // answer (kStoreEnd): for the trace alone.
  void OnStore(Instant now, uint64_t delivery, trace::What what);
  // At most one of them counts per delivery; answered by kAckDone when its
  // result is known (standard: when the first RPC returned). Ignored when the
  // delivery is forgotten: its callback returned without either and the lease
  // ran out (Model::max_extension).
  void Ack(Instant now, uint64_t delivery, Actions& out);
  void Nack(Instant now, uint64_t delivery, Actions& out);
  // Releases flow control and the worker slot. The id may not be used after
  // both this and its kAckDone.
  void OnCallbackReturned(Instant now, uint64_t delivery, Actions& out);

  void OnDeadline(Instant now, Actions& out);
  std::optional<Instant> NextDeadline() const;

  // Stops pulling: no more reads; messages no handler has yet are nacked, also
  // those of a response that still comes; streams are half-closed once callbacks
  // have returned and acks are flushed. A message whose callback returned without
  // ack or nack is waited for, as the library does. Stopped() when all results
  // are in and the half-closes are out; it does not wait for the server's end.
  // kFailed implies Stop().
  void Stop(Instant now, Actions& out);
  bool Stopped() const;

  bool exactly_once_seen() const;  // on any stream's last response
  bool properties_seen() const;    // any response came
  size_t outstanding() const;      // received, not yet returned from the callback

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hopgap::client
