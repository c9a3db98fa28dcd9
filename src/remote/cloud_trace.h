#pragma once

#include <absl/status/status.h>

#include <functional>
#include <memory>
#include <string>

#include "base/time.h"
#include "formats/cloud_trace.h"
#include "remote/credentials.h"
#include "remote/http_client.h"

namespace hopgap::remote {

// Lists the traces of a project and a time window, page by page, through Cloud
// Trace's v1 API. A page that fails for a while (HTTP 429 and 5xx, no answer) is
// asked for again, after a pause that grows; what was listed stays.
//
// Blocks. Not thread-safe.
class CloudTrace {
 public:
  static constexpr int kAttemptsMax = 6;      // of a page
  static constexpr int kTracesPerPage = 100;  // the most that the API gives of whole traces

  struct Options {
    std::string endpoint = "https://cloudtrace.googleapis.com";
    std::string ca_file = {};             // empty: the system's roots
    std::function<void(Duration)> pause;  // waits that long; tests need not
  };
  // `credentials` outlive it.
  CloudTrace(Options options, Credentials& credentials);

  // Called with each page, and the token of the next (empty after the last). A
  // failure ends the listing and is returned.
  using Sink = std::function<absl::Status(formats::CloudTracePage& page, const std::string& next_page_token)>;

  // Lists from the page token on (empty: the first page). Unauthenticated,
  // PermissionDenied, NotFound, ResourceExhausted and Unavailable as the service
  // says, with its words.
  absl::Status List(const std::string& project, WallTime from, WallTime to, std::string page_token, const Sink& sink);

 private:
  absl::StatusOr<formats::CloudTracePage> Page(const std::string& path);
  absl::StatusOr<formats::CloudTracePage> PageOnce(const std::string& path);

  const Options options_;
  Credentials& credentials_;
  HttpClient client_;
};

}  // namespace hopgap::remote
