#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pubsub/message.h"

namespace hopgap::pubsub {

// A subscription's filter: which messages it is for, by their attributes. Read
// once, then asked for every message without allocating.
//
//   filter    := [ expr ]                     nothing: every message
//   expr      := term { "AND" term } | term { "OR" term }    never mixed without ( )
//   term      := [ "NOT" | "-" ] factor
//   factor    := "(" expr ")" | predicate
//   predicate := "attributes" ":" key
//              | "attributes" "." key ( "=" | "!=" ) string
//              | "hasPrefix" "(" "attributes" "." key "," string ")"
//   key       := [A-Za-z_][A-Za-z0-9_-]* | string
//   string    := '"' { character | \" | \\ | \uXXXX } '"'
//
// Keys and values are compared byte by byte. A message without the key is "not
// equal" to any value and has no prefix. Safe to use from several threads.
class Filter {
 public:
  Filter() = default;  // every message

  // InvalidArgument that names the position (in bytes, from 0), what was
  // expected there and what stands there; or the limit of kFilterBytesMax.
  static absl::StatusOr<Filter> Parse(std::string_view text);

  bool Matches(const Message& message) const { return nodes_.empty() || Matches(nodes_.back(), message); }
  // No message is kept out.
  bool matches_all() const { return nodes_.empty(); }

 private:
  friend class FilterParser;
  struct Node {
    enum class Kind : uint8_t { kHas, kEquals, kHasPrefix, kNot, kAnd, kOr };
    Kind kind = Kind::kHas;
    uint16_t left = 0, right = 0;  // of kNot only the left one
    std::string key{}, value{};
  };
  bool Matches(const Node& node, const Message& message) const;

  std::vector<Node> nodes_;  // operands before operators; the last is the whole
};

}  // namespace hopgap::pubsub
