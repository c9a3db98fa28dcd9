#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/time.h"
#include "formats/otel_settings.h"
#include "live/otlp_transport.h"
#include "trace/span.h"

namespace hopgap::live {

// How long to wait before the next try: doubled from try to try, up to a limit,
// and shortened by up to a half so that many exporters do not knock at once.
struct Backoff {
  Duration first = std::chrono::seconds{1};
  Duration most = std::chrono::seconds{30};
  // `attempt` counts from 0; `draw` is any 64-bit word.
  Duration Next(int attempt, uint64_t draw) const;
};

// Sends finished spans by OTLP, in batches, from a thread of its own. Offering
// never waits for the network: it moves spans into a bounded queue, and what
// does not fit is dropped and counted.
//
// A failed batch is tried again as OTLP says (which errors, Retry-After,
// RetryInfo), for OTEL_BSP_EXPORT_TIMEOUT in all; then it is dropped and counted.
//
// Offer(), Flush() and figures() are for any thread; Stop() and the destructor
// for one.
class SpanExporter {
 public:
  // A problem in words: once for each, not for each batch. On the exporter's thread.
  using Log = std::function<void(const std::string&)>;

  // Requires: settings.enabled. Fails as MakeOtlpTransport() does; a receiver that
  // is not there yet is no failure.
  static absl::StatusOr<std::unique_ptr<SpanExporter>> Start(const formats::OtelSettings& settings, Log log);
  SpanExporter(formats::OtelSettings settings, std::unique_ptr<OtlpTransport> transport, Log log, Backoff backoff);
  ~SpanExporter();  // Stop() without patience

  // Takes the spans whose traces the sampler keeps, as many as the queue has room
  // for. `parent_sampled` is what a caller was told about the trace (the flag of a
  // traceparent), if anything.
  void Offer(std::vector<trace::Span> spans, std::optional<bool> parent_sampled = std::nullopt);

  // Waits until everything offered so far is sent or given up. DeadlineExceeded,
  // saying how much is left, after `patience`.
  absl::Status Flush(Duration patience);

  // Flush(), then the end: what is left is dropped and counted. Idempotent.
  absl::Status Stop(Duration patience);

  // Every span that was offered is in one of the first six.
  struct Figures {
    uint64_t unsampled = 0;  // the sampler's choice
    uint64_t queued = 0;     // waiting or on their way
    uint64_t sent = 0;       // taken by the receiver
    uint64_t rejected = 0;   // by the receiver, in a request that it took
    uint64_t overflow = 0;   // the queue was full
    uint64_t failed = 0;     // refused, or given up
    uint64_t retries = 0;    // requests sent again
    std::string last_error;
    uint64_t dropped() const { return overflow + failed; }
  };
  Figures figures() const;

 private:
  using Chunks = std::deque<std::vector<trace::Span>>;
  void Run();
  bool BatchIsDue() const;
  Chunks TakeBatch();
  void SendBatch(Chunks chunks);
  void SendRequest(const formats::OtlpRequest& request);
  bool WaitAgain(const OtlpOutcome& outcome, int attempt, Instant give_up);
  void Settle(const OtlpOutcome& outcome, size_t spans);
  void Note(const std::string& problem);

  const formats::OtelSettings settings_;
  const std::unique_ptr<OtlpTransport> transport_;
  const Log log_;
  const Backoff backoff_;
  uint64_t draws_ = 0;  // the exporter's thread

  mutable std::mutex mu_;
  std::condition_variable wake_;     // the exporter's thread
  std::condition_variable settled_;  // who flushes
  Chunks queue_;                     // mu_, like all below
  size_t queued_spans_ = 0;          // in queue_; Figures::queued counts those on their way in and out too
  uint64_t accepted_ = 0;            // into queue_, ever
  uint64_t finished_ = 0;            // of those: sent, rejected or failed
  uint64_t urgent_ = 0;              // accepted spans up to here are not waited for
  bool stopping_ = false;            // nothing is taken any more
  bool abandon_ = false;             // nothing is sent any more
  bool ended_ = false;               // the thread is done
  Figures figures_;
  std::thread thread_;
};

// The attributes of this process that are not set: host.name, process.pid,
// service.instance.id.
void AddProcessAttributes(trace::Attributes& attributes);

}  // namespace hopgap::live
