// Subscription filters: what can be read is asked about messages.
#include "fuzz/fuzz.h"
#include "pubsub/filter.h"

std::vector<std::string> hopgap::fuzz::Seeds() {
  return {"", "attributes:colour", R"(attributes.colour = "red" AND NOT attributes:hidden)",
          R"(-attributes."two words" != "\u00e9" OR (hasPrefix(attributes.colour, "r") AND attributes:x-y_z))"};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using hopgap::pubsub::Message;
  static const Message kMessages[] = {
      Message::Make("", {}), Message::Make("a", {{"colour", "red"}, {"hidden", ""}}),
      Message::Make("b", {{"colour", "blue"}, {"two words", "\u00e9"}, {"x-y_z", "r"}})};
  const auto filter = hopgap::pubsub::Filter::Parse({reinterpret_cast<const char*>(data), size});
  if (!filter.ok()) return 0;
  for (const Message& message : kMessages) static_cast<void>(filter->Matches(message));
  return 0;
}
