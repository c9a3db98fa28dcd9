#include "broker/ack_id.h"

#include <absl/strings/escaping.h>

#include "base/text.h"
#include "pubsub/wire.h"

namespace hopgap::broker {
namespace {

constexpr size_t kChecksumBytes = 4;
// Longer text was not made here, and need not be decoded to know it.
constexpr size_t kAckIdCharactersMax = 40;

void AppendChecksum(HashKey key, std::string& bytes) {
  const uint64_t hash = SipHash(key, bytes);
  for (size_t i = 0; i < kChecksumBytes; ++i) bytes.push_back(static_cast<char>((hash >> (8 * i)) & 0xff));
}

}  // namespace

std::string FormatAckId(HashKey key, const AckId& id) {
  std::string bytes;
  pubsub::WireWriter::AppendVarint(bytes, id.subscription);
  pubsub::WireWriter::AppendVarint(bytes, id.sequence);
  pubsub::WireWriter::AppendVarint(bytes, id.generation);
  AppendChecksum(key, bytes);
  return absl::WebSafeBase64Escape(bytes);
}

std::optional<AckId> ParseAckId(HashKey key, std::string_view text) {
  if (text.empty() || text.size() > kAckIdCharactersMax) return std::nullopt;
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(ToAbsl(text), &bytes) || bytes.size() <= kChecksumBytes) return std::nullopt;
  std::string_view rest(bytes.data(), bytes.size() - kChecksumBytes);
  uint64_t subscription = 0, sequence = 0, generation = 0;
  if (!pubsub::TakeVarint(rest, subscription) || !pubsub::TakeVarint(rest, sequence) ||
      !pubsub::TakeVarint(rest, generation) || !rest.empty()) {
    return std::nullopt;
  }
  const AckId id{subscription, sequence, static_cast<Generation>(generation)};
  if (id.generation != generation || FormatAckId(key, id) != text) return std::nullopt;
  return id;
}

}  // namespace hopgap::broker
