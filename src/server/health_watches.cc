#include "server/health_watches.h"

#include "base/text.h"

namespace hopgap::server {

void HealthWatches::Open(const CallRef& call, std::string_view service) {
  if (stopped_) return call->Finish(absl::UnavailableError("The server is stopping."), {});
  if (open_.size() >= kMax) {
    return call->Finish(absl::ResourceExhaustedError(StrCat("too many Health.Watch calls: at most ", kMax)), {});
  }
  open_.emplace(call->id(), Watch{call});
  call->Write(EncodeHealthResponse(HasHealth(service) ? HealthStatus::kServing : HealthStatus::kServiceUnknown));
}

bool HealthWatches::Written(const CallRef& call) {
  const auto found = open_.find(call->id());
  if (found == open_.end()) return false;
  found->second.writing = false;
  if (stopped_) End(found->second);
  return true;
}

void HealthWatches::Stop() {
  stopped_ = true;
  // What is still being written is ended when it is: the client may have read it already.
  for (auto& [id, watch] : open_) {
    if (!watch.writing) End(watch);
  }
}

void HealthWatches::End(Watch& watch) {
  if (watch.call->finished()) return;
  watch.writing = true;
  watch.call->Write(EncodeHealthResponse(HealthStatus::kNotServing));
  watch.call->Finish(absl::UnavailableError("The server is stopping."), {});
}

}  // namespace hopgap::server
