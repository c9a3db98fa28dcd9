#pragma once

#include <cstdint>

namespace hopgap::broker {

// Test-only bugs, one at a time, each at the place where the real one would be.
// The fault world has to find every one of them (tests/faults), so a promise
// that no checker watches any more is noticed.
enum class Planted : uint8_t {
  kNone,
};

}  // namespace hopgap::broker
