#include "client/lease_keeper.h"

#include <algorithm>
#include <chrono>

#include "base/draw.h"

namespace hopgap::client {
namespace {

constexpr Duration kShortestPart{std::chrono::milliseconds{10}};

int32_t SecondsOf(Duration length) {
  return static_cast<int32_t>(std::chrono::floor<std::chrono::seconds>(length).count());
}

}  // namespace

LeaseKeeper::LeaseKeeper(const Model& model, Instant start, uint64_t seed)
    : model_(model), seed_(seed), ack_times_(model.lease_min, model.lease_max), tick_(start + model.first_lease_tick) {}

bool LeaseKeeper::SetExactlyOnce(Instant now, bool exactly_once) {
  if (exactly_once == exactly_once_) return false;
  SkipIdleTicks(now);  // with the period that held until now
  exactly_once_ = exactly_once;
  return true;
}

void LeaseKeeper::Add(Instant now, uint64_t delivery, Instant end) {
  switch (model_.lease_timer) {
    case LeaseTimer::kBeforeDeadline: SkipIdleTicks(now); break;
    case LeaseTimer::kRandom:
      if (ends_.empty()) tick_ = now + RandomPart();
      break;
    case LeaseTimer::kEachMessage: SetDue(delivery, now + model_.stream_ack_deadline - model_.lease_grace); break;
  }
  ends_.emplace(delivery, end);
}

void LeaseKeeper::Remove(uint64_t delivery) {
  ends_.erase(delivery);
  const auto due = due_.find(delivery);
  if (due == due_.end()) return;
  by_due_.erase({due->second, delivery});
  due_.erase(due);
}

void LeaseKeeper::SetDue(uint64_t delivery, Instant due) {
  const auto [at, fresh] = due_.try_emplace(delivery, due);
  if (!fresh) by_due_.erase({std::exchange(at->second, due), delivery});
  by_due_.emplace(due, delivery);
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

Duration LeaseKeeper::RandomPart() {
  const Duration longest = std::chrono::seconds{deadline_seconds()} * 9 / 10;
  const auto part = static_cast<unsigned __int128>(longest.count()) * FractionOf(Mix(seed_, drawn_++));
  return std::max<Duration>(kShortestPart, Duration{static_cast<int64_t>(part / kFractionOne)});
}

void LeaseKeeper::SkipIdleTicks(Instant now) {
  if (model_.lease_timer != LeaseTimer::kBeforeDeadline || !ends_.empty() || tick_ >= now) return;
  const Duration period = Period();
  const int64_t missed = ((now - tick_).count() + period.count() - 1) / period.count();
  tick_ += missed * period;
}

std::optional<LeaseKeeper::Tick> LeaseKeeper::TakeTick(Instant now) {
  const std::optional<Instant> next = NextTick();
  if (!next || now < *next) return std::nullopt;
  if (model_.lease_timer == LeaseTimer::kEachMessage) return TakeEach(now);
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
  tick_ = now + (model_.lease_timer == LeaseTimer::kRandom ? RandomPart() : Period());
  return tick;
}

LeaseKeeper::Tick LeaseKeeper::TakeEach(Instant now) {
  Tick tick;
  while (!by_due_.empty() && by_due_.begin()->first <= now) {
    const uint64_t delivery = by_due_.begin()->second;
    if (ends_.at(delivery) < now) {
      tick.abandoned.push_back(delivery);
      Remove(delivery);
    } else {
      tick.extend.push_back(delivery);
      SetDue(delivery, now + Period());
    }
  }
  return tick;
}

std::optional<Instant> LeaseKeeper::NextTick() const {
  if (ends_.empty()) return std::nullopt;
  return model_.lease_timer == LeaseTimer::kEachMessage ? by_due_.begin()->first : tick_;
}

}  // namespace hopgap::client
