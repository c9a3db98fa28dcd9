#pragma once

#include <cstdint>
#include <string_view>

namespace hopgap::store {

// CRC-32C (Castagnoli) of `bytes`; `before` continues the sum of what came
// before them. By the processor's instruction where it has one.
uint32_t Crc32c(std::string_view bytes, uint32_t before = 0);

// The same by table, for other processors and for the test.
uint32_t Crc32cByTable(std::string_view bytes, uint32_t before = 0);

}  // namespace hopgap::store
