#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hopgap::cli {

// The one of `known` that `word` was probably meant to be: at most one slip (a
// letter too many, too few, another one, two swapped) in three letters. Empty if
// there is none; the first of those that are equally near.
std::string Nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace hopgap::cli
