#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/draw.h"
#include "pubsub/bytes.h"

// For this room's tests only.
namespace hopgap::pubsub {

// Golden bytes as one writes them by hand: pairs of hex digits, 'text', and
// spaces. Wire("0a 03 'abc' 10 01").
inline std::string Wire(std::string_view notation) {
  const auto digit = [](char c) { return static_cast<int>(std::string_view("0123456789abcdef").find(c)); };
  std::string out;
  for (size_t i = 0; i < notation.size();) {
    if (notation[i] == ' ') {
      ++i;
    } else if (notation[i] == '\'') {
      const size_t end = notation.find('\'', i + 1);
      out.append(notation.substr(i + 1, end - i - 1));
      i = end + 1;
    } else {
      out.push_back(static_cast<char>(digit(notation[i]) * 16 + digit(notation[i + 1])));
      i += 2;
    }
  }
  return out;
}

// A copy of `text` that ends where a page ends that nobody may touch: reading a
// byte past it ends the test, in every build type.
inline Bytes Guarded(std::string_view text) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t pages = text.size() / page + 1;
  const size_t mapped = (pages + 1) * page;
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  HOPGAP_CHECK(memory != MAP_FAILED, "no memory for a guarded copy");
  std::shared_ptr<char> owner(static_cast<char*>(memory), [mapped](char* begin) { munmap(begin, mapped); });
  char* end = owner.get() + pages * page;
  HOPGAP_CHECK(mprotect(end, page, PROT_NONE) == 0, "the guard page stayed open");
  if (!text.empty()) std::memcpy(end - text.size(), text.data(), text.size());
  return Bytes(owner, {end - text.size(), text.size()});
}

// Whether `part` looks at bytes of `whole`.
inline bool Inside(std::string_view part, std::string_view whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

// A test's randomness: HOPGAP_SEED, else 1. Print it with SCOPED_TRACE.
inline uint64_t TestSeed() {
  const char* text = std::getenv("HOPGAP_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

class TestDraws {
 public:
  explicit TestDraws(uint64_t seed) : seed_(seed) {}
  uint64_t Next() { return Mix(seed_, ++count_); }
  size_t Below(size_t limit) { return static_cast<size_t>(Next() % limit); }

 private:
  uint64_t seed_;
  uint64_t count_ = 0;
};

}  // namespace hopgap::pubsub
