#pragma once

#include <absl/status/statusor.h>

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "formats/run_folder.h"
#include "formats/run_json.h"
#include "lab/verdict.h"
#include "trace/build.h"

namespace hopgap::cli {

// "runs/2026-01-02T03-04-05", by the wall clock in UTC; where that is there already,
// the first of …-2, …-3 that is not.
std::string DefaultFolder();
formats::Machine ReadMachine();

// Which messages' spans are written: all, none or N of an arm's slots, chosen
// by a keyed permutation, the same slots in every arm.
class SpanSample {
 public:
  SpanSample(const SpanChoice& choice, uint64_t seed, uint64_t slots, size_t arms);
  bool Takes(uint64_t slot) const;
  bool all() const { return per_arm_ == slots_; }
  bool none() const { return per_arm_ == 0; }
  uint64_t messages() const { return per_arm_ * arms_; }
  uint64_t total() const { return slots_ * arms_; }

 private:
  uint64_t seed_, slots_, arms_, per_arm_;
};

// The run folder of one run in the making. Does nothing when none is wanted.
class Folder {
 public:
  // Fails early if the place cannot be written.
  static absl::StatusOr<Folder> Create(const RunOptions& options);

  // Keeps the first failure; Commit() returns it.
  void AddSpans(std::vector<trace::Span>& spans);
  void AddRpcSpans(std::span<const trace::Event> events, const trace::SpanContext& context);
  void AddLedger(const lab::Outcome& outcome);
  void Add(std::string_view file, std::string_view text);
  absl::StatusOr<std::vector<std::pair<std::string, uint64_t>>> Commit();

  bool wanted() const { return folder_.has_value(); }
  std::string path() const { return folder_ ? folder_->path() : std::string(); }

 private:
  void Flush(bool all);

  std::optional<formats::RunFolder> folder_;
  std::string buffer_;
  absl::Status status_;
};

}  // namespace hopgap::cli
