// The admin API and the test clock: what they ask of the broker, on its strand.
#include <future>
#include <utility>

#include "base/text.h"
#include "server/dispatcher.h"

namespace hopgap::server {

using broker::Actions;

namespace {

// Deadlines that fire in one go before others get the strand.
constexpr size_t kDeadlinesAtOnce = 1000;

}  // namespace

absl::StatusOr<uint64_t> Dispatcher::Administer(const broker::AdminRequest& request) {
  absl::StatusOr<uint64_t> touched = uint64_t{0};
  strand_.Run([&] {
    Actions actions;
    touched = broker_.OnAdmin(Now(), request, actions);
    Perform(actions);
  });
  return touched;
}

absl::StatusOr<broker::LeaseReport> Dispatcher::Leases(const std::string& subscription) {
  absl::StatusOr<broker::LeaseReport> report = broker::LeaseReport{};
  strand_.Run([&] { report = broker_.Leases(Now(), subscription); });
  return report;
}

std::vector<std::pair<WallTime, broker::LeaseFailure>> Dispatcher::NewestFailures() {
  std::vector<std::pair<WallTime, broker::LeaseFailure>> newest;
  strand_.Run([&] { newest = failures_.Newest(); });
  return newest;
}

Dispatcher::Clock Dispatcher::ReadClock() const {
  return {options_.broker.anchor.ToWall(Now()), Duration{ahead_ns_.load(std::memory_order_relaxed)}};
}

absl::StatusOr<Dispatcher::Clock> Dispatcher::AdvanceClock(Duration length) {
  if (!options_.test_clock) {
    return absl::FailedPreconditionError("the broker's clock is the machine's: start it with --test-clock");
  }
  constexpr Duration kAheadMax = std::chrono::hours{24 * 365 * 100};  // wall time ends in 2262
  const auto answer = std::make_shared<std::promise<absl::Status>>();
  std::future<absl::Status> answered = answer->get_future();
  strand_.Post([this, length, answer, kAheadMax] {
    if (broker_stopped_) return answer->set_value(absl::UnavailableError("The server is stopping."));
    // Behind those that are not there yet, so that each goes its whole length.
    const int64_t from = advances_.empty() ? ahead_ns_.load() : advances_.back().ahead_ns;
    if (length > kAheadMax - Duration{from}) {
      return answer->set_value(absl::OutOfRangeError(
          "seconds: the broker's clock would be more than 100 years ahead of the machine's; start the broker again"));
    }
    advances_.push_back({from + length.count(), answer});
    if (advances_.size() == 1) ContinueAdvance();
  });
  if (absl::Status status = answered.get(); !status.ok()) return status;
  return ReadClock();
}

// Goes from deadline to deadline; what one of them gives to the journal is
// durable before the next one fires, so that what follows from it, a redelivery
// and its lease, fires in its turn.
void Dispatcher::ContinueAdvance() {
  for (size_t fired = 0; !advances_.empty() && persisted_ >= awaited_; ++fired) {
    if (fired == kDeadlinesAtOnce) {
      strand_.Post([this] { ContinueAdvance(); });
      return;
    }
    // The machine's clock goes on meanwhile.
    const Instant target = Now() + Duration{advances_.front().ahead_ns - ahead_ns_.load()};
    const std::optional<Instant> next = broker_.NextDeadline();
    if (next.has_value() && *next <= target) {
      GoTo(*next);
      Actions actions;
      broker_.OnDeadline(Now(), actions);
      Perform(actions);
      continue;
    }
    ahead_ns_.store(advances_.front().ahead_ns, std::memory_order_relaxed);
    WriteHeld(Now());
    if (armed_.has_value()) timer_.Cancel(armed_->token);
    armed_.reset();
    Rearm();
    const std::shared_ptr<std::promise<absl::Status>> answer = std::move(advances_.front().answer);
    advances_.pop_front();
    answer->set_value(absl::OkStatus());
  }
}

// The broker's time becomes `then`, unless it is later already.
void Dispatcher::GoTo(Instant then) {
  const Duration further = then - Now();
  if (further > Duration{0}) ahead_ns_.fetch_add(further.count(), std::memory_order_relaxed);
}

void Dispatcher::RefuseAdvances() {
  for (const Advance& advance : advances_) advance.answer->set_value(absl::UnavailableError("The server is stopping."));
  advances_.clear();
}

}  // namespace hopgap::server
