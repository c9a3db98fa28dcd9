#include "broker/commits.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "base/check.h"

namespace hopgap::broker {

void Commits::Persist(const std::vector<Record>& records, Then then, Actions& out) {
  std::vector<pubsub::Slices> encoded;
  encoded.reserve(records.size());
  for (const Record& record : records) Encode(record, encoded);
  PersistEncoded(std::move(encoded), std::move(then), out);
}

void Commits::Encode(const Record& record, std::vector<pubsub::Slices>& out) const {
  const auto in_parts = [&](const auto& whole) {
    using Kind = std::decay_t<decltype(whole)>;
    if constexpr (requires { whole.subscription, whole.deliveries; }) {
      if (whole.deliveries.size() <= deliveries_max_) return false;
      for (size_t from = 0; from < whole.deliveries.size(); from += deliveries_max_) {
        const auto begin = whole.deliveries.begin() + static_cast<ptrdiff_t>(from);
        const size_t count = std::min(deliveries_max_, whole.deliveries.size() - from);
        out.push_back(EncodeRecord(
            Kind{.subscription = whole.subscription, .deliveries = {begin, begin + static_cast<ptrdiff_t>(count)}}));
      }
      return true;
    }
    return false;
  };
  if (!std::visit(in_parts, record)) out.push_back(EncodeRecord(record));
}

void Commits::PersistEncoded(std::vector<pubsub::Slices> records, Then then, Actions& out) {
  HOPGAP_CHECK(!records.empty(), "a group without records");
  Action action{.kind = Action::Kind::kPersist, .token = ++last_token_, .awaited = then != nullptr};
  action.records = std::move(records);
  Group& group = pending_.emplace_back(Group{.token = last_token_, .awaited = then != nullptr, .waiting = {}});
  if (then) group.waiting.push_back(std::move(then));
  out.push_back(std::move(action));
}

void Commits::AfterAwaited(Instant now, Then then, Actions& out) {
  const auto newest = std::find_if(pending_.rbegin(), pending_.rend(), [](const Group& g) { return g.awaited; });
  if (newest == pending_.rend()) return then(now, out);
  newest->waiting.push_back(std::move(then));
}

size_t Commits::awaited() const {
  return static_cast<size_t>(std::count_if(pending_.begin(), pending_.end(), [](const Group& g) { return g.awaited; }));
}

void Commits::OnPersisted(Instant now, PersistToken token, Actions& out) {
  HOPGAP_CHECK(token <= last_token_, "the journal answered a group that was never given to it");
  while (!pending_.empty() && pending_.front().token <= token) {
    Group group = std::move(pending_.front());
    pending_.pop_front();
    for (Then& then : group.waiting) then(now, out);
  }
}

}  // namespace hopgap::broker
