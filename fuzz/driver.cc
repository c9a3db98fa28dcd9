// Runs a fuzz target without libFuzzer: the seeds and every file given, then
// changed copies of them until N seconds of processor time are used up.
//
//   fuzz_NAME [--seconds N] [--seed S] [FILE…]
//
// The same seed gives the same inputs. The input being tried is written to
// fuzz-input in the working directory first, so that a crash leaves it there:
// give it as FILE to see the crash again.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz.h"

namespace hopgap::fuzz {
namespace {

constexpr char kInputFile[] = "fuzz-input";
constexpr size_t kBytesMax = 1 << 16;

// The input being tried, in a file. It stays open: a file that is emptied and
// closed anew for each input is written to the disk each time.
class Kept {
 public:
  Kept() : file_(open(kInputFile, O_CREAT | O_WRONLY | O_CLOEXEC, 0644)) {}
  ~Kept() { close(file_); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  bool Keep(const std::string& input) const {
    return pwrite(file_, input.data(), input.size(), 0) == static_cast<ssize_t>(input.size()) &&
           ftruncate(file_, static_cast<off_t>(input.size())) == 0;
  }

 private:
  int file_;
};

void Try(const std::string& input, const Kept& kept) {
  if (!kept.Keep(input)) {
    std::perror(kInputFile);
    std::exit(2);
  }
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

// An input that makes the target take memory without end is a finding, and not
// the end of everything else on the machine. The sanitizers need far more.
void LimitMemory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr rlim_t kBytes = rlim_t{2} << 30;
  const rlimit limit{.rlim_cur = kBytes, .rlim_max = kBytes};
  setrlimit(RLIMIT_DATA, &limit);
#endif
}

class Changer {
 public:
  explicit Changer(uint64_t seed) : engine_(seed) {}

  std::string Change(const std::vector<std::string>& corpus) {
    std::string input = corpus[Below(corpus.size())];
    for (size_t changes = 1 + Below(4); changes > 0; --changes) ChangeOnce(input, corpus[Below(corpus.size())]);
    if (input.size() > kBytesMax) input.resize(kBytesMax);
    return input;
  }

 private:
  size_t Below(size_t bound) { return bound == 0 ? 0 : engine_() % bound; }

  void ChangeOnce(std::string& input, const std::string& other) {
    static constexpr uint64_t kEdges[] = {0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0xffffffff, ~0ull, 1ull << 63};
    const size_t at = Below(input.size() + 1);
    switch (Below(7)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << Below(8)));
        return;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(engine_());
        return;
      case 2: input.insert(at, 1 + Below(8), static_cast<char>(engine_())); return;
      case 3: input.erase(at, 1 + Below(16)); return;
      case 4: input.resize(at); return;
      case 5: {
        const uint64_t edge = kEdges[Below(std::size(kEdges))];
        const size_t width = size_t{1} << Below(4);
        if (at + width <= input.size()) std::memcpy(input.data() + at, &edge, width);
        return;
      }
      default: input.replace(at, Below(32), other, Below(other.size()), Below(64)); return;
    }
  }

  std::mt19937_64 engine_;
};

int Run(int argc, char** argv) {
  uint64_t seconds = 1, seed = 1;
  std::vector<std::string> corpus = Seeds();
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if ((word == "--seconds" || word == "--seed") && i + 1 < argc) {
      (word == "--seed" ? seed : seconds) = std::strtoull(argv[++i], nullptr, 10);
      continue;
    }
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "%s: cannot be read\n", argv[i]);
      return 2;
    }
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  const Kept kept;
  for (const std::string& input : corpus) Try(input, kept);
  Changer changer(seed);
  uint64_t tried = 0;
  const auto end = std::clock() + static_cast<std::clock_t>(seconds) * CLOCKS_PER_SEC;
  while (std::clock() < end) {
    Try(changer.Change(corpus), kept);
    ++tried;
  }
  std::remove(kInputFile);
  std::printf("seed %llu: %zu given and %llu changed inputs, no crash\n", static_cast<unsigned long long>(seed),
              corpus.size(), static_cast<unsigned long long>(tried));
  return 0;
}

}  // namespace
}  // namespace hopgap::fuzz

int main(int argc, char** argv) {
  hopgap::fuzz::LimitMemory();
  return hopgap::fuzz::Run(argc, argv);
}
