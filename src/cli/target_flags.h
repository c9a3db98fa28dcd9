#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>

#include "remote/target.h"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace hopgap::cli {

// --endpoint, --ca-file, --client-cert, --client-key and --token-file: how a
// target is reached, the same for every command that has one. Each is also read
// from HOPGAP_<NAME>.
class TargetFlags {
 public:
  // `group` heads them in the help.
  TargetFlags(CLI::App& app, const std::string& group);

  // The target that `text` (of --target) and the flags mean. InvalidArgument
  // names flag and value.
  absl::StatusOr<remote::Target> Parse(const std::string& text) const;
  // Whether one of the flags was given: for targets that have no use for them.
  bool given() const;

 private:
  std::shared_ptr<remote::TargetSettings> settings_;  // CLI11 keeps references to its texts
};

}  // namespace hopgap::cli
