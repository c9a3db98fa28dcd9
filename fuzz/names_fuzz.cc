// The texts of a request that mean something: names of resources, ack ids, trace
// contexts. An ack id is only what was made: one that is read is written the same.
#include "base/check.h"
#include "broker/ack_id.h"
#include "fuzz/fuzz.h"
#include "pubsub/message.h"
#include "pubsub/names.h"

namespace hopgap::fuzz {
namespace {

constexpr HashKey kKey{1, 2};

}  // namespace

std::vector<std::string> Seeds() {
  return {"projects/p/topics/top",
          "projects/p/subscriptions/sub-1.x~y+z%20",
          "projects/p/snapshots/snap",
          "projects/p",
          "_deleted-topic_",
          "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01",
          broker::FormatAckId(kKey, {.subscription = 2, .sequence = 999, .generation = 1}),
          broker::FormatAckId(kKey, {.subscription = ~0u, .sequence = ~0ull, .generation = ~0u})};
}

}  // namespace hopgap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hopgap;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* collection : {"topics", "subscriptions", "snapshots"}) {
    const auto name = pubsub::ParseName(text, collection);
    HOPGAP_CHECK(!name.ok() || pubsub::ShortName(text) == name->id, "a name's id is what stands behind its last slash");
  }
  static_cast<void>(pubsub::ParseProject(text));
  static_cast<void>(pubsub::ParseTraceparent(text));
  if (const auto id = broker::ParseAckId(fuzz::kKey, text)) {
    HOPGAP_CHECK(broker::FormatAckId(fuzz::kKey, *id) == text, "an ack id has one spelling");
  }
  return 0;
}
