#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/draw.h"
#include "broker/journal_record.h"

namespace hopgap::broker {

// What an ack id names: one delivery of one message to one subscription. It
// holds no deadline, so an id never has to change while its lease is extended.
struct AckId {
  Incarnation subscription = 0;
  Sequence sequence = 0;
  Generation generation = 0;
  friend auto operator<=>(const AckId&, const AckId&) = default;
};

// base64url of three varints and a keyed 32-bit checksum: 10 to 24 characters
// for realistic values, so that the failures of many ids fit into a trailer.
std::string FormatAckId(HashKey key, const AckId& id);

// nullopt for anything that this key did not make, also for another spelling of
// the same bytes.
std::optional<AckId> ParseAckId(HashKey key, std::string_view text);

}  // namespace hopgap::broker
