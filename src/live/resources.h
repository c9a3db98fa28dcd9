#pragma once

#include <absl/status/status.h>

#include <functional>
#include <string>
#include <vector>

#include "lab/options.h"
#include "remote/remote.h"

namespace hopgap::live {

// The topics and subscriptions of a run on somebody's broker: made, and removed
// again without touching what was there before.
//
// Not thread-safe; its calls block.
class Resources {
 public:
  // The connection outlives it.
  Resources(remote::Connection& connection, remote::Target target);

  // Makes them in order. Stops, with OK, as soon as `stop_asked` says so.
  // FailedPrecondition if one exists already; else what the broker says.
  absl::Status Make(const std::vector<lab::Resource>& resources, const std::function<bool()>& stop_asked);

  // Removes what was made, last first, and what may have been (a call that
  // nobody answered). The names of what is still there, or may be.
  std::vector<std::string> Remove();

 private:
  absl::Status MakeOne(const lab::Resource& resource);
  absl::Status RemoveOne(const lab::Resource& resource);

  remote::Connection& connection_;
  const remote::Target target_;
  const Duration timeout_;
  std::vector<lab::Resource> made_;
};

// `status`, with the names of what could not be removed, if there are any.
absl::Status WithWhatIsLeft(const absl::Status& status, const std::vector<std::string>& left);

}  // namespace hopgap::live
