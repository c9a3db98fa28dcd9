#pragma once

#include <string_view>

#include "base/time.h"

// The words of the Go library v2 (reference/client-behaviour.md §3.2), and ours
// under "hopgap.". Written by message_spans.cc and rpc_spans.cc, read back by
// view_from_spans.cc. What the library knows and an event does not carry (body
// size, ordering key, ack id) is not written.
namespace hopgap::trace::words {

// Span names: "<resource> <suffix>", or the name alone.
inline constexpr std::string_view kCreate = " create";
inline constexpr std::string_view kPublish = " publish";
inline constexpr std::string_view kSubscribe = " subscribe";
inline constexpr std::string_view kProcess = " process";
inline constexpr std::string_view kModack = " modack";
inline constexpr std::string_view kAck = " ack";
inline constexpr std::string_view kNack = " nack";
inline constexpr std::string_view kPublisherFlowControl = "publisher flow control";
inline constexpr std::string_view kPublisherBatching = "publisher batching";
inline constexpr std::string_view kConcurrencyControl = "subscriber concurrency control";
inline constexpr std::string_view kScheduler = "subscribe scheduler";
inline constexpr std::string_view kBrokerPublish = " broker publish";
inline constexpr std::string_view kBrokerDeliver = " broker deliver";
inline constexpr std::string_view kBrokerLease = " broker lease";
inline constexpr std::string_view kBrokerAck = " broker ack";

// Events.
inline constexpr std::string_view kPublishStart = "publish start";
inline constexpr std::string_view kPublishEnd = "publish end";
inline constexpr std::string_view kModackStart = "modack start";
inline constexpr std::string_view kModackEnd = "modack end";
inline constexpr std::string_view kAckStart = "ack start";
inline constexpr std::string_view kAckEnd = "ack end";
inline constexpr std::string_view kNackStart = "nack start";
inline constexpr std::string_view kNackEnd = "nack end";
inline constexpr std::string_view kAckCalled = "ack called";
inline constexpr std::string_view kNackCalled = "nack called";
inline constexpr std::string_view kCommitted = "committed";
inline constexpr std::string_view kLeaseApplied = "lease applied";
inline constexpr std::string_view kAckCommitted = "ack committed";

// Ours, of a handler that keeps a store of handled messages.
inline constexpr std::string_view kStoreStart = "store start";
inline constexpr std::string_view kStoreEnd = "store end";

// The library's attributes.
inline constexpr std::string_view kProjectId = "gcp.project_id";
inline constexpr std::string_view kSystem = "messaging.system";
inline constexpr std::string_view kSystemPubsub = "gcp_pubsub";
inline constexpr std::string_view kDestination = "messaging.destination.name";
inline constexpr std::string_view kMessageId = "messaging.message.id";
inline constexpr std::string_view kBatchCount = "messaging.batch.message_count";
inline constexpr std::string_view kCodeFunction = "code.function";
inline constexpr std::string_view kOperationName = "messaging.operation.name";
inline constexpr std::string_view kOperationType = "messaging.operation.type";
inline constexpr std::string_view kExactlyOnce = "messaging.gcp_pubsub.exactly_once_delivery";
inline constexpr std::string_view kResult = "messaging.gcp_pubsub.result";
inline constexpr std::string_view kAckId = "messaging.gcp_pubsub.message.ack_id";
inline constexpr std::string_view kAckDeadline = "messaging.gcp_pubsub.message.ack_deadline";
inline constexpr std::string_view kIsReceipt = "messaging.gcp_pubsub.is_receipt_modack";

// Ours. Instants are decimal text: a reader that holds numbers as doubles would
// lose nanoseconds.
inline constexpr std::string_view kArm = "hopgap.arm";
inline constexpr std::string_view kHop = "hopgap.hop";
inline constexpr std::string_view kSlot = "hopgap.slot";
inline constexpr std::string_view kScheduled = "hopgap.scheduled_unix_nano";
inline constexpr std::string_view kReleased = "hopgap.released_unix_nano";
inline constexpr std::string_view kStream = "hopgap.stream";
inline constexpr std::string_view kResponse = "hopgap.response";
inline constexpr std::string_view kReadPosted = "hopgap.read_posted_unix_nano";
inline constexpr std::string_view kDelivery = "hopgap.delivery";  // 16 hex digits
inline constexpr std::string_view kHandlerReturned = "hopgap.handler_returned_unix_nano";
inline constexpr std::string_view kSequence = "hopgap.sequence";
inline constexpr std::string_view kReturned = "hopgap.returned";  // "expired" or "nacked"
inline constexpr std::string_view kReturnedAt = "hopgap.returned_unix_nano";
inline constexpr std::string_view kFailure = "hopgap.failure";  // why an ack or modack failed
inline constexpr std::string_view kAddedBefore = "hopgap.added.publish_before_commit_ns";
inline constexpr std::string_view kAddedAfter = "hopgap.added.publish_after_commit_ns";
inline constexpr std::string_view kAddedDeliver = "hopgap.added.deliver_ns";
inline constexpr std::string_view kAddedModack = "hopgap.added.modack_ns";
inline constexpr std::string_view kAddedAck = "hopgap.added.ack_ns";

inline constexpr std::string_view kBrokerService = "hopgap-broker";

}  // namespace hopgap::trace::words
