#include "cli/dry_run.h"

#include <absl/strings/str_format.h>

#include <algorithm>

#include "base/text.h"
#include "lab/schedule.h"

namespace hopgap::cli {
namespace {

// List prices in US dollars as they were published when this table was made:
// approximate, before free tiers, discounts, taxes and traffic between regions.
constexpr char kPricesOf[] = "2026-11";
constexpr double kDollarsPerTiB = 40;            // Pub/Sub throughput
constexpr double kDollarsPerMillionSpans = 0.2;  // Cloud Trace, for who sends the spans there
constexpr double kTiB = 1024.0 * 1024 * 1024 * 1024;

constexpr uint64_t kBilledBytesMin = 1'000;  // a publish request, a response of a stream
constexpr uint64_t kSpansPerHop = 10;        // of one message: create … process, ack, modack
constexpr Duration kExtensionPeriod{std::chrono::seconds{5}};

std::string Dollars(double dollars) {
  return dollars < 0.01 ? "less than 1 cent" : absl::StrFormat("about $%.2f", dollars);
}

}  // namespace

DryRun EstimateRun(const lab::Options& options) {
  DryRun run;
  const auto hops = static_cast<uint64_t>(options.hops);
  const uint64_t arms = options.arms.size();
  run.topics = run.subscriptions = arms * hops;
  run.admin_calls = 2 * (run.topics + run.subscriptions);
  run.published = arms * hops * options.slots;
  run.publish_calls = run.ack_calls = run.published;
  run.lease_calls = run.published * (1 + static_cast<uint64_t>(options.work.mean() / kExtensionPeriod));
  for (const lab::ArmSpec& arm : options.arms) run.streams += hops * (arm.streams > 0 ? arm.streams : options.streams);
  run.spans = run.published * kSpansPerHop;
  run.billed_bytes = 2 * run.published * kBilledBytesMin;
  const uint64_t slots_per_minute =
      std::min(options.slots, options.arrival.Highest(options.millihertz) * 60 / 1000 + 1);
  run.peak_kb_per_minute = static_cast<double>(arms * hops * slots_per_minute * kBilledBytesMin) / 1000;
  return run;
}

std::string DryRunText(const lab::Options& options, const remote::Target& target) {
  const DryRun run = EstimateRun(options);
  std::string text = absl::StrFormat("DRY RUN  nothing was touched: %s at %s\n", target.text, target.address);
  absl::StrAppendFormat(&text, "\nResources, made before the run and removed after it (%d topics, %d subscriptions)\n",
                        run.topics, run.subscriptions);
  for (const lab::Resource& resource : lab::ResourcesOf(options)) {
    const bool topic = resource.subscription.empty();
    text += StrCat("  ", topic ? resource.topic : resource.subscription,
                   !topic && resource.exactly_once ? "  (exactly-once)" : "", "\n");
  }
  absl::StrAppendFormat(&text,
                        "\nMessages  %d published and as many delivered (%d arms × %d hops × %d)\n"
                        "Calls     at most %d Publish, %d Acknowledge, %d ModifyAckDeadline; %d streams; "
                        "%d administrator operations\n"
                        "Quota     about %.0f kB/min of publisher and of subscriber throughput at the busiest; "
                        "exactly-once deliveries and acks count for quotas of their own\n"
                        "Spans     about %d, written to the run folder\n",
                        run.published, options.arms.size(), options.hops, options.slots, run.publish_calls,
                        run.ack_calls, run.lease_calls, run.streams, run.admin_calls, run.peak_kb_per_minute,
                        run.spans);
  const double dollars = static_cast<double>(run.billed_bytes) / kTiB * kDollarsPerTiB;
  const double trace_dollars = static_cast<double>(run.spans) / 1e6 * kDollarsPerMillionSpans;
  absl::StrAppendFormat(&text,
                        "Cost      %s: %.1f MB of Pub/Sub at $%.0f a TiB (at least 1,000 bytes a request); "
                        "%s more if the spans go to Cloud Trace at $%.2f a million\n"
                        "          approximate: list prices of %s, before free tiers and traffic between regions\n",
                        Dollars(dollars), static_cast<double>(run.billed_bytes) / 1e6, kDollarsPerTiB,
                        Dollars(trace_dollars), kDollarsPerMillionSpans, kPricesOf);
  return text;
}

}  // namespace hopgap::cli
