#pragma once

#include <string>
#include <vector>

namespace hopgap::house {

// One breach of a house rule, and where.
struct Finding {
  std::string file;
  int line = 0;      // 0: the file as a whole
  std::string rule;  // a sentence that says what to do
};
using Findings = std::vector<Finding>;

}  // namespace hopgap::house
