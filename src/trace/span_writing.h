#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/build.h"
#include "trace/event.h"
#include "trace/span.h"

// Small helpers of message_spans.cc and rpc_spans.cc.
namespace hopgap::trace {

// service.name: "eos hop 1" (arm and hop of the place), the arm alone without a
// hop, "hopgap" without an arm; the broker's half is "hopgap-broker".
std::string ServiceOf(const Place& place);

inline void Add(Attributes& attributes, std::string_view key, AttributeValue value) {
  attributes.emplace_back(std::string(key), std::move(value));
}
inline void AddText(Attributes& attributes, std::string_view key, std::string_view text) {
  attributes.emplace_back(std::string(key), std::string(text));
}
void AddInstant(Attributes& attributes, std::string_view key, WallTime at);

// gcp.project_id, messaging.system, messaging.destination.name.
void AddResource(Attributes& attributes, const Place& place, std::string_view destination);

// An error status with the name of the RPC's code, unless that is OK (0).
void SetStatus(Span& span, int64_t code);

SpanLink LinkTo(const MessageKey& rpc, std::string_view operation);
std::string HexKey(uint64_t key);  // 16 digits

}  // namespace hopgap::trace
