#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace hopgap::trace {

// The message an event belongs to: the W3C trace and the `create` span of its
// publish, as googclient_traceparent carries them. All zero: none.
struct MessageKey {
  uint64_t trace_hi = 0;
  uint64_t trace_lo = 0;
  uint64_t create_span = 0;
  friend auto operator<=>(const MessageKey&, const MessageKey&) = default;
};

// What happened. The columns say what the event's other fields hold; those not
// named are 0. "rpc" numbers are unique within one process.
enum class What : uint16_t {
  kNone = 0,
  // Client, publisher. place: the topic.
  kPublishCall,        // rpc: parent span id (0: root). value: scheduled instant (ns) on the first hop, else 0.
                       // delivery: slot + 1 (0: none)
  kPublisherAdmitted,  // publisher flow control passed
  kBatchingEnd,        // bundle handler has its worker; batching began at kPublisherAdmitted. value: when the rule let
                       // it go (ns; 0: not said), so that a late timer is not taken for waiting
  kPublishStart,       // rpc; count: messages in the request
  kPublishEnd,         // rpc; value: status code; delivery: message id as a number (0 if it is none)
  // Client, subscriber. place: the subscription. delivery: DeliveryKey of the ack id.
  kReceived,             // stream; rpc: response number of the stream; count: messages in it; value: read posted (ns)
  kReceivedExactlyOnce,  // the same, when the stream said exactly-once
  kReceiptModackStart,   // rpc; count: ids in the call; value: deadline seconds
  kReceiptModackEnd,     // rpc; value: status code
  kExtensionStart,       // rpc; count; value: deadline seconds
  kExtensionEnd,         // rpc; value: status code
  kReceiptFailed,        // the receipt modack failed for good: never handed to the callback
  kFlowControlStart,
  kFlowControlEnd,
  kSchedulerStart,
  kCallbackStart,  // also the end of the scheduler's wait
  kStoreStart,     // the handler asks, or tells, its store of handled messages
  kStoreEnd,
  kAckCalled,
  kNackCalled,
  kHandlerReturned,
  kAckStart,        // rpc; count; value: the tick it was due at (ns; 0: not said)
  kAckEnd,          // rpc; value: status code
  kNackStart,       // rpc; count
  kNackEnd,         // rpc; value: status code
  kLeaseAbandoned,  // the client let its lease run out (max extension)
  // Broker. place: topic for the first three, subscription for the rest.
  kAccepted = 100,  // Publish request read. delivery: message id as a number
  kCommitted,       // the journal has it. rpc: sequence in the topic
  kPublishReplied,
  kWritten,       // stream; rpc: response number; count: messages in it. The lease starts
  kLeaseRead,     // modack request read. value: seconds
  kLeaseApplied,  // value: status code; the new deadline counts. count: why it failed (broker::LeaseFailure)
  kLeaseReplied,
  kAckRead,
  kAckCommitted,  // value: status code; count: why it failed
  kAckReplied,
  kReturned,    // lease ended without an ack. value: 0 expired, 1 nacked
  kDelayAdded,  // count: broker leg (see DelayLeg). value: ns
};

// The server legs of a latency profile, in the order of a message's life.
enum class DelayLeg : uint16_t { kPublishBefore, kPublishAfter, kDeliver, kModack, kAck };
inline constexpr int kDelayLegs = 5;

// One fixed-size record. Recording must not disturb what is measured: no
// strings, no allocation; encoding starts after the last message.
struct Event {
  Instant at{};
  MessageKey message{};
  uint64_t delivery = 0;
  uint64_t rpc = 0;
  int64_t value = 0;
  What what = What::kNone;
  uint16_t place = 0;
  uint16_t stream = 0;
  uint16_t count = 0;
};
static_assert(sizeof(Event) == 64);

// Joins a client's delivery with the broker's: both know the ack id. Never 0.
uint64_t DeliveryKey(std::string_view ack_id);

// Where an event happened; events name it by its index.
struct Place {
  enum class Side : uint8_t { kClient, kBroker };
  Side side = Side::kClient;
  std::string arm;  // client only; empty for the broker and foreign clients
  int hop = 0;      // client only; 1-based: the hop whose message this is
  std::string project;
  std::string resource;  // short topic or subscription id
};

// Receives events in the order in which they happen on one strand. Implemented
// by the recording ring (live) and by the collector (simulated).
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void Record(const Event& event) = 0;
  // Registers a place. Requires: fewer than 65,535 places.
  virtual uint16_t AddPlace(const Place& place) = 0;
};

// For code that need not be traced.
class NullSink final : public EventSink {
 public:
  void Record(const Event&) override {}
  uint16_t AddPlace(const Place&) override { return 0; }
};

// Span ids are functions of what they name, so that no event has to carry one.
enum class SpanRole : uint64_t {
  kCreate = 1,
  kPublisherFlowControl,
  kBatching,
  kPublishRpc,
  kSubscribe,
  kConcurrencyControl,
  kScheduler,
  kProcess,
  kModackRpc,
  kAckRpc,
  kNackRpc,
  kBrokerPublish,
  kBrokerDeliver,
  kBrokerLease,
  kBrokerAck,
};
// Of a span of one message or delivery; never 0. A create span's own id is
// message.create_span; kCreate derives a fresh one for a message to be
// published, from its trace, its parent span and a number.
uint64_t SpanId(SpanRole role, const MessageKey& message, uint64_t delivery);
// Of an RPC span (publish, modack, ack, nack), which roots a trace of its own.
MessageKey RpcSpan(SpanRole role, uint16_t place, uint64_t rpc);

}  // namespace hopgap::trace
