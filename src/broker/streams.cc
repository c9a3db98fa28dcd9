// StreamingPull: what a stream may ask, and its end. A stream is written to
// only when its last write is done, so what it is owed gathers until then; an
// end waits for that too.

#include <algorithm>
#include <utility>

#include "broker/errors.h"
#include "broker/impl.h"
#include "pubsub/limits.h"

namespace hopgap::broker {
namespace {

// Ids whose confirmation is not written yet: a client that acks on the stream
// and does not read it is cut off.
constexpr size_t kConfirmationsMax = 100'000;

size_t Ids(const pubsub::Confirmation& confirmation) {
  return confirmation.ack_ids.size() + confirmation.invalid_ack_ids.size() + confirmation.unordered_ack_ids.size() +
         confirmation.temporary_failed_ack_ids.size();
}

absl::Status CheckModifies(const pubsub::StreamingPullRequest& request) {
  if (request.modify_deadline_seconds.size() != request.modify_deadline_ack_ids.size()) {
    return absl::InvalidArgumentError(
        "modify_deadline_seconds and modify_deadline_ack_ids must have the same number of elements.");
  }
  for (int32_t seconds : request.modify_deadline_seconds) {
    if (seconds < pubsub::kModifyAckDeadlineSecondsMin || seconds > pubsub::kModifyAckDeadlineSecondsMax) {
      return BadAckDeadline(seconds, pubsub::kModifyAckDeadlineSecondsMin, pubsub::kModifyAckDeadlineSecondsMax);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckStreamDeadline(int32_t seconds) {
  if (seconds >= pubsub::kAckDeadlineSecondsMin && seconds <= pubsub::kAckDeadlineSecondsMax) return absl::OkStatus();
  return BadAckDeadline(seconds, pubsub::kAckDeadlineSecondsMin, pubsub::kAckDeadlineSecondsMax);
}

absl::Status CheckLaterRequest(const pubsub::StreamingPullRequest& request) {
  const auto only_first = [](const char* field) {
    return absl::InvalidArgumentError(std::string(field) + " may only be set in the first request of a stream.");
  };
  if (!request.subscription.empty()) return only_first("subscription");
  if (request.max_outstanding_messages != 0) return only_first("max_outstanding_messages");
  if (request.max_outstanding_bytes != 0) return only_first("max_outstanding_bytes");
  if (request.protocol_version != 0) return only_first("protocol_version");
  if (request.stream_ack_deadline_seconds != 0) {
    if (absl::Status status = CheckStreamDeadline(request.stream_ack_deadline_seconds); !status.ok()) return status;
  }
  return CheckModifies(request);
}

bool IsKeepAlive(const pubsub::StreamingPullRequest& request) {
  return request.ack_ids.empty() && request.modify_deadline_ack_ids.empty() &&
         request.stream_ack_deadline_seconds == 0 && request.client_id.empty();
}

Action CloseAction(StreamId stream, absl::Status status) {
  return {.kind = Action::Kind::kCloseStream, .stream = stream, .status = std::move(status)};
}

}  // namespace

Broker::Impl::Found Broker::Impl::FindStream(StreamId stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return {};
  Subscription* subscription = catalog_.FindSubscription(found->second);
  return {subscription, subscription->streams.Find(stream)};
}

void Broker::Impl::OnStreamOpen(Instant now, StreamId id, pubsub::StreamingPullRequest first, Actions& out) {
  const auto refuse = [&](absl::Status status) { out.push_back(CloseAction(id, std::move(status))); };
  if (stopping_) return refuse(Stopping());
  const absl::StatusOr<Subscription*> found = AttachedNamed(first.subscription);
  if (!found.ok()) return refuse(found.status());
  if (absl::Status status = CheckStreamDeadline(first.stream_ack_deadline_seconds); !status.ok()) return refuse(status);
  if (absl::Status status = CheckModifies(first); !status.ok()) return refuse(status);
  if (streams_.size() + orphans_.size() >= options_.streams_max) {
    return refuse(LimitReached("open streams", options_.streams_max));
  }
  Subscription& subscription = **found;
  Stream& stream = subscription.streams.Open(id);
  stream.lease = std::chrono::seconds{first.stream_ack_deadline_seconds};
  stream.messages_max = first.max_outstanding_messages;
  stream.bytes_max = first.max_outstanding_bytes;
  stream.answers_keep_alive = first.protocol_version >= 1;
  streams_[id] = subscription.id;

  // Before any message, so that the client knows what kind it reads from.
  Write(subscription, stream, {}, out);
  Advance(now, subscription);
  EnsureCeiling(subscription, stream.lease, out);
  ApplyStreamAcks(now, subscription, stream, first, out);
  Dispatch(now, subscription, out);
}

void Broker::Impl::OnStreamRequest(Instant now, StreamId id, pubsub::StreamingPullRequest request, Actions& out) {
  const auto [subscription, stream] = FindStream(id);
  if (stream == nullptr || stream->closing) return;
  if (absl::Status status = CheckLaterRequest(request); !status.ok()) {
    return CloseStream(*subscription, *stream, std::move(status), out);
  }
  if (request.stream_ack_deadline_seconds != 0) {
    stream->lease = std::chrono::seconds{request.stream_ack_deadline_seconds};
    EnsureCeiling(*subscription, stream->lease, out);
  }
  if (stream->answers_keep_alive && IsKeepAlive(request)) stream->owes_response = true;
  Advance(now, *subscription);
  Flush(*subscription, *stream, out);
  ApplyStreamAcks(now, *subscription, *stream, request, out);
  Dispatch(now, *subscription, out);
}

// The parallel lists become one request per deadline, in the order in which
// the deadlines first stand there.
void Broker::Impl::ApplyStreamAcks(Instant now, Subscription& subscription, Stream& stream,
                                   pubsub::StreamingPullRequest& request, Actions& out) {
  std::vector<LeaseRequest> parts;
  const auto part_for = [&](bool ack, int32_t seconds) -> LeaseRequest& {
    const auto found = std::find_if(parts.begin(), parts.end(),
                                    [&](const LeaseRequest& p) { return p.ack == ack && p.seconds == seconds; });
    if (found != parts.end()) return *found;
    LeaseRequest& part = parts.emplace_back();
    part.ack = ack;
    part.seconds = seconds;
    part.stream = stream.id;
    part.subscription = subscription.id;
    return part;
  };
  for (std::string& id : request.ack_ids) part_for(true, 0).items.emplace_back().text = std::move(id);
  for (size_t i = 0; i < request.modify_deadline_ack_ids.size(); ++i) {
    part_for(false, request.modify_deadline_seconds[i]).items.emplace_back().text =
        std::move(request.modify_deadline_ack_ids[i]);
  }
  // All at once: the stream may not end between them, and may not be looked at
  // after the first, whose confirmation can end it.
  if (subscription.exactly_once()) stream.confirmations_to_come += parts.size();
  for (LeaseRequest& part : parts) {
    if (part.ack) {
      Acknowledge(now, std::move(part), out);
    } else {
      ModifyAckDeadline(now, std::move(part), out);
    }
  }
}

void Broker::Impl::Confirm(const LeaseRequest& request, Actions& out) {
  const auto [subscription, stream] = FindStream(request.stream);
  if (stream == nullptr || !request.exactly_once) return;
  pubsub::Confirmation& confirmation = request.ack ? stream->acks : stream->modacks;
  for (const LeaseRequest::Item& item : request.items) {
    if (Has(Planted::kConfirmationLost) && !request.ack) continue;
    std::vector<std::string>& list = item.unordered ? confirmation.unordered_ack_ids
                                     : item.failed  ? confirmation.invalid_ack_ids
                                                    : confirmation.ack_ids;
    list.push_back(item.text);
  }
  --stream->confirmations_to_come;
  stream->owes_response = true;
  if (Ids(stream->acks) + Ids(stream->modacks) > kConfirmationsMax) {
    return CloseStream(*subscription, *stream, LimitReached("confirmations that are not read", kConfirmationsMax), out);
  }
  Flush(*subscription, *stream, out);
}

// Nothing was applied: the client is to try again.
void Broker::Impl::ConfirmNone(const LeaseRequest& request, Actions& out) {
  const auto [subscription, stream] = FindStream(request.stream);
  if (stream == nullptr || !request.exactly_once) return;
  pubsub::Confirmation& confirmation = request.ack ? stream->acks : stream->modacks;
  for (const LeaseRequest::Item& item : request.items) confirmation.temporary_failed_ack_ids.push_back(item.text);
  --stream->confirmations_to_come;
  stream->owes_response = true;
  Flush(*subscription, *stream, out);
}

void Broker::Impl::OnStreamHalfClosed(Instant, StreamId id, Actions& out) {
  const auto [subscription, stream] = FindStream(id);
  if (stream == nullptr) return;
  stream->half_closed = true;
  Flush(*subscription, *stream, out);
}

// Its leases stay: the client may still ack by a call of its own.
void Broker::Impl::OnStreamGone(Instant, StreamId id, Actions&) {
  orphans_.erase(id);
  const auto [subscription, stream] = FindStream(id);
  if (stream == nullptr) return;
  streams_.erase(id);
  subscription->last_use = std::max(subscription->last_use, read_at_);
  subscription->CloseStream(id);
}

void Broker::Impl::OnWriteDone(Instant now, StreamId id, Actions& out) {
  if (const auto orphan = orphans_.find(id); orphan != orphans_.end()) {
    out.push_back(CloseAction(id, std::move(orphan->second)));
    orphans_.erase(orphan);
    return;
  }
  const auto [subscription, stream] = FindStream(id);
  if (stream == nullptr) return;
  stream->write_in_flight = false;
  if (stream->closing) return Flush(*subscription, *stream, out);
  Advance(now, *subscription);
  Dispatch(now, *subscription, out);
  // With messages what it is owed went along; else it goes alone.
  Flush(*subscription, *stream, out);
}

void Broker::Impl::CloseStream(Subscription& subscription, Stream& stream, absl::Status status, Actions& out) {
  if (stream.write_in_flight) {
    stream.closing = std::move(status);
    return;
  }
  const StreamId id = stream.id;
  out.push_back(CloseAction(id, std::move(status)));
  streams_.erase(id);
  subscription.last_use = std::max(subscription.last_use, read_at_);
  subscription.CloseStream(id);
}

void Broker::Impl::CloseAllStreams(Subscription& subscription, const absl::Status& status, Actions& out) {
  while (!subscription.streams.empty()) {
    Stream& stream = *subscription.streams.all().front();
    if (stream.write_in_flight) {
      orphans_.emplace(stream.id, stream.closing.value_or(status));
      stream.write_in_flight = false;
      streams_.erase(stream.id);
      subscription.CloseStream(StreamId{stream.id});
    } else {
      CloseStream(subscription, stream, status, out);
    }
  }
}

void Broker::Impl::Flush(Subscription& subscription, Stream& stream, Actions& out) {
  if (stream.write_in_flight) return;
  if (stream.closing) return CloseStream(subscription, stream, *std::move(stream.closing), out);
  if (stream.owes_response) return Write(subscription, stream, {}, out);
  if (stream.half_closed && stream.confirmations_to_come == 0) {
    CloseStream(subscription, stream, absl::OkStatus(), out);
  }
}

// A flush may end its stream.
void Broker::Impl::FlushAll(Subscription& subscription, Actions& out) {
  std::vector<StreamId> ids;
  for (const auto& stream : subscription.streams.all()) ids.push_back(stream->id);
  for (StreamId id : ids) {
    if (Stream* stream = subscription.streams.Find(id)) Flush(subscription, *stream, out);
  }
}

void Broker::Impl::Write(Subscription& subscription, Stream& stream, std::vector<pubsub::ReceivedMessage> messages,
                         Actions& out) {
  pubsub::StreamingPullResponse response;
  response.received_messages = std::move(messages);
  response.acknowledge_confirmation = std::exchange(stream.acks, {});
  response.modify_ack_deadline_confirmation = std::exchange(stream.modacks, {});
  response.properties.exactly_once_delivery_enabled = subscription.exactly_once();
  response.properties.message_ordering_enabled = subscription.ordered();
  response.properties.message_ordering_enabled = subscription.ordered();
  stream.told_exactly_once = subscription.exactly_once();
  stream.owes_response = false;
  stream.write_in_flight = !Has(Planted::kTwoWritesInFlight);
  out.push_back({.kind = Action::Kind::kWrite, .stream = stream.id, .payload = pubsub::Encode(response)});
}

}  // namespace hopgap::broker
