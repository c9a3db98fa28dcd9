#pragma once

#include <map>

#include "server/call.h"
#include "server/health.h"

namespace hopgap::server {

// The open calls of Health.Watch. All that happens to them here is their begin
// and their end: a server that answers at all is serving. One strand.
class HealthWatches {
 public:
  static constexpr size_t kMax = 1'000;  // beyond: RESOURCE_EXHAUSTED

  // Says how the service is, and goes on watching.
  void Open(const CallRef& call, std::string_view service);
  // True if the call is one of these.
  bool Written(const CallRef& call);
  void Done(uint64_t id) { open_.erase(id); }
  // Tells all that the server no longer serves, and ends them; later ones end at once.
  void Stop();
  bool Has(uint64_t id) const { return open_.contains(id); }

 private:
  struct Watch {
    CallRef call;
    bool writing = true;
  };
  static void End(Watch& watch);

  std::map<uint64_t, Watch> open_;
  bool stopped_ = false;
};

}  // namespace hopgap::server
