#pragma once

#include <optional>

#include "broker/impl.h"

namespace hopgap::broker {

// What time alone does: messages that are too old go, and subscriptions that
// nobody uses. Looked at by a timer per topic and subscription ("chore") that
// may fire early and is then set again, so that the way of a message does not
// have to keep it exact. Made for the moment of a call into it.
class Broker::Impl::Chores {
 public:
  explicit Chores(Impl& impl) : impl_(impl) {}

  // Its value changed, or something came back to life.
  void LookSoon(Topic& topic, Instant now);
  void LookSoon(Subscription& subscription, Instant now);
  void Watch(Subscription& subscription, Instant now);  // it is new
  // It is on its way out.
  void Forget(Topic& topic);
  void Forget(Subscription& subscription);
  // New messages of the topic are durable, from `first` on.
  void OnLogged(Topic& topic, Sequence first);
  // The chore that is due first. Requires: there is one.
  void Do(Instant now, Actions& out);
  static std::optional<Instant> NextSnapshotExpiry(const Impl& impl);
  void ExpireSnapshots(Instant now, Actions& out);

 private:
  // The first message that is not too old, and when it will be.
  struct Young {
    Sequence sequence;
    std::optional<Instant> due;
  };
  template <typename Owner>
  void Arm(Owner& owner, Instant due);
  template <typename Owner>
  void Disarm(Owner& owner);
  static Duration RetentionFor(const Subscription& subscription);
  Young FirstYoung(Instant now, Topic& topic, Sequence from, Duration retention) const;
  void DropFrom(Instant now, Topic& topic, Actions& out);
  void DropFrom(Instant now, Subscription& subscription, Actions& out);
  bool Expire(Instant now, Subscription& subscription, Actions& out);

  Impl& impl_;
};

}  // namespace hopgap::broker
