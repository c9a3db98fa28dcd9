#include "cli/commands.h"

#include <cctype>
#include <cstdio>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "cli/exit_codes.h"

namespace hopgap::cli {

namespace {

// Every command fails through Fail(), and none is told where its flags came from.
std::map<std::string, std::string>& FlagSources() {
  static std::map<std::string, std::string> sources;
  return sources;
}

// Whether `text` has `flag` as a whole word.
bool MentionsFlag(std::string_view text, std::string_view flag) {
  for (size_t at = text.find(flag); at != std::string_view::npos; at = text.find(flag, at + 1)) {
    const size_t end = at + flag.size();
    const char next = end < text.size() ? text[end] : ' ';
    if (std::isalnum(static_cast<unsigned char>(next)) == 0 && next != '-') return true;
  }
  return false;
}

}  // namespace

void SetFlagSources(std::map<std::string, std::string> sources) { FlagSources() = std::move(sources); }

int Fail(int code, std::string_view text) {
  std::string line = "hopgap: ";
  for (const std::string_view part : Split(text, '\n')) {
    line += StrCat(line == "hopgap: " ? "" : "\n", Printable(part));
  }
  for (const auto& [flag, source] : FlagSources()) {
    if (MentionsFlag(text, flag)) line += StrCat("; ", flag, " is from ", source);
  }
  std::fprintf(stderr, "%s\n", line.c_str());
  return code;
}

int CodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kAlreadyExists: return kPortInUse;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded: return kUnreachable;
    case absl::StatusCode::kInternal: return kInternal;
    case absl::StatusCode::kUnauthenticated: return kRefused;
    case absl::StatusCode::kResourceExhausted: return kQuota;
    default: return kBadConfiguration;
  }
}

int CodeOfTarget(const absl::Status& status) { return absl::IsPermissionDenied(status) ? kRefused : CodeOf(status); }

}  // namespace hopgap::cli
