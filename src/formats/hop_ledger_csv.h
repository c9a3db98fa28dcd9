#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "lab/hop_ledger.h"

namespace hopgap::formats {

// "unix_nano,what,hop,slot,message_id,delivery,ok": the first line of a worker's
// ledger file.
std::string HopLedgerHeader();
void AppendHopLine(const lab::HopLine& line, std::string& out);

// A file that a killed process wrote may end within a line: that one is left
// out. InvalidArgument naming file and line for anything else.
absl::StatusOr<std::vector<lab::HopLine>> ReadHopLedger(const std::string& path);

}  // namespace hopgap::formats
