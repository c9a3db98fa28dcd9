#pragma once

#include <absl/container/flat_hash_set.h>
#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "formats/run_folder.h"
#include "trace/span.h"

namespace hopgap::cli {

// A folder that fills with spans as they come. Each Take() is in the system's
// hands when it returns, so that a killed process loses nothing that a sender
// was told is there. Thread-safe.
class Collection {
 public:
  // Counted exactly up to these; beyond, the figure says "more than".
  struct Limits {
    size_t traces_max = 4'000'000;
    size_t services_max = 1'000;
  };

  Collection(formats::RunFolder folder, const Limits& limits) : limits_(limits), folder_(std::move(folder)) {}

  // Fails, for good, when the folder cannot be written.
  absl::Status Take(std::vector<trace::Span>& spans);

  struct Figures {
    uint64_t spans = 0, traces = 0;
    bool more_traces = false, more_services = false;
    std::map<std::string, uint64_t> spans_by_service;
    absl::Status status;  // of writing
  };
  Figures figures() const;

  // Requires: nobody takes any more.
  formats::RunFolder& folder() { return folder_; }

 private:
  const Limits limits_;
  mutable std::mutex mu_;
  formats::RunFolder folder_;
  absl::flat_hash_set<std::pair<uint64_t, uint64_t>> traces_;
  Figures figures_;  // without `traces`
};

}  // namespace hopgap::cli
