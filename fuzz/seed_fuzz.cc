// Seed files.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/seed_file.h"
#include "fuzz/fuzz.h"

std::vector<std::string> hopgap::fuzz::Seeds() {
  return {
      "projects:\n  p:\n    topics:\n      top:\n        labels: {a: b}\n        messages: [{data: x, ordering_key: "
      "k}]\n"
      "    subscriptions:\n      sub:\n        topic: top\n        filter: attributes.a = \"b\"\n"
      "        retry_policy: {minimum_backoff: 1s, maximum_backoff: 600s}\n"
      "        dead_letter_policy: {dead_letter_topic: top, max_delivery_attempts: 5}\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto seed = hopgap::formats::ParseSeed({reinterpret_cast<const char*>(data), size});
  if (!seed.ok()) return 0;
  for (const auto* resources : {&seed->topics, &seed->subscriptions}) {
    for (const hopgap::formats::SeedResource& resource : *resources) {
      const std::string wire = resource.wire();
      for (const hopgap::formats::SeedField& field : resource.fields) {
        // What was made from the seed has what the seed gives.
        if (!hopgap::formats::HasSeedField(resource.kind, wire, field)) __builtin_trap();
      }
    }
  }
  return 0;
}
