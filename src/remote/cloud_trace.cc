#include "remote/cloud_trace.h"

#include <utility>

#include "base/text.h"

namespace hopgap::remote {
namespace {

constexpr Duration kPauseFirst = std::chrono::seconds{1};
constexpr Duration kPauseMost = std::chrono::seconds{30};
constexpr Duration kTokenWait = std::chrono::seconds{20};
// Pages of a hundred whole traces are made slowly and are large.
constexpr Duration kAnswer = std::chrono::seconds{60};

std::string Escaped(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '_' || c == '.' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

absl::StatusCode CodeOfHttp(int status) {
  switch (status) {
    case 401: return absl::StatusCode::kUnauthenticated;
    case 403: return absl::StatusCode::kPermissionDenied;
    case 404: return absl::StatusCode::kNotFound;
    case 429: return absl::StatusCode::kResourceExhausted;
    default: return status >= 500 ? absl::StatusCode::kUnavailable : absl::StatusCode::kInvalidArgument;
  }
}

bool WorthWaiting(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

CloudTrace::CloudTrace(Options options, Credentials& credentials)
    : options_(std::move(options)),
      credentials_(credentials),
      client_({.origin = options_.endpoint, .timeout = kAnswer, .ca_file = options_.ca_file}) {}

absl::StatusOr<formats::CloudTracePage> CloudTrace::PageOnce(const std::string& path) {
  const absl::StatusOr<std::string> token = credentials_.WaitForToken(kTokenWait);
  if (!token.ok()) return token.status();
  HttpRequest request;
  request.path = path;
  request.headers = {{"Authorization", StrCat("Bearer ", *token)}};
  if (!credentials_.quota_project().empty()) {
    request.headers.emplace_back("x-goog-user-project", credentials_.quota_project());
  }
  const absl::StatusOr<HttpResponse> response = client_.Send(request);
  if (!response.ok()) return response.status();
  if (response->status != 200) {
    const std::string said = formats::GoogleErrorText(response->body);
    const char* advice = response->status == 403 ? "; give the account the role roles/cloudtrace.user" : "";
    return absl::Status(CodeOfHttp(response->status),
                        StrCat(options_.endpoint, ": HTTP ", response->status, said.empty() ? "" : ": ", said, advice));
  }
  absl::StatusOr<formats::CloudTracePage> page = formats::ReadCloudTracePage(response->body);
  if (!page.ok()) return absl::InvalidArgumentError(StrCat(options_.endpoint, ": ", MessageOf(page.status())));
  return page;
}

absl::StatusOr<formats::CloudTracePage> CloudTrace::Page(const std::string& path) {
  absl::StatusOr<formats::CloudTracePage> page = PageOnce(path);
  Duration pause = kPauseFirst;
  for (int attempt = 1; attempt < kAttemptsMax && !page.ok() && WorthWaiting(page.status()); ++attempt) {
    options_.pause(pause);
    pause = std::min(pause * 2, kPauseMost);
    page = PageOnce(path);
  }
  return page;
}

absl::Status CloudTrace::List(const std::string& project, WallTime from, WallTime to, std::string page_token,
                              const Sink& sink) {
  const std::string base =
      StrCat("/v1/projects/", Escaped(project), "/traces?view=COMPLETE&pageSize=", kTracesPerPage,
             "&startTime=", Escaped(formats::FormatRfc3339(from)), "&endTime=", Escaped(formats::FormatRfc3339(to)));
  do {
    absl::StatusOr<formats::CloudTracePage> page =
        Page(page_token.empty() ? base : StrCat(base, "&pageToken=", Escaped(page_token)));
    if (!page.ok()) return page.status();
    page_token = page->next_page_token;
    if (absl::Status status = sink(*page, page_token); !status.ok()) return status;
  } while (!page_token.empty());
  return absl::OkStatus();
}

}  // namespace hopgap::remote
