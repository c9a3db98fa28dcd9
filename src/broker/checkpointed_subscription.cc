#include "broker/checkpointed_subscription.h"

#include <algorithm>

#include "broker/catalog.h"

namespace hopgap::broker {

std::vector<std::pair<Sequence, Sequence>> CheckpointedSubscription::Acked(const Subscription& subscription) {
  std::vector<std::pair<Sequence, Sequence>> all;
  all.reserve(subscription.acked_.intervals() + subscription.acks_under_way_.size());
  subscription.acked_.ForEach([&](Sequence start, Sequence end) { all.emplace_back(start, end); });
  if (subscription.acks_under_way_.empty()) return all;

  const auto middle = static_cast<std::ptrdiff_t>(all.size());
  for (const auto& [sequence, generation] : subscription.acks_under_way_) all.emplace_back(sequence, sequence + 1);
  std::inplace_merge(all.begin(), all.begin() + middle, all.end());
  size_t kept = 0;
  for (const auto& [start, end] : all) {
    if (kept > 0 && all[kept - 1].second == start) {
      all[kept - 1].second = end;
    } else {
      all[kept++] = {start, end};
    }
  }
  all.resize(kept);
  return all;
}

void CheckpointedSubscription::Expect(Subscription& subscription, Sequence sequence) {
  subscription.deliveries_.Put(sequence, Delivery{});
  subscription.topic.log.Expect(sequence);
}

void CheckpointedSubscription::OnBody(Subscription& subscription, Sequence sequence, const pubsub::Message& message) {
  Delivery* delivery = subscription.Find(sequence);
  if (delivery != nullptr) delivery->bytes = static_cast<uint32_t>(message.wire_size());
}

void CheckpointedSubscription::OnState(Subscription& subscription, const DeliveryStates::Item& item) {
  Delivery* delivery = subscription.Find(item.sequence);
  if (delivery == nullptr) return;
  delivery->generation = std::max(delivery->generation, item.generation);
  delivery->nacked = std::max(delivery->nacked, item.nacked);
}

}  // namespace hopgap::broker
