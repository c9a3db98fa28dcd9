#pragma once

#include <filesystem>

#include "tools/finding.h"

namespace hopgap::house {

// Reads every #include below `root`/src and the hopgap_module() of every room,
// and reports what a room may not see. Headers are system-wide on Debian, so an
// include whose library is not linked would still compile; this check is what
// keeps gRPC out of `broker`.
//
// A room sees itself and the rooms in the closure of its DEPS (its tests, which
// are foo_test.cc, foo_testing.h and test_foo.h: of their TEST_DEPS too). Third-party headers, threads, files, sockets and the
// clock are open to the rooms that layers.cc lists and to no other; a header
// that it does not know is refused, so that a new dependency is a decision.
Findings CheckLayers(const std::filesystem::path& root);

// foo_test.cc, and the headers that only tests include: foo_testing.h, test_foo.h.
bool IsTest(const std::filesystem::path& file);

}  // namespace hopgap::house
