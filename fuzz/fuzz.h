#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// What a fuzz target is: it takes any bytes and returns 0, or the process dies.
// libFuzzer calls it, and so does fuzz/driver.cc, which any compiler builds.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace hopgap::fuzz {

// Good inputs, which the driver changes. Written beside the target.
std::vector<std::string> Seeds();

}  // namespace hopgap::fuzz
