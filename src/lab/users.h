#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "lab/schedule.h"

namespace hopgap::lab {

// An open-loop load with a bounded number of requests under way, by the rule of
// k6's constant-arrival-rate: a slot begins at its instant if a user is free, and
// is dropped otherwise, once. A drop asks for one more user, one at a time, until
// there are `most`. Latencies of such a load never hold the wait for a user; the
// drops do.
class Users {
 public:
  struct Options {
    uint32_t at_first = 1;  // ready before the first slot
    uint32_t most = 1;      // >= at_first
  };
  explicit Users(Options options) : options_(options), users_(options.at_first) {}

  // A slot is due. The number of the iteration that begins, 0, 1, 2, ... whatever
  // was dropped in between; nullopt: dropped.
  std::optional<uint64_t> Begin(uint64_t slot);
  void Ended();  // one of them
  // Whether a user has to be made now, after a drop: true once until Made().
  bool MakesAnother();
  void Made();

  uint64_t begun() const { return begun_; }
  uint64_t dropped() const { return dropped_; }
  uint32_t users() const { return users_; }
  // Empty without a drop. Else, in sentences, when slots were dropped and what to
  // ask for instead.
  std::string Advice(const Schedule& schedule) const;

 private:
  const Options options_;
  uint32_t users_, busy_ = 0;
  bool making_ = false, wanted_ = false;
  uint64_t begun_ = 0, dropped_ = 0, last_slot_ = 0, last_dropped_ = 0;
};

}  // namespace hopgap::lab
