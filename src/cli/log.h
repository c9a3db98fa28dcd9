#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace hopgap::cli {

using LogFields = std::vector<std::pair<std::string, std::string>>;

// One line an event on standard error, for people ("text") or machines ("json":
// time, level, message, and the fields). Thread-safe.
class Log {
 public:
  enum class Format { kText, kJson };
  explicit Log(Format format) : format_(format) {}

  void Info(std::string_view message, const LogFields& fields = {}) { Line("info", message, fields); }
  void Error(std::string_view message, const LogFields& fields = {}) { Line("error", message, fields); }

  // The line itself, with its end.
  static std::string Render(Format format, WallTime at, std::string_view level, std::string_view message,
                            const LogFields& fields);

 private:
  void Line(std::string_view level, std::string_view message, const LogFields& fields);

  const Format format_;
  std::mutex mu_;
};

}  // namespace hopgap::cli
