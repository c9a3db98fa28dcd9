#include "broker/commits.h"

#include <algorithm>

#include "base/check.h"

namespace hopgap::broker {

void Commits::Persist(const std::vector<Record>& records, Then then, Actions& out) {
  std::vector<pubsub::Slices> encoded;
  encoded.reserve(records.size());
  for (const Record& record : records) encoded.push_back(EncodeRecord(record));
  PersistEncoded(std::move(encoded), std::move(then), out);
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
