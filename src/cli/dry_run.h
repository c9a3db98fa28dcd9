#pragma once

#include <cstdint>
#include <string>

#include "cli/options.h"
#include "lab/options.h"

namespace hopgap::cli {

// What a run on somebody's broker would do there. Counts are upper bounds of a
// run without retries and redeliveries.
struct DryRun {
  uint64_t topics = 0, subscriptions = 0;
  uint64_t published = 0;  // messages, and as many delivered
  uint64_t publish_calls = 0, ack_calls = 0, lease_calls = 0, streams = 0, admin_calls = 0;
  uint64_t spans = 0;             // written to the run folder
  uint64_t billed_bytes = 0;      // of Pub/Sub, by the rule of at least 1,000 a request
  double peak_kb_per_minute = 0;  // quota units, each of publishing and of subscribing
};
DryRun EstimateRun(const lab::Options& options);

// In words, with every resource by name and the approximate cost.
std::string DryRunText(const lab::Options& options, const remote::Target& target);

}  // namespace hopgap::cli
