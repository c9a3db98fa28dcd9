#pragma once

#include <filesystem>

#include "tools/finding.h"

namespace hopgap::house {

// Files of a room compile as one (docs/adr/0007). Reports constants of an
// unnamed namespace, in src/*/*.cc, with the name of one that a header of the
// room or of src/base gives to all: the neighbours in the unit would take it
// for the header's, without a word from the compiler. Names in namespaces
// within the room's are left alone.
Findings CheckNames(const std::filesystem::path& root);

}  // namespace hopgap::house
