#include "live/load.h"

#include <algorithm>

#include "base/check.h"
#include "base/system_clock.h"
#include "base/text.h"
#include "live/api.h"

namespace hopgap::live {

Load::Load(Options options)
    : options_(std::move(options)),
      schedule_(options_.millihertz, options_.slots, options_.arrival),
      queues_(options_.targets.size()),
      idle_(options_.targets.size()),
      threads_of_(options_.targets.size()),
      rows_(options_.targets.size(), std::vector<Row>(options_.slots)),
      figures_(options_.targets.size()) {
  for (size_t target = 0; target < options_.targets.size(); ++target) {
    if (options_.users) users_.emplace_back(*options_.users);
    const size_t group = options_.targets[target].group;
    if (groups_.size() <= group) groups_.resize(group + 1);
    groups_[group].push_back(target);
  }
}

Load::~Load() { Stop(); }

void Load::Start(Instant first) {
  HOPGAP_CHECK(first_ == kNever, "a load is started once");
  first_ = first;
  {
    std::lock_guard lock(mu_);
    scheduled_left_ = options_.slots * groups_.size();
    // A connection each before the first slot: opening one takes longer than a request.
    for (size_t target = 0; target < options_.targets.size(); ++target) {
      const size_t count = options_.users ? options_.users->at_first : 1;
      for (size_t i = 0; i < count; ++i) AddThread(target, true);
    }
  }
  for (size_t group = 0; group < groups_.size(); ++group) Aim(group, 0);
}

void Load::Aim(size_t group, uint64_t slot) {
  const Duration offset = options_.targets[groups_[group].front()].offset;
  timer_.Set(first_ + offset + schedule_.DueAfter(slot), [this, group, slot] { Enqueue(group, slot); });
}

// Under the lock.
void Load::AddThread(size_t target, bool is_made) {
  ++threads_of_[target];
  threads_.emplace_back([this, target, is_made] {
    if (!is_made) {
      std::lock_guard lock(mu_);
      users_[target].Made();
    }
    Work(target);
  });
}

// Under the lock: to whoever is free, or into the queue, or not at all.
void Load::Give(size_t target, uint64_t slot) {
  Row& row = rows_[target][slot];
  const auto drop = [&](const char* why) {
    row.error = why;
    ++figures_[target].dropped;
  };
  if (!users_.empty()) {
    row.iteration = users_[target].Begin(slot);
    if (!row.iteration) drop("not sent: every user is busy");
    if (users_[target].MakesAnother()) AddThread(target, false);
    if (!row.iteration) return;
  } else if (queues_[target].size() >= kQueuedMax) {
    return drop("not sent: too many requests wait already");
  } else if (idle_[target] == 0 && threads_of_[target] < kConnectionsMax) {
    AddThread(target, true);
  }
  queues_[target].push_back({target, slot});
  ++under_way_;
}

// On the timer's thread: hands the slot to the connections.
void Load::Enqueue(size_t group, uint64_t slot) {
  const std::vector<size_t>& targets = groups_[group];
  {
    std::lock_guard lock(mu_);
    --scheduled_left_;
    if (ending_) {
      scheduled_left_ -= std::min(scheduled_left_, options_.slots - slot - 1);
      return;
    }
    for (size_t i = 0; i < targets.size(); ++i) {
      const size_t target = targets[(i + slot) % targets.size()];
      Row& row = rows_[target][slot];
      row.due = first_ + options_.targets[target].offset + schedule_.DueAfter(slot);
      Give(target, slot);
    }
  }
  work_.notify_all();
  if (slot + 1 < options_.slots) Aim(group, slot + 1);
}

void Load::Work(size_t target) {
  remote::HttpClient client({.origin = options_.targets[target].url.origin, .timeout = options_.timeout});
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mu_);
      ++idle_[target];
      work_.wait(lock, [&] { return stopping_ || !queues_[target].empty(); });
      --idle_[target];
      if (queues_[target].empty()) return;
      job = queues_[target].front();
      queues_[target].pop_front();
    }
    Perform(client, job);
  }
}

void Load::Perform(remote::HttpClient& client, const Job& job) {
  const Target& target = options_.targets[job.target];
  Instant due;
  {
    std::lock_guard lock(mu_);
    due = rows_[job.target][job.slot].due;
  }
  remote::HttpRequest request{.method = "POST", .path = target.url.path, .headers = {}, .body = {}, .content_type = {}};
  request.headers = {{std::string(kSlotHeader), StrCat(job.slot)},
                     {std::string(kScheduledHeader), StrCat(ToNanos(options_.anchor.ToWall(due)))}};
  if (options_.body_bytes > 0) {
    request.body = lab::DataOf(job.slot, options_.body_bytes);
    request.content_type = "application/octet-stream";
  }
  if (options_.traceparent) {
    request.headers.emplace_back(kTraceparentHeader, options_.traceparent(job.target, job.slot));
  }
  const Instant sent = SteadyNow();
  {
    std::lock_guard lock(mu_);
    rows_[job.target][job.slot].sent = sent;
    ++figures_[job.target].sent;
  }
  const absl::StatusOr<remote::HttpResponse> response = client.Send(request);
  const Instant answered = SteadyNow();
  std::lock_guard lock(mu_);
  Row& row = rows_[job.target][job.slot];
  Figures& figures = figures_[job.target];
  --under_way_;
  if (!users_.empty()) users_[job.target].Ended();
  row.answered = answered;
  row.status = response.ok() ? response->status : 0;
  if (response.ok() && row.status / 100 == 2) {
    ++figures.answered;
    return;
  }
  row.error =
      response.ok() ? StrCat("HTTP ", row.status, ": ", response->body) : std::string(MessageOf(response.status()));
  ++figures.failed;
  figures.last_error = row.error;
}

bool Load::AllSent() const {
  std::lock_guard lock(mu_);
  return scheduled_left_ == 0 && under_way_ == 0;
}

void Load::Stop() {
  timer_.Stop();
  {
    std::lock_guard lock(mu_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

Load::Figures Load::figures(size_t target) const {
  std::lock_guard lock(mu_);
  Figures figures = figures_[target];
  if (!users_.empty()) {
    figures.users = users_[target].users();
    figures.advice = users_[target].Advice(schedule_);
  }
  return figures;
}

std::vector<int64_t> Load::Lateness(size_t target, uint64_t slots_max) const {
  std::vector<int64_t> lateness;
  std::lock_guard lock(mu_);
  const std::vector<Row>& rows = rows_[target];
  for (size_t slot = rows.size(); slot-- > 0 && lateness.size() < slots_max;) {
    if (rows[slot].sent != kNever) lateness.push_back((rows[slot].sent - rows[slot].due).count());
  }
  return lateness;
}

}  // namespace hopgap::live
