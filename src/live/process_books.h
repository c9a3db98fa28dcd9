#pragma once

#include <absl/status/status.h>

#include <functional>
#include <string>
#include <vector>

#include "base/time.h"
#include "lab/options.h"
#include "live/load.h"
#include "live/run.h"
#include "live/span_store.h"

namespace hopgap::live {

// What a run of processes left behind: the load's rows, the workers' ledgers,
// the spans that came.
struct ProcessBooks {
  const lab::Options& options;
  ClockAnchor anchor;
  std::string folder;
  const Load* load = nullptr;  // none: nothing was sent
  SpanStore& spans;
};

// A worker's ledger in the run's folder.
std::string LedgerFile(const std::string& folder, const std::string& arm, int hop);

// Fills the outcome's ledger, counts and paths. The broker's half of the spans
// comes from `result`'s events. InvalidArgument for a ledger that is none.
absl::Status FillOutcome(const ProcessBooks& books, Result& result,
                         const std::function<void(uint64_t slot, std::vector<trace::Span>&)>& message_spans);

}  // namespace hopgap::live
