#pragma once

#include <memory>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class FormatterBase;
}

namespace hopgap::cli {

// The --help of all commands, in lines of at most 80 columns; the library does
// not break lines.
std::shared_ptr<CLI::FormatterBase> MakeHelp();

}  // namespace hopgap::cli
