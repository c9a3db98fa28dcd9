#include "live/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/system_clock.h"

namespace hopgap::tests {

Process::Process(const std::vector<std::string>& words, const std::string& directory,
                 const std::vector<std::string>& environment) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    if (chdir(directory.c_str()) != 0) _exit(126);
    unsetenv("PUBSUB_EMULATOR_HOST");
    for (const std::string& variable : environment) putenv(const_cast<char*>(variable.c_str()));
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  read_end_ = ends[0];
}

Process::~Process() {
  if (!ended_) {
    kill(pid_, SIGKILL);
    Wait();
  }
  close(read_end_);
}

void Process::Signal(int signal) { kill(pid_, signal); }

bool Process::ReadSome(Duration wait) {
  pollfd readable{.fd = read_end_, .events = POLLIN, .revents = 0};
  const auto ms = static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(wait).count());
  if (poll(&readable, 1, ms) <= 0) return true;
  char buffer[4096];
  const ssize_t count = read(read_end_, buffer, sizeof buffer);
  if (count <= 0) return false;
  output_.append(buffer, static_cast<size_t>(count));
  return true;
}

bool Process::WaitForText(const std::string& text, Duration limit) {
  const Instant give_up = SteadyNow() + limit;
  while (output_.find(text) == std::string::npos) {
    if (SteadyNow() > give_up || !ReadSome(std::chrono::milliseconds{100})) return false;
  }
  return true;
}

int Process::Wait(Duration limit) {
  const Instant give_up = SteadyNow() + limit;
  while (!ended_ && ReadSome(std::chrono::milliseconds{100})) {
    if (SteadyNow() > give_up) return -1;
  }
  if (!ended_) {
    int status = 0;
    waitpid(pid_, &status, 0);
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ended_ = true;
  }
  return code_;
}

}  // namespace hopgap::tests
