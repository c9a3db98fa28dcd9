#pragma once

#include <absl/status/status.h>

#include "server/admission.h"
#include "server/dispatcher.h"
#include "server/http_server.h"

namespace hopgap::server {

// Whether a request may be answered by the admin API: from this machine, to a
// name or address of it (a page in a browser must not reach it under a name of
// its own), bodies as application/json (which such a page cannot send unasked),
// and with what `admission` wants. PermissionDenied or Unauthenticated.
absl::Status AdmitAdmin(const HttpCall& call, const Admission& admission);

// Answers a call under formats::kAdminPrefix, which was admitted. Waits until it
// is done. Requires: not called on the broker's strand.
HttpReply AnswerAdmin(const HttpCall& call, Dispatcher& dispatcher);

HttpReply AdminError(const absl::Status& status);

}  // namespace hopgap::server
