#pragma once

#include <span>
#include <utility>
#include <vector>

#include "broker/impl.h"

namespace hopgap::broker {

// Messages that failed too often: counted, forwarded to the dead-letter topic,
// and finished with, the last two in one record. Made for the moment of a call
// into it.
class Broker::Impl::DeadLetters {
 public:
  explicit DeadLetters(Impl& impl) : impl_(impl) {}

  // Whether the message, which just failed, is to be forwarded; it then waits
  // for Forward().
  bool Claim(Subscription& subscription, Sequence sequence, const Returned& returned);
  // What is shown with a delivery; 0 without a dead-letter policy.
  static int32_t AttemptOf(const Subscription& subscription, Sequence sequence);
  // What gathered in the subscription since the last time.
  void JournalFailures(Subscription& subscription, Actions& out);
  void Forward(Instant now, Subscription& subscription, Actions& out);

 private:
  using Claimed = std::span<const std::pair<Sequence, Incarnation>>;
  size_t ForwardSome(Instant now, Subscription& subscription, Topic& topic, Claimed dead, Actions& out);
  LoggedMessage Letter(Instant now, const Subscription& subscription, Topic& topic, Sequence sequence);
  void OnForwarded(Instant now, Incarnation subscription, const std::vector<AckedDelivery>& dead, Actions& out);

  Impl& impl_;
};

}  // namespace hopgap::broker
