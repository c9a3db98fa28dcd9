#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/prediction.h"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace hopgap::cli {

struct WhatIfFlags {
  std::vector<std::string> changes;  // "streams=10", "rate=100,client=overlap"
  std::string group;
};
// `command` has its other flags already: those that change what is printed or
// written are refused beside --what-if.
void AddWhatIfFlags(CLI::App& command, WhatIfFlags& flags);

// What is changed in every chain.
struct Change {
  std::optional<uint64_t> millihertz;
  std::optional<uint32_t> streams;
  std::optional<std::string> client;
  std::optional<bool> gated;
  std::string text;  // as given
};
// InvalidArgument names the part and lists what can be changed.
absl::StatusOr<Change> ParseChange(const std::vector<std::string>& changes);
VirtualChain Changed(VirtualChain chain, const Change& change);

// `analyze PATH --what-if ...`: fits the run or trace, simulates it as it is and
// as it would be, and answers in one sentence an arm. Returns the exit code.
// `streams`: what each subscription has open now, where spans do not show it.
int AnswerWhatIf(const std::vector<std::string>& paths, std::optional<int> streams, const WhatIfFlags& flags);

}  // namespace hopgap::cli
