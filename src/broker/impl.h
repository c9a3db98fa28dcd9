#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/broker.h"
#include "broker/impl_state.h"
#include "broker/lease_request.h"

namespace hopgap::broker {

// The broker's parts put together; its methods stand in the files named below.
class Broker::Impl : public ImplState {
 public:
  Impl(Options options, trace::EventSink& sink) : ImplState(std::move(options), sink) {}

  absl::Status Replay(const StoredRecord& record, const FindBody& find) { return replayer_.Apply(record, find); }
  absl::Status ReplayDone(Instant now);
  void ReadAt(Instant read) { read_at_ = read; }  // of the call or request that follows
  void OnCall(Instant now, CallId call, pubsub::Method method, pubsub::Request request, Actions& out);
  void OnCallCancelled(Instant now, CallId call, Actions& out);
  void OnStreamOpen(Instant now, StreamId stream, pubsub::StreamingPullRequest first, Actions& out);
  void OnStreamRequest(Instant now, StreamId stream, pubsub::StreamingPullRequest request, Actions& out);
  void OnStreamHalfClosed(Instant now, StreamId stream, Actions& out);
  void OnStreamGone(Instant now, StreamId stream, Actions& out);
  void OnWriteDone(Instant now, StreamId stream, Actions& out);
  void OnPersisted(Instant now, PersistToken token, Actions& out) { commits_.OnPersisted(now, token, out); }
  Durability& durability() { return durability_; }
  void OnDeadline(Instant now, Actions& out);
  std::optional<Instant> NextDeadline() const;
  absl::StatusOr<uint64_t> OnAdmin(Instant now, const AdminRequest& request, Actions& out);
  absl::StatusOr<LeaseReport> Leases(Instant now, const std::string& name);
  void Stop(Instant now, Actions& out);
  const Counters& counters() const { return counters_; }
  Census TakeCensus() const;

 private:
  bool Has(Planted bug) const { return options_.planted == bug; }

  // broker.cc: calls, time, stop. A reply to a call that was cancelled or answered is dropped.
  void Reply(CallId call, absl::Status status, Actions& out);
  void Reply(CallId call, pubsub::Slices payload, Actions& out);
  void ReplyWithDetails(CallId call, absl::Status status, std::string details, Actions& out);
  void RunAfter(Duration delay, Instant now, Then then, Actions& out);
  void Trace(const trace::MessageKey& key, trace::Event event);
  void UpdateWake(Subscription& subscription);
  void AnswerDuePull(Actions& out);
  void DropStalePullDeadlines();
  bool StopWaiting(CallId call);  // false: it is no pull that waits

  class Admin;        // admin_calls.h
  class Chores;       // chores.h
  class DeadLetters;  // dead_letters.h
  absl::StatusOr<Topic*> TopicNamed(const std::string& name);
  absl::StatusOr<Subscription*> SubscriptionNamed(const std::string& name);
  absl::StatusOr<Subscription*> AttachedNamed(const std::string& name);  // ... and FailedPrecondition
  // publish.cc
  struct PendingPublish;
  void Publish(Instant now, CallId call, pubsub::PublishRequest request, Actions& out);
  void Accept(Instant now, Topic& topic, std::vector<pubsub::Message> messages, PendingPublish& publish);
  void DrawPublishLegs(Instant now, Topic& topic, PendingPublish& publish) const;
  void Append(Instant now, const std::shared_ptr<PendingPublish>& publish, Actions& out);
  std::vector<SendBoundRaised> RaiseBounds(Instant now, const Topic& topic) const;
  void OnPublished(Instant now, const std::shared_ptr<PendingPublish>& publish, Actions& out);
  void OnLogged(Instant now, Incarnation topic, Sequence first, size_t count,
                const std::vector<SendBoundRaised>& raises, Actions& out);
  void FinishPublish(Instant now, PendingPublish& publish, Actions& out);
  void RecordPublish(Instant now, const PendingPublish& publish, trace::What what);

