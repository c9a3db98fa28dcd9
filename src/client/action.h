#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pubsub/api.h"
#include "pubsub/bytes.h"

namespace hopgap::client {

// What the driver has to do for a subscriber or publisher, in order.
struct Action {
  enum class Kind : uint8_t {
    kOpenStream,       // open `stream` (StreamingPull) and send `payload` as its first request; no read is implied
    kRead,             // post a read on `stream`; answer with OnResponse() or OnStreamEnded()
    kSend,             // send `payload` on `stream` (fire and forget)
    kHalfCloseStream,  // no more requests on `stream`; the server ends it
    kCancelStream,
    kCall,           // unary `method` with `payload` and `timeout`; answer with OnCallDone(call)
    kStartCallback,  // enter the handler of `delivery`; its owner then says OnCallbackStarted()
    // Not for the driver: taken by the owner (lab) of the subscriber.
    kAckDone,  // the ack (or nack) of `delivery` has its result in `ok`
    // Taken by the owner of the publisher.
    kPublished,  // `publish` has its result in `ok` and `message_id`
    kFailed,     // the subscriber stopped for good: `error`
  };
  Kind kind = Kind::kRead;
  uint32_t stream = 0;  // index within the subscriber
  uint64_t call = 0;    // unique within the subscriber or publisher
  pubsub::Method method{};
  pubsub::Slices payload;
  Duration timeout{0};
  uint64_t delivery = 0;
  uint64_t publish = 0;
  bool ok = true;
  std::string message_id;
  std::string error;
};
using Actions = std::vector<Action>;

}  // namespace hopgap::client
