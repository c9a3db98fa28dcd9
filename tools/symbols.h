#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/finding.h"

namespace hopgap::house {

// Reads what `nm -A -u` says about the archive of a deciding room, and reports
// every undefined symbol that would let it read a clock, start a thread, draw
// true randomness, look at the environment, or touch a socket or a file: what
// an include check cannot see, because <chrono> or <cstdlib> are harmless.
// Object files named in `exempt` ("system_clock.cc.o") are not looked at.
Findings CheckSymbols(std::string_view nm_output, const std::vector<std::string>& exempt);

// Why the undefined symbol is forbidden; empty if it is not.
std::string_view WhyForbidden(std::string_view symbol);

}  // namespace hopgap::house
