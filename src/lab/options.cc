#include "lab/options.h"

#include "base/draw.h"
#include "base/text.h"

namespace hopgap::lab {
namespace {

constexpr std::string_view kTraceLabel = "trace";

std::string Id(const Options& options, const ArmSpec& arm, int hop) {
  return StrCat(options.resource_prefix, arm.name, "-hop", hop);
}
const std::string& Project(const Options& options, const ArmSpec& arm) {
  return options.groups[static_cast<size_t>(arm.group)].project;
}

}  // namespace

std::string TopicName(const Options& options, const ArmSpec& arm, int hop) {
  return StrCat("projects/", Project(options, arm), "/topics/", Id(options, arm, hop));
}

std::string SubscriptionName(const Options& options, const ArmSpec& arm, int hop) {
  return StrCat("projects/", Project(options, arm), "/subscriptions/", Id(options, arm, hop), "-sub");
}

std::pair<uint64_t, uint64_t> TraceIdOf(const Options& options, size_t arm, uint64_t slot) {
  const uint64_t hi = Mix(options.seed, HashName(kTraceLabel), HashName(options.arms[arm].name));
  return {hi, Mix(hi, slot + 1)};
}

std::vector<Resource> ResourcesOf(const Options& options) {
  std::vector<Resource> topics, subscriptions;
  for (const ArmSpec& arm : options.arms) {
    for (int hop = 1; hop <= options.hops; ++hop) {
      Resource topic{.topic = TopicName(options, arm, hop), .subscription = {}, .exactly_once = false};
      subscriptions.push_back({topic.topic, SubscriptionName(options, arm, hop), arm.exactly_once});
      topics.push_back(std::move(topic));
    }
  }
  topics.insert(topics.end(), subscriptions.begin(), subscriptions.end());
  return topics;
}

}  // namespace hopgap::lab
