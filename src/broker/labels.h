#pragma once

#include <absl/status/status.h>

#include <map>
#include <string>

namespace hopgap::broker {

// InvalidArgument, in the service's words, unless the labels are within its
// limits. Beyond ASCII every character is taken for a letter of no case.
absl::Status CheckLabels(const std::map<std::string, std::string>& labels);

}  // namespace hopgap::broker
