#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace hopgap::torture {

// What the checker has to know of a subscription. All of them belong to one
// topic, except the one that gets the dead letters of another.
struct Rules {
  std::string name;
  bool exactly_once = false;
  bool ordered = false;
  bool forwards = false;                      // has a dead-letter policy
  bool letters = false;                       // belongs to the topic of dead letters
  Duration lease = std::chrono::seconds{60};  // of a delivery that nobody extends
};

// What became of an ack id that was sent with an ack or a modack.
enum class Outcome : uint8_t {
  kOk,         // answered OK
  kRefused,    // answered with a permanent failure
  kTemporary,  // answered: not now, and nothing has changed
  kUnknown,    // no answer came
};

struct Delivery {
  size_t subscription = 0;
  std::string ack_id, message_id;
  std::string_view data, key;
  Instant lease_from;  // AtLeast() of when the pull was sent or the stream opened: no lease began earlier
};

// The body of message `number`: it names itself, so that what comes back can be
// compared with what was sent although nothing was kept. Requires: size >= kBodyBytesMin.
inline constexpr size_t kBodyBytesMin = 48;
std::string BodyOf(uint64_t seed, uint64_t number, size_t size);

}  // namespace hopgap::torture
