#include "client/bundler.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hopgap::client {

Bundler::Bundler(const Model& model, Options options)
    : count_max_(std::clamp<size_t>(model.publish_count, 1, kPublishMessagesMax)),
      bytes_(model.publish_bytes),
      delay_(model.publish_delay),
      options_(options) {}

bool Bundler::Add(Instant now, BundledMessage message, size_t size) {
  if (size > options_.bytes_max) return false;
  if (open_bytes_ + size > options_.bytes_max) Close(now);
  if (open_.empty()) closes_ = now + delay_;
  open_.push_back(std::move(message));
  open_bytes_ += size;
  if (open_.size() >= count_max_ || open_bytes_ >= bytes_) Close(now);
  return true;
}

void Bundler::Close(Instant now) {
  if (open_.empty()) return;
  closed_.push_back({now + options_.planted, std::exchange(open_, {})});
  open_bytes_ = 0;
}

Bundle Bundler::TakeAll() {
  Bundle all;
  Close(Instant::min());
  for (Closed& closed : closed_) {
    all.insert(all.end(), std::make_move_iterator(closed.bundle.begin()), std::make_move_iterator(closed.bundle.end()));
  }
  closed_.clear();
  return all;
}

void Bundler::OnDeadline(Instant now) {
  if (!open_.empty() && closes_ <= now) Close(now);
}

std::optional<Bundle> Bundler::TakeReady(Instant now) {
  if (closed_.empty() || closed_.front().ready > now) return std::nullopt;
  Bundle bundle = std::move(closed_.front().bundle);
  closed_.pop_front();
  return bundle;
}

std::optional<Instant> Bundler::NextDeadline(bool worker_free) const {
  std::optional<Instant> next;
  if (!open_.empty()) next = closes_;
  if (worker_free && !closed_.empty() && (!next || closed_.front().ready < *next)) next = closed_.front().ready;
  return next;
}

}  // namespace hopgap::client
