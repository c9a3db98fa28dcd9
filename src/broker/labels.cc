#include "broker/labels.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "broker/errors.h"
#include "pubsub/limits.h"

namespace hopgap::broker {
namespace {

constexpr std::string_view kKeyPattern = "[\\p{Ll}\\p{Lo}][\\p{Ll}\\p{Lo}\\p{N}_-]{0,62}";

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (static_cast<unsigned char>(c) & 0x80) != 0; }
bool IsKeyCharacter(char c) { return IsLetter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-'; }

// Characters of UTF-8, not bytes: all but the continuation bytes.
size_t Characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

bool KeyIsGood(std::string_view key) {
  return !key.empty() && IsLetter(key[0]) && std::all_of(key.begin(), key.end(), IsKeyCharacter) &&
         Characters(key) <= pubsub::kLabelKeyCharactersMax;
}

}  // namespace

absl::Status CheckLabels(const std::map<std::string, std::string>& labels) {
  if (labels.size() > pubsub::kLabelsMax) return TooLarge("labels", labels.size(), pubsub::kLabelsMax);
  for (const auto& [key, value] : labels) {
    if (!KeyIsGood(key)) {
      return BadArgument(StrCat("Invalid labels: Invalid field \"labels\"; key \"", key,
                                "\" does not conform to regular expression \"", kKeyPattern, "\""));
    }
    const size_t length = Characters(value);
    if (length > pubsub::kLabelValueCharactersMax) {
      return BadArgument(StrCat("Invalid labels: Invalid field \"labels.", key, "\"; value \"", value,
                                "\" exceeds maximum value length ", pubsub::kLabelValueCharactersMax,
                                " with a length of ", length));
    }
  }
  return absl::OkStatus();
}

}  // namespace hopgap::broker
