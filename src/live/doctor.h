#pragma once

#include <optional>
#include <string>
#include <vector>

#include "live/finding.h"
#include "remote/target.h"

namespace hopgap::live {

// Whether a run against the target can succeed: credentials, connection, what
// answers, its region, and whether exactly-once is really on, for which a topic
// and a subscription are made and removed again. Stops at the first failure
// after which the rest makes no sense. Blocks, for a minute at most.
//
// `region`: of this machine; empty if it is not known.
std::vector<Finding> ExamineTarget(remote::Target target, const std::string& project, const std::string& region);

// Where a regional endpoint is: "europe-west1" of
// "europe-west1-pubsub.googleapis.com:443"; nullopt for any other.
std::optional<std::string> RegionOfEndpoint(const std::string& address);

// How the endpoint's region and the machine's go together.
Finding CompareRegions(const remote::Target& target, const std::string& machine_region);

}  // namespace hopgap::live
