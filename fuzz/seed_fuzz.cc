// Seed files.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/seed_file.h"

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
