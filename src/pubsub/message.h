#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "pubsub/bytes.h"
#include "pubsub/wire.h"

namespace hopgap::pubsub {

inline constexpr std::string_view kTraceparentAttribute = "googclient_traceparent";
// "hop.slot": names the draw of added delays, see broker/delays.h. Set by lab.
inline constexpr std::string_view kDrawAttribute = "hopgap_draw";

// A PubsubMessage as wire bytes, with the few fields hopgap looks at found in
// place. Never re-serialised on its way, and its body is never copied: what the
// server adds stands in a piece of its own behind it.
//
// A value; copying copies pointers. Not thread-safe, also not for two readers:
// wire() of an accepted message joins its pieces at the first call.
class Message {
 public:
  Message() = default;

  // Scans `wire`. InvalidArgument if it is no well-formed PubsubMessage
  // (malformed bytes, or text that is not UTF-8).
  static absl::StatusOr<Message> Parse(Bytes wire);

  // Builds the wire form. Attributes are written in the order given.
  // Requires: attributes and key are UTF-8.
  static Message Make(std::string_view data, const std::vector<std::pair<std::string, std::string>>& attributes,
                      std::string_view ordering_key = {});

  // The wire form in one piece. Copies the body if this message was Accepted():
  // what sends or stores it takes wire_slices().
  const Bytes& wire() const;
  // The wire form in pieces, in order; none of them is empty.
  Slices wire_slices() const;
  template <typename Visitor>
  void VisitSlices(Visitor visit) const;  // the same, without a container
  size_t wire_size() const { return size_; }
  std::string_view data() const { return data_; }
  std::string_view ordering_key() const { return ordering_key_; }
  std::string_view message_id() const { return message_id_; }  // empty before acceptance
  // nullopt if absent, or outside what a WallTime holds (years 1678 to 2262).
  std::optional<WallTime> publish_time() const { return publish_time_; }
  // Entries as they stand, a repeated key counted each time.
  size_t attribute_count() const { return attribute_count_; }

  // The last value of the key (protobuf's rule for maps); nullopt if absent.
  std::optional<std::string_view> Attribute(std::string_view key) const;
  // All entries as they stand, in order.
  std::vector<std::pair<std::string_view, std::string_view>> Attributes() const;

  // The bytes to deliver: these without any message_id and publish_time that
  // the publisher may have set, and with the given ones appended. Usually two
  // slices, the first of which is wire() itself.
  Message Accepted(std::string_view message_id, WallTime publish_time) const;

 private:
  absl::Status Scan();
  absl::Status ScanField(const WireField& field);

  Bytes wire_;   // as parsed or made; empty if server fields were cut out of it
  Slices more_;  // what was left then
  Bytes tail_;   // message_id and publish_time, as accepted
  mutable Bytes joined_;
  size_t size_ = 0;
  std::string_view data_, ordering_key_, message_id_;
  std::optional<WallTime> publish_time_;
  size_t attribute_count_ = 0;
  bool server_fields_set_ = false;  // in wire_, by whoever wrote it
};

template <typename Visitor>
void Message::VisitSlices(Visitor visit) const {
  if (!wire_.empty()) visit(wire_);
  for (const Bytes& piece : more_) visit(piece);
  if (!tail_.empty()) visit(tail_);
}

// W3C trace context. All zero is invalid and means "none".
struct TraceContext {
  uint64_t trace_hi = 0;
  uint64_t trace_lo = 0;
  uint64_t span = 0;

  bool valid() const { return (trace_hi | trace_lo) != 0 && span != 0; }
  friend auto operator<=>(const TraceContext&, const TraceContext&) = default;
};

// "00-<32 hex>-<16 hex>-01". ParseTraceparent gives an invalid context for
// anything malformed; later versions are read by their first 55 characters.
std::string FormatTraceparent(const TraceContext& context);
TraceContext ParseTraceparent(std::string_view text);

}  // namespace hopgap::pubsub
