#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace hopgap {
inline namespace base {

void CheckFailed(const char* file, int line, const char* condition, const char* why) {
  std::fprintf(stderr, "%s:%d: check failed: %s: %s\n", file, line, condition, why);
  std::abort();
}

}  // namespace base
}  // namespace hopgap
