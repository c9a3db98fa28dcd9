#include "lab/options.h"

#include "base/draw.h"
#include "base/text.h"

namespace hopgap::lab {
namespace {

constexpr std::string_view kTraceLabel = "trace", kFailureLabel = "handler failure";

std::string Id(const Options& options, const ArmSpec& arm, int hop) {
  return StrCat(options.resource_prefix, arm.name, "-hop", hop);
}
const std::string& Project(const Options& options, const ArmSpec& arm) {
  return options.groups[static_cast<size_t>(arm.group)].project;
}

}  // namespace

bool HandlerFailures::Of(uint64_t hop, uint64_t key, uint64_t attempt) const {
  if (share <= 0) return false;
  const uint64_t draw = FractionOf(Mix(Mix(seed, HashName(kFailureLabel)), hop, key, attempt));
  return static_cast<double>(draw) < share * static_cast<double>(kFractionOne);
}

std::string DataOf(uint64_t slot, uint64_t bytes) {
  std::string data = StrCat(1, ".", slot);
  if (bytes > 0) data.resize(bytes, '.');
  return data;
}

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