  // acks.cc: a request is read, applied, held by its added delay, and answered.
  void AcknowledgeCall(Instant now, CallId call, pubsub::AcknowledgeRequest& request, Actions& out);
  void ModifyAckDeadlineCall(Instant now, CallId call, pubsub::ModifyAckDeadlineRequest& request, Actions& out);
  void Acknowledge(Instant now, LeaseRequest request, Actions& out);
  void ModifyAckDeadline(Instant now, LeaseRequest request, Actions& out);
  using SharedRequest = std::shared_ptr<LeaseRequest>;  // shared: what waits is a copyable function
  absl::Status Read(Instant now, Subscription& subscription, LeaseRequest& request);
  absl::Status DrawLeg(Instant now, Subscription& subscription, LeaseRequest& request);
  void Classify(Instant now, Subscription& subscription, LeaseRequest& request);
  void AckStandard(Instant now, Subscription& subscription, LeaseRequest& request, Actions& out);
  void AckExactlyOnce(Instant now, Subscription& subscription, const SharedRequest& request, Actions& out);
  void FinishEach(Subscription& subscription, const std::vector<AckedDelivery>& deliveries, Delivery::State in,
                  Subscription::End end, Actions& out);
  void FailUnlessLive(Instant now, Subscription& subscription, LeaseRequest& request);
  void Extend(Instant now, Subscription& subscription, LeaseRequest& request);
  void ExtendAboveCeiling(Instant now, Subscription& subscription, const SharedRequest& request, Actions& out);
  void Nack(Instant now, Subscription& subscription, LeaseRequest& request, Actions& out);
  void NoteReceipts(Subscription& subscription, const LeaseRequest& request);
  void Applied(Instant now, const SharedRequest& request, Actions& out);
  void Answer(Instant now, const LeaseRequest& request, Actions& out);
  void Fail(Instant now, Subscription& subscription, const LeaseRequest& request, LeaseRequest::Item& item,
            std::optional<LeaseFailure::Why> why = std::nullopt);
  void Refuse(const LeaseRequest& request, const absl::Status& status, Actions& out);
  void TraceAll(Instant now, const LeaseRequest& request, trace::What what, int64_t value);

  // streams.cc
  using Found = std::pair<Subscription*, Stream*>;
  Found FindStream(StreamId stream);
  void ApplyStreamAcks(Instant now, Subscription& subscription, Stream& stream, pubsub::StreamingPullRequest& request,
                       Actions& out);
  void Confirm(const LeaseRequest& request, Actions& out);
  void ConfirmNone(const LeaseRequest& request, Actions& out);
  void CloseStream(Subscription& subscription, Stream& stream, absl::Status status, Actions& out);
  void CloseAllStreams(Subscription& subscription, const absl::Status& status, Actions& out);
  void Flush(Subscription& subscription, Stream& stream, Actions& out);
  void FlushAll(Subscription& subscription, Actions& out);
  void Write(Subscription& subscription, Stream& stream, std::vector<pubsub::ReceivedMessage> messages, Actions& out);

  // deliver.cc
  void Pull(Instant now, CallId call, const pubsub::PullRequest& request, Actions& out);
  void Advance(Instant now, Subscription& subscription);
  void Return(Instant now, Subscription& subscription, Sequence sequence, LeaseEnd how, Instant at);
  void TraceReturn(Instant at, const Subscription& subscription, Sequence sequence, const Delivery& delivery,
                   LeaseEnd how);
  void Requeue(Instant now, Subscription& subscription, Sequence sequence, Delivery& delivery, Instant due);
  Duration DrawDeliver(Instant now, Subscription& subscription, Sequence sequence, Delivery& delivery);
  void Dispatch(Instant now, Subscription& subscription, Actions& out);
  void ServePulls(Instant now, Subscription& subscription, Actions& out);
  void ServeStreams(Instant now, Subscription& subscription, Actions& out);
  bool WriteMessages(Instant now, Subscription& subscription, Stream& stream, size_t share, bool alone, Actions& out);
  pubsub::ReceivedMessage Send(Instant now, Subscription& subscription, Sequence sequence, Duration lease,
                               const Stream* stream, size_t count);
  void JournalAhead(Instant now, Subscription& subscription, Actions& out);
  void AnswerPullsThatNeedNotWait(Subscription& subscription, Actions& out);
  void EnsureCeiling(Subscription& subscription, Duration length, Actions& out);
  bool Gated(const Subscription& subscription) const;
  void Seek(Instant now, CallId call, const pubsub::SeekRequest& request, Actions& out);  // seek.cc

  // admin_requests.cc
  absl::StatusOr<uint64_t> ApplyAdmin(Instant now, Subscription& subscription, const ExpireLeases& request);
  absl::StatusOr<uint64_t> ApplyAdmin(Subscription& subscription, const FailNext& request);
  absl::StatusOr<uint64_t> ApplyAdmin(Instant now, Subscription& subscription, const PauseStreams& request);
  absl::StatusOr<uint64_t> ApplyAdmin(Instant now, const SetResponses& request, Actions& out);
  bool FailsAsPlanned(Instant now, Subscription& subscription, LeaseRequest& request, Actions& out);
  void AddBlockedKeys(Subscription& subscription, LeaseReport& report);
};

}  // namespace hopgap::broker
