#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "trace/hop.h"
#include "trace/hop_list.h"

namespace hopgap::trace {

// One leaf-to-root walk through a chain.
struct Path {
  std::string arm;
  uint64_t slot = 0;
  uint64_t trace_hi = 0, trace_lo = 0;
  uint64_t root_span = 0;  // of the first publish: paths of one message share it
  WallTime scheduled{};
  HopList hops;

  Duration until_handled{0};  // = the sum of the path stages over the hops
  // The last ack RPC of the path returned; unset while the last hop's has not.
  std::optional<Duration> until_acked;
  Duration StageSum(Stage stage) const;  // over the hops
  StageTime StageTimeSum(Stage stage) const;
  friend bool operator==(const Path&, const Path&) = default;
};

}  // namespace hopgap::trace
