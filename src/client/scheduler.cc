#include "client/scheduler.h"

#include "base/check.h"
#include "client/flow_control.h"

namespace hopgap::client {
namespace {

constexpr int64_t kUnlimitedSlots = 1'000'000'000;

}  // namespace

Scheduler::Scheduler(int64_t slots, bool adders_wait) : slots_(MessageLimit(slots)), adders_wait_(adders_wait) {
  if (slots_ < 0) slots_ = kUnlimitedSlots;
}

Scheduler::Added Scheduler::Add(uint64_t delivery, std::string_view key) {
  if (!key.empty()) {
    const auto found = keys_.find(key);
    if (found != keys_.end()) {
      found->second.push_back(delivery);
      return Added::kQueued;
    }
    keys_.emplace(std::string(key), std::deque<uint64_t>());
  }
  if (!waiting_.empty() || running_ >= slots_) {
    waiting_.push_back(delivery);
    return adders_wait_ ? Added::kWaits : Added::kQueued;
  }
  ++running_;
  return Added::kRuns;
}

void Scheduler::Returned(std::string_view key, std::vector<Started>& started) {
  HOPGAP_CHECK(running_ > 0, "a callback returned that never ran");
  if (!key.empty()) {
    const auto found = keys_.find(key);
    HOPGAP_CHECK(found != keys_.end(), "a keyed callback returned whose key is not busy");
    if (!found->second.empty()) {  // the worker stays with its key
      started.push_back({found->second.front(), false});
      found->second.pop_front();
      return;
    }
    keys_.erase(found);
  }
  --running_;
  if (waiting_.empty()) return;
  ++running_;
  started.push_back({waiting_.front(), adders_wait_});
  waiting_.pop_front();
}

std::vector<uint64_t> Scheduler::TakeWaiting() {
  std::vector<uint64_t> taken(waiting_.begin(), waiting_.end());
  waiting_.clear();
  for (auto& [key, queue] : keys_) {
    taken.insert(taken.end(), queue.begin(), queue.end());
    queue.clear();
  }
  return taken;
}

}  // namespace hopgap::client
