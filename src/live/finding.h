#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string>

#include "base/time.h"

namespace hopgap::live {

// One line of a doctor's report.
struct Finding {
  enum class Verdict : uint8_t { kOk, kWarn, kFail };
  std::string subject;  // "clock sync"
  Verdict verdict = Verdict::kOk;
  std::string found;
  std::string advice = {};                             // what to do; empty when all is well
  absl::StatusCode code = absl::StatusCode::kUnknown;  // of a failure
};

std::string Millis(Duration length);  // "1.25 ms"

}  // namespace hopgap::live
