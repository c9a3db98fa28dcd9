#pragma once

#include <string>

namespace hopgap::cli {

// SIGINT and SIGTERM ask; the second one of either ends the process at once.
// Install once, before threads start.
void InstallSignals();

// The signal that asked, or 0.
int StopSignal();

// Waits until a signal asks. Any thread.
void WaitForStopSignal();

// The name of the signal that asked, or empty.
std::string StopReason();

// "SIGINT (Ctrl-C)".
std::string SignalName(int signal);

}  // namespace hopgap::cli
