#include "live/span_exporter.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/draw.h"
#include "base/system_clock.h"
#include "base/text.h"

namespace hopgap::live {
namespace {

constexpr int kDoublingsMax = 30;
constexpr Duration kCancelEvery = std::chrono::milliseconds{20};
constexpr size_t kHostNameMax = 256;

}  // namespace

Duration Backoff::Next(int attempt, uint64_t draw) const {
  const int doublings = std::min(attempt, kDoublingsMax);
  const Duration whole = first > most / (int64_t{1} << doublings) ? most : first * (int64_t{1} << doublings);
  const int64_t half = whole.count() / 2;
  return Duration{whole.count() - static_cast<int64_t>(draw % static_cast<uint64_t>(half + 1))};
}

absl::StatusOr<std::unique_ptr<SpanExporter>> SpanExporter::Start(const formats::OtelSettings& settings, Log log) {
  HOPGAP_CHECK(settings.enabled, "an exporter that is switched off is not started");
  auto transport = MakeOtlpTransport(settings);
  if (!transport.ok()) return transport.status();
  formats::OtelSettings own = settings;
  AddProcessAttributes(own.resource.attributes);
  return std::make_unique<SpanExporter>(std::move(own), *std::move(transport), std::move(log), Backoff());
}

SpanExporter::SpanExporter(formats::OtelSettings settings, std::unique_ptr<OtlpTransport> transport, Log log,
                           Backoff backoff)
    : settings_(std::move(settings)), transport_(std::move(transport)), log_(std::move(log)), backoff_(backoff) {
  thread_ = std::thread([this] { Run(); });
}

SpanExporter::~SpanExporter() { Stop(Duration{0}).IgnoreError(); }

void SpanExporter::Offer(std::vector<trace::Span> spans, std::optional<bool> parent_sampled) {
  const size_t offered = spans.size();
  std::erase_if(spans,
                [&](const trace::Span& span) { return !settings_.sampler.Keeps(span.trace_lo, parent_sampled); });
  const size_t kept = spans.size();
  size_t fitting = 0;
  {
    const std::lock_guard lock(mu_);
    figures_.unsampled += offered - kept;
    const uint64_t room = stopping_ ? 0 : settings_.batch.queued_spans_max - figures_.queued;
    fitting = std::min<size_t>(kept, room);
    figures_.queued += fitting;
    figures_.overflow += kept - fitting;
  }
  if (fitting == 0) return;
  spans.resize(fitting);  // what is dropped is freed outside the lock
  bool wanted = false;
  {
    const std::lock_guard lock(mu_);
    if (ended_) return;  // counted as failed with the rest
    wanted = queue_.empty();
    queue_.push_back(std::move(spans));
    queued_spans_ += fitting;
    accepted_ += fitting;
    wanted = wanted || BatchIsDue();
  }
  if (wanted) wake_.notify_one();
}

bool SpanExporter::BatchIsDue() const {
  return stopping_ || urgent_ > finished_ || queued_spans_ >= settings_.batch.batch_spans_max;
}

absl::Status SpanExporter::Flush(Duration patience) {
  std::unique_lock lock(mu_);
  const uint64_t until = accepted_;
  urgent_ = std::max(urgent_, until);
  wake_.notify_one();
  const auto done = [&] { return ended_ || finished_ >= until; };
  if (settled_.wait_for(lock, patience, done)) return absl::OkStatus();
  return absl::DeadlineExceededError(StrCat(figures_.queued, " spans are not sent yet: ",
                                            figures_.last_error.empty() ? "no error so far" : figures_.last_error));
}

absl::Status SpanExporter::Stop(Duration patience) {
  if (!thread_.joinable()) return absl::OkStatus();
  {
    const std::lock_guard lock(mu_);
    stopping_ = true;
  }
  absl::Status flushed = Flush(patience);
  std::unique_lock lock(mu_);
  abandon_ = true;
  wake_.notify_one();
  // A call may begin just after it was to be cancelled.
  while (!settled_.wait_for(lock, kCancelEvery, [this] { return ended_; })) {
    lock.unlock();
    transport_->Cancel();
    lock.lock();
  }
  lock.unlock();
  thread_.join();
  return flushed;
}

SpanExporter::Figures SpanExporter::figures() const {
  const std::lock_guard lock(mu_);
  return figures_;
}

void SpanExporter::Run() {
  std::unique_lock lock(mu_);
  while (!abandon_) {
    wake_.wait(lock, [this] { return abandon_ || !queue_.empty(); });
    wake_.wait_for(lock, settings_.batch.schedule_delay, [this] { return abandon_ || BatchIsDue(); });
    while (!queue_.empty() && !abandon_) {
      Chunks batch = TakeBatch();
      lock.unlock();
      SendBatch(std::move(batch));
      lock.lock();
      if (!BatchIsDue()) break;
    }
  }
  figures_.failed += figures_.queued;
  figures_.queued = 0;
  queue_.clear();
  ended_ = true;
  settled_.notify_all();
}

SpanExporter::Chunks SpanExporter::TakeBatch() {
  Chunks batch;
  for (size_t spans = 0; !queue_.empty() && spans < settings_.batch.batch_spans_max;) {
    spans += queue_.front().size();
    queued_spans_ -= queue_.front().size();
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return batch;
}

void SpanExporter::SendBatch(Chunks chunks) {
  std::vector<trace::Span> spans;
  for (std::vector<trace::Span>& chunk : chunks) std::move(chunk.begin(), chunk.end(), std::back_inserter(spans));
  const formats::OtlpRequestLimits limits{.spans_max = settings_.batch.batch_spans_max};
  for (const formats::OtlpRequest& request : formats::EncodeOtlpRequests(spans, settings_.resource, limits)) {
    SendRequest(request);
  }
}

void SpanExporter::SendRequest(const formats::OtlpRequest& request) {
  const Instant give_up = SteadyNow() + settings_.batch.export_timeout;
  for (int attempt = 0;; ++attempt) {
    const Duration left = give_up - SteadyNow();
    OtlpOutcome outcome = transport_->Send(request.bytes, std::max(Duration{1}, std::min(settings_.timeout, left)));
    if (!outcome.message.empty()) Note(outcome.message);
    if (outcome.kind != OtlpOutcome::Kind::kTryAgain || !WaitAgain(outcome, attempt, give_up)) {
      return Settle(outcome, request.spans);
    }
  }
}

// False if there is no time for another try, or no wish.
bool SpanExporter::WaitAgain(const OtlpOutcome& outcome, int attempt, Instant give_up) {
  const Duration own = backoff_.Next(attempt, Mix(static_cast<uint64_t>(ToNanos(SteadyNow())), draws_++));
  const Duration wait = std::max(own, outcome.wait.value_or(Duration{0}));
  if (SteadyNow() + wait >= give_up) return false;
  std::unique_lock lock(mu_);
  if (wake_.wait_for(lock, wait, [this] { return abandon_; })) return false;
  ++figures_.retries;
  return true;
}

void SpanExporter::Settle(const OtlpOutcome& outcome, size_t spans) {
  const std::lock_guard lock(mu_);
  figures_.queued -= spans;
  finished_ += spans;
  if (outcome.kind == OtlpOutcome::Kind::kTaken) {
    const uint64_t rejected = std::min<uint64_t>(spans, static_cast<uint64_t>(outcome.rejected_spans));
    figures_.rejected += rejected;
    figures_.sent += spans - rejected;
  } else {
    figures_.failed += spans;
  }
  settled_.notify_all();
}

void SpanExporter::Note(const std::string& problem) {
  {
    const std::lock_guard lock(mu_);
    if (figures_.last_error == problem) return;
    figures_.last_error = problem;
  }
  if (log_) log_(StrCat("spans to ", settings_.origin, ": ", problem));
}

void AddProcessAttributes(trace::Attributes& attributes) {
  char host[kHostNameMax] = {};
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  const int64_t pid = getpid();
  const auto add = [&](const char* key, trace::AttributeValue value) {
    const bool given = std::any_of(attributes.begin(), attributes.end(), [&](const auto& a) { return a.first == key; });
    if (!given) attributes.emplace_back(key, std::move(value));
  };
  add("host.name", std::string(host));
  add("process.pid", pid);
  add("service.instance.id", StrCat(std::string_view(host), ":", pid));
}

}  // namespace hopgap::live
