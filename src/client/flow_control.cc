#include "client/flow_control.h"

#include <algorithm>

#include "base/check.h"
#include "client/model.h"

namespace hopgap::client {

int64_t MessageLimit(int64_t configured) { return configured == 0 ? Model{}.max_outstanding_messages : configured; }
int64_t ByteLimit(int64_t configured) { return configured == 0 ? Model{}.max_outstanding_bytes : configured; }

FlowControl::FlowControl(int64_t messages, int64_t bytes)
    : message_limit_(MessageLimit(messages)), byte_limit_(ByteLimit(bytes)) {}

int64_t FlowControl::Bounded(int64_t bytes) const { return byte_limit_ < 0 ? bytes : std::min(bytes, byte_limit_); }

bool FlowControl::Acquire(uint32_t stream, int64_t bytes) {
  bytes = Bounded(bytes);
  if (!for_message_.empty() || !MessageFits()) {
    for_message_.push_back({stream, bytes});
    return false;
  }
  ++messages_held_;
  if (!for_bytes_.empty() || !BytesFit(bytes)) {
    for_bytes_.push_back({stream, bytes});
    return false;
  }
  bytes_held_ += bytes;
  return true;
}

void FlowControl::Release(int64_t bytes, std::vector<uint32_t>& admitted) {
  HOPGAP_CHECK(messages_held_ > 0, "flow control released more than it gave");
  --messages_held_;
  bytes_held_ -= Bounded(bytes);
  while (!for_message_.empty() && MessageFits()) {
    ++messages_held_;
    for_bytes_.push_back(for_message_.front());
    for_message_.pop_front();
  }
  while (!for_bytes_.empty() && BytesFit(for_bytes_.front().bytes)) {
    bytes_held_ += for_bytes_.front().bytes;
    admitted.push_back(for_bytes_.front().stream);
    for_bytes_.pop_front();
  }
}

void FlowControl::ForgetWaiters() {
  messages_held_ -= static_cast<int64_t>(for_bytes_.size());
  for_message_.clear();
  for_bytes_.clear();
}

}  // namespace hopgap::client
