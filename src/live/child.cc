#include "live/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "base/system_clock.h"
#include "base/text.h"

namespace hopgap::live {
namespace {

constexpr Duration kChildPoll{std::chrono::milliseconds{5}};
constexpr int kNotFound = 127;  // as shells say it

std::vector<std::string> EnvironmentOf(const std::map<std::string, std::string>& more) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string name(text.substr(0, text.find('=')));
    if (text.substr(0, 7) == "HOPGAP_" || text.substr(0, 5) == "OTEL_" || more.count(name) > 0) continue;
    all.emplace_back(text);
  }
  for (const auto& [name, value] : more) all.push_back(StrCat(name, "=", value));
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// After fork(), in the child: system calls alone, no memory is taken.
[[noreturn]] void Become(char** arguments, char** environment, int log, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kNotFound);  // it died before that
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  execve(arguments[0], arguments, environment);
  _exit(kNotFound);
}

}  // namespace

absl::StatusOr<Child> Child::Start(const Options& options) {
  std::vector<std::string> command = options.command, variables = EnvironmentOf(options.environment);
  const std::vector<char*> arguments = Pointers(command), environment = Pointers(variables);
  const int log = open(options.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) return absl::UnavailableError(StrCat(options.log_file, ": ", std::strerror(errno)));
  const pid_t parent = getpid(), pid = fork();
  if (pid == 0) Become(const_cast<char**>(arguments.data()), const_cast<char**>(environment.data()), log, parent);
  close(log);
  if (pid < 0) return absl::UnavailableError(StrCat(options.command.front(), ": ", std::strerror(errno)));
  return Child(pid);
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), ended_(std::move(other.ended_)), status_(other.status_) {}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    Kill();
    pid_ = std::exchange(other.pid_, -1);
    ended_ = std::move(other.ended_);
    status_ = other.status_;
  }
  return *this;
}

Child::~Child() { Kill(); }

void Child::Kill() {
  if (pid_ < 0 || Poll()) return;
  Signal(SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void Child::Signal(int signal) const {
  if (pid_ > 0 && !ended_) kill(pid_, signal);
}

const std::optional<std::string>& Child::Poll() {
  if (ended_ || pid_ < 0) return ended_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return ended_;
  status_ = status;
  ended_ = WIFSIGNALED(status) ? StrCat("signal ", WTERMSIG(status)) : StrCat("exit status ", WEXITSTATUS(status));
  return ended_;
}

bool Child::Wait(Instant give_up) {
  while (!Poll()) {
    if (SteadyNow() >= give_up) return false;
    std::this_thread::sleep_for(kChildPoll);
  }
  return true;
}

}  // namespace hopgap::live
