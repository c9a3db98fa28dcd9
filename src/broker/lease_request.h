#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/broker.h"
#include "broker/subscription.h"
#include "pubsub/error_details.h"

namespace hopgap::broker {

// One Acknowledge or ModifyAckDeadline on its way: by a call of its own, or as
// part of a stream's request.
struct LeaseRequest {
  // An id, and what became of it.
  struct Item {
    std::string text;
    std::optional<AckId> id;  // nullopt: malformed, or of another subscription
    Subscription::IdState state = Subscription::IdState::kUnknown;
    bool failed = false;                          // to be reported: as invalid, or
    bool unordered = false;                       // as acked before one of its ordering key that is not
    trace::MessageKey key;                        // of its message, while that is known
    std::unique_ptr<const LeaseFailure> failure;  // why, if it failed
  };

  bool ack = true;  // else a modify of `seconds`
  int32_t seconds = 0;
  std::optional<CallId> call;  // unset: it came on `stream`
  StreamId stream{};
  Incarnation subscription = 0;
  uint16_t place = 0;
  bool exactly_once = false;
  size_t details_bytes_max = pubsub::kDetailsBytesMax;  // of the answer, should ids fail
  Instant read;
  std::vector<Item> items;
  Duration added{0};  // the answer is held this long

  bool AnyFailed() const {
    for (const Item& item : items) {
      if (item.failed) return true;
    }
    return false;
  }
};

}  // namespace hopgap::broker
