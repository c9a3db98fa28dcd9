#include "cli/nearest.h"

#include <algorithm>

namespace hopgap::cli {
namespace {

constexpr size_t kLettersASlip = 3;

// Optimal string alignment.
size_t SlipsBetween(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> slips(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        slips[i][j] = i + j;
        continue;
      }
      const size_t other = slips[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      slips[i][j] = std::min({other, slips[i - 1][j] + 1, slips[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        slips[i][j] = std::min(slips[i][j], slips[i - 2][j - 2] + 1);
      }
    }
  }
  return slips[a.size()][b.size()];
}

}  // namespace

std::string Nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string nearest;
  size_t least = word.size() / kLettersASlip + 1;
  for (const std::string& name : known) {
    // Longer words than any name are not worth the table.
    if (word.size() > name.size() + least) continue;
    const size_t slips = SlipsBetween(word, name);
    if (slips >= least) continue;
    least = slips;
    nearest = name;
  }
  return nearest;
}

}  // namespace hopgap::cli
