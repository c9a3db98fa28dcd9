#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace hopgap::client {

// The credits that all streams of a subscriber share: first one of `messages`,
// then the message's bytes (never more than the limit, so that a huge message
// still gets through). Both are first come, first served: whoever waits keeps
// later ones waiting, also those that would fit.
//
// A waiter is a stream: each has at most one request waiting.
class FlowControl {
 public:
  // Limits: 0 means the library's default, a negative one means none.
  FlowControl(int64_t messages, int64_t bytes);

  // True: taken. False: the stream waits, and a later call hands it the credits.
  bool Acquire(uint32_t stream, int64_t bytes);

  // Gives back what an acquired message held; appends the streams whose wait is
  // over, in the order in which they got their credits.
  void Release(int64_t bytes, std::vector<uint32_t>& admitted);

  // Nobody waits any more (the subscriber stops).
  void ForgetWaiters();

  int64_t messages_held() const { return messages_held_; }

 private:
  struct Waiter {
    uint32_t stream;
    int64_t bytes;
  };
  int64_t Bounded(int64_t bytes) const;
  bool MessageFits() const { return message_limit_ < 0 || messages_held_ < message_limit_; }
  bool BytesFit(int64_t bytes) const { return byte_limit_ < 0 || bytes_held_ + bytes <= byte_limit_; }

  int64_t message_limit_, byte_limit_;
  int64_t messages_held_ = 0, bytes_held_ = 0;
  std::deque<Waiter> for_message_, for_bytes_;  // at most one entry per stream
};

// The limits as they stand in the model, 0 replaced by the default.
int64_t MessageLimit(int64_t configured);
int64_t ByteLimit(int64_t configured);

}  // namespace hopgap::client
