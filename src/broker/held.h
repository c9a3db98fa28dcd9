#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/time.h"
#include "broker/broker.h"

namespace hopgap::broker {

// What happens later: with the instant at which it does, and where its actions go.
using Then = std::function<void(Instant now, Actions& out)>;

// Requests and replies that an added delay holds back, in the order in which
// they are due, and then in which they came.
class Held {
 public:
  void Add(Instant due, Then then) { waiting_.emplace(std::pair{due, arrivals_++}, std::move(then)); }

  // Takes the first that is due; nullopt when there is none.
  std::optional<Then> TakeDue(Instant now) {
    if (waiting_.empty() || waiting_.begin()->first.first > now) return std::nullopt;
    Then then = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    return then;
  }

  size_t size() const { return waiting_.size(); }
  std::optional<Instant> NextDue() const {
    if (waiting_.empty()) return std::nullopt;
    return waiting_.begin()->first.first;
  }

 private:
  std::map<std::pair<Instant, uint64_t>, Then> waiting_;
  uint64_t arrivals_ = 0;
};

}  // namespace hopgap::broker
