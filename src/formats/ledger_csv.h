#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace hopgap::formats {

// A line of a run's ledger: lab's own book, stamped by its own clock reads.
// kNever: has not happened (an empty cell).
struct LedgerLine {
  std::string arm;
  uint64_t slot = 0;
  int hop = 0;
  Instant due = kNever, publish_call = kNever, handler_entry = kNever, handler_return = kNever;
  friend bool operator==(const LedgerLine&, const LedgerLine&) = default;
};

// "arm,slot,hop,due_ns,publish_call_ns,handler_entry_ns,handler_return_ns": the
// first line of the file. Instants are of the run's steady clock.
std::string LedgerHeader();
// Quotes the arm's name where CSV asks for it.
void AppendLedgerLine(const LedgerLine& line, std::string& out);

// InvalidArgument naming file and line for anything else than the above.
absl::StatusOr<std::vector<LedgerLine>> ReadLedger(const std::string& path);

}  // namespace hopgap::formats
