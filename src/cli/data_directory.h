#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>

#include "base/draw.h"
#include "broker/broker.h"
#include "store/disk_journal.h"

namespace hopgap::cli {

// The journal of a directory that is given with --data; made if it is not there.
// A disk that fails later ends the program, with kOutputUnwritable and a message:
// what was answered is safe, and nothing more may be.
//
// FailedPrecondition or DataLoss, naming directory, file and offset, as the
// journal says it.
absl::StatusOr<std::unique_ptr<store::DiskJournal>> OpenData(const std::string& directory, HashKey fresh_key);

// One line about what was written, and whether a lease ever waited for the disk.
std::string DescribeJournal(const store::DiskJournal::Figures& figures, const broker::Counters& counters);

}  // namespace hopgap::cli
