#pragma once

#include <string_view>

namespace hopgap::formats {

// web/dist/report.html, as text.
std::string_view PageTemplate();

}  // namespace hopgap::formats
