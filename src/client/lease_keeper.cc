#include "client/lease_keeper.h"

#include <algorithm>
#include <chrono>

namespace hopgap::client {
namespace {

int32_t SecondsOf(Duration length) {
  return static_cast<int32_t>(std::chrono::floor<std::chrono::seconds>(length).count());
}

}  // namespace

LeaseKeeper::LeaseKeeper(const Model& model, Instant start)
    : model_(model), ack_times_(model.lease_min, model.lease_max), tick_(start + model.first_lease_tick) {}

bool LeaseKeeper::SetExactlyOnce(Instant now, bool exactly_once) {
  if (exactly_once == exactly_once_) return false;
  SkipIdleTicks(now);  // with the period that held until now
  exactly_once_ = exactly_once;
  return true;
}

void LeaseKeeper::Add(Instant now, uint64_t delivery, Instant end) {
  SkipIdleTicks(now);
  ends_.emplace(delivery, end);
}

void LeaseKeeper::AddAckTime(Duration taken) {
  ack_times_.Add(taken);
  percentile_seconds_ = ack_times_.Percentile(model_.lease_percentile);
}

int32_t LeaseKeeper::deadline_seconds() const {
  const Duration floor = exactly_once_ ? model_.lease_min_exactly_once : model_.lease_min;
  return std::max(percentile_seconds_, SecondsOf(floor));
}

Duration LeaseKeeper::Period() const {
  const Duration deadline = std::chrono::seconds{deadline_seconds()};
  const Duration period = deadline - model_.lease_grace;
  return period.count() > 0 ? period : deadline / 2;
}

void LeaseKeeper::SkipIdleTicks(Instant now) {
  if (!ends_.empty() || tick_ >= now) return;
  const Duration period = Period();
  const int64_t missed = ((now - tick_).count() + period.count() - 1) / period.count();
  tick_ += missed * period;
}

std::optional<LeaseKeeper::Tick> LeaseKeeper::TakeTick(Instant now) {
  if (ends_.empty() || now < tick_) return std::nullopt;
  Tick tick;
  for (auto lease = ends_.begin(); lease != ends_.end();) {
    if (lease->second < now) {
      tick.abandoned.push_back(lease->first);
      lease = ends_.erase(lease);
    } else {
      tick.extend.push_back(lease->first);
      ++lease;
    }
  }
  tick_ = now + Period();
  return tick;
}

std::optional<Instant> LeaseKeeper::NextTick() const {
  if (ends_.empty()) return std::nullopt;
  return tick_;
}

}  // namespace hopgap::client
