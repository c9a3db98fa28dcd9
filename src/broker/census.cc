// What is in the broker now, counted: for tests that ask whether something leaks.

#include <set>

#include "broker/census.h"
#include "broker/impl.h"

namespace hopgap::broker {

Census Broker::TakeCensus() const { return impl_->TakeCensus(); }

Census Broker::Impl::TakeCensus() const {
  Census census{.retained_bytes = catalog_.retained_bytes(),
                .waiting_pulls = waiting_pulls_,
                .open_calls = calls_.size(),
                .holds = holds_,
                .held = held_.size(),
                .awaited_groups = commits_.awaited()};
  std::set<const Topic*> topics;
  for (const Subscription* subscription : catalog_.Subscriptions()) {
    census.unacked += subscription->unacked();
    census.leases += subscription->leases();
    if (topics.insert(&subscription->topic).second) census.retained_messages += subscription->topic.log.size();
    for (const auto& stream : subscription->streams.all()) {
      census.outstanding_messages += static_cast<uint64_t>(stream->messages);
      census.outstanding_bytes += static_cast<uint64_t>(stream->bytes);
    }
  }
  return census;
}

}  // namespace hopgap::broker
