#pragma once

namespace hopgap::cli {

// Documented in docs/exit-codes.md and in --help. Never renumber.
enum ExitCode : int {
  kOk = 0,
  kInvalidRun = 2,        // the run ended, but its verdict is invalid
  kBadConfiguration = 3,  // a flag, a profile, a file that cannot be read
  kUnreachable = 4,       // the target does not answer
  kPortInUse = 5,
  kOutputUnwritable = 6,
  kUnfinished = 7,  // an arm was saturated: messages were unfinished after the drain
  kRefused = 8,     // the target's credentials are missing, expired or refused
  kQuota = 9,       // a quota of the service is used up
  kUnfit = 10,      // doctor: a check failed that has no code of its own
  kThresholdFailed = 11,
  kThresholdOpen = 12,  // a threshold is inconclusive: n is too small for it
  kPartial = 13,        // analyze: some spans could not be read; the figures are of the rest
  kInternal = 70,       // a bug of ours; please report it
  kInterrupted = 130,   // SIGINT ended it early; what completed was reported
  kTerminated = 143,    // SIGTERM, likewise
};

}  // namespace hopgap::cli
