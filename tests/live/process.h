#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/time.h"

namespace hopgap::tests {

// A child process with its output. Killed, if it still runs, when destroyed.
class Process {
 public:
  // Starts `words[0]` with the rest as arguments, in folder `directory`.
  Process(const std::vector<std::string>& words, const std::string& directory,
          const std::vector<std::string>& environment = {});
  ~Process();

  pid_t pid() const { return pid_; }
  void Signal(int signal);
  // Reads until standard output and error hold `text`; false if it ended or
  // `limit` passed without.
  bool WaitForText(const std::string& text, Duration limit);
  // The exit code, 128 + signal if it was killed, -1 when `limit` passed.
  int Wait(Duration limit = std::chrono::seconds{60});
  const std::string& output() const { return output_; }  // both streams

 private:
  bool ReadSome(Duration wait);

  pid_t pid_ = -1;
  int read_end_ = -1;
  bool ended_ = false;
  int code_ = -1;
  std::string output_;
};

// A command line and more of it.
inline std::vector<std::string> With(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace hopgap::tests
