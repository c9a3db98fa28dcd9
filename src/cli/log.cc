#include "cli/log.h"

#include <cstdio>
#include <ctime>

#include "base/system_clock.h"
#include "base/text.h"
#include "formats/json_text.h"

namespace hopgap::cli {
namespace {

// RFC 3339 with milliseconds, UTC.
std::string TimeText(WallTime at) {
  const auto seconds = static_cast<time_t>(ToNanos(at) / 1'000'000'000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  const size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + length, sizeof text - length, ".%03dZ", static_cast<int>(ToNanos(at) / 1'000'000 % 1'000));
  return text;
}

}  // namespace

std::string Log::Render(Format format, WallTime at, std::string_view level, std::string_view message,
                        const LogFields& fields) {
  std::string out;
  if (format == Format::kText) {
    out = StrCat(TimeText(at), " ", level, " ", message);
    for (const auto& [key, value] : fields) out += StrCat(" ", key, "=", value);
    return out + "\n";
  }
  const auto member = [&](std::string_view key, std::string_view value) {
    out += out.empty() ? "{" : ",";
    formats::AppendJsonText(key, out);
    out += ':';
    formats::AppendJsonText(value, out);
  };
  member("time", TimeText(at));
  member("level", level);
  member("message", message);
  for (const auto& [key, value] : fields) member(key, value);
  return out + "}\n";
}

void Log::Line(std::string_view level, std::string_view message, const LogFields& fields) {
  const std::string line = Render(format_, WallNow(), level, message, fields);
  std::lock_guard lock(mu_);
  std::fputs(line.c_str(), stderr);
}

}  // namespace hopgap::cli
