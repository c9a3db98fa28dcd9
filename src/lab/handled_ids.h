#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/time.h"

namespace hopgap::lab {

// What an idempotent consumer remembers: the ids of messages it has handled,
// for `window` and at most `ids_max` of them; the oldest are forgotten first.
//
// A copy that comes later than that is handled again. So is one that comes
// while the first is still being handled: it is not in here yet.
class HandledIds {
 public:
  struct Options {
    size_t ids_max = 100'000;
    Duration window{std::chrono::minutes{10}};
    Duration access{std::chrono::milliseconds{1}};  // simulated: what asking, and telling, takes
  };
  explicit HandledIds(Options options) : options_(options) {}

  bool Contains(Instant now, std::string_view id);
  void Add(Instant now, std::string_view id);

  size_t size() const { return ids_.size(); }
  uint64_t forgotten_early() const { return forgotten_early_; }  // for `ids_max`, inside the window

 private:
  void Forget(Instant now);

  Options options_;
  std::unordered_set<std::string> ids_;  // looked up only
  std::deque<std::pair<Instant, std::string>> by_age_;
  uint64_t forgotten_early_ = 0;
};

}  // namespace hopgap::lab
