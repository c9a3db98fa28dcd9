#pragma once

#include <absl/status/statusor.h>

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace hopgap::live {

// A process that we started. It gets SIGTERM when we die, whatever kills us, and
// a process group of its own, so that Ctrl-C reaches us alone and we end it in
// our order.
//
// For one thread.
class Child {
 public:
  struct Options {
    std::vector<std::string> command;  // the program's path, then its arguments
    // Set besides what we have; what of ours begins with HOPGAP_ or OTEL_ is not
    // handed on.
    std::map<std::string, std::string> environment;
    std::string log_file;  // of its standard output and error; appended to
  };
  // Unavailable, with the system's word, if it cannot be started. A command that
  // is not there ends with status 127.
  static absl::StatusOr<Child> Start(const Options& options);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();  // SIGKILL, if it still runs

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // How it ended ("exit status 3", "signal 9"), or nullopt while it runs.
  const std::optional<std::string>& Poll();
  bool ended_well() const { return status_ == 0; }
  // Waits for the end until `give_up`. False if it still runs.
  bool Wait(Instant give_up);

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  void Kill();

  pid_t pid_ = -1;
  std::optional<std::string> ended_;
  int status_ = -1;
};

}  // namespace hopgap::live
