#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "broker/lease_failure.h"

namespace hopgap::server {

// The newest failures of acks and modacks, and a line of text for each, so many
// a second at most: a client that lost its leases fails thousands at once.
// One strand.
class FailureLog {
 public:
  static constexpr size_t kKept = 1'000;
  static constexpr uint64_t kLinesPerSecondMax = 10;
  using Line = std::function<void(const std::string&)>;

  // Null: no lines.
  explicit FailureLog(Line line) : line_(std::move(line)) {}

  void Add(Instant now, WallTime wall, const broker::LeaseFailure& failure);
  // Newest first.
  std::vector<std::pair<WallTime, broker::LeaseFailure>> Newest() const { return {kept_.begin(), kept_.end()}; }

 private:
  const Line line_;
  std::deque<std::pair<WallTime, broker::LeaseFailure>> kept_;
  Instant second_{Duration::min()};  // when the second began that is counted
  uint64_t lines_ = 0, unsaid_ = 0;
};

}  // namespace hopgap::server
