#pragma once

#include "base/time.h"
#include "report/run.h"
#include "trace/path.h"

namespace hopgap::report {

// What the handlers of a message were asked to work, over all hops: taken off
// its wholes. Of drawn work every message has its own, which arms share.
class AskedWork {
 public:
  AskedWork(Duration of_every_message) : mean_(of_every_message) {}  // NOLINT: as most runs have it
  explicit AskedWork(const Configuration& configuration)
      : law_(configuration.work), hops_(configuration.hops), mean_(configuration.work.mean() * configuration.hops) {}

  Duration mean() const { return mean_; }
  bool drawn() const { return law_.drawn(); }
  Duration Of(const trace::Path& path) const {
    if (!drawn()) return mean_;
    Duration sum{0};
    for (int hop = 1; hop <= hops_; ++hop) sum += OfHop(path, hop);
    return sum;
  }
  // Of one hop, from 1.
  Duration OfHop(const trace::Path& path, int hop) const { return law_.Of(static_cast<uint64_t>(hop), path.slot); }

 private:
  WorkLaw law_;
  int hops_ = 1;
  Duration mean_{0};
};

}  // namespace hopgap::report
