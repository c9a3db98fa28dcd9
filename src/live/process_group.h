#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "live/child.h"

namespace hopgap::live {

// Processes that are kept running: one that ends before it is asked to is
// started again, and counted. For one thread.
class ProcessGroup {
 public:
  // Starts again, in all; beyond it the group gives up, and failure() says so.
  static constexpr uint64_t kRestartsMax = 10'000;
  // A process that ends sooner than this after its start is given this long
  // before the next.
  static constexpr Duration kPause{std::chrono::milliseconds{500}};

  // Ends that ends() describes; the rest are counted.
  static constexpr size_t kEndsKept = 1000;

  struct Member {
    std::string name;  // for people: "eos hop 2"
    Child::Options start;
    std::string ready_file;  // that it writes once it is ready; empty: it does not say
  };

  // One that ended unasked.
  struct End {
    size_t member = 0;
    Instant at{};      // when it was seen
    std::string what;  // "worker 2 of eos ended (signal 9): last line of its log"
    bool started_again = false;
  };

  // Starts it. Unavailable if that is not possible.
  absl::Status Start(Member member);

  // Until every ready file is there. Unavailable naming the process and the last
  // line of its log if `give_up` comes first or one ended; Cancelled when `stop`
  // says so.
  absl::Status WaitReady(Instant give_up, const std::function<bool()>& stop);

  // Starts again what has ended. Call it often.
  void Tend(Instant now);

  // SIGTERM to all, in order, and SIGKILL to what still runs at `give_up`. What
  // had ended before is noted first. Returns the names of those.
  std::vector<std::string> Stop(Instant give_up);

  // Once WaitReady() said so: what a member wrote to its ready file.
  std::string ReadyText(size_t member) const;
  size_t size() const { return members_.size(); }
  pid_t pid(size_t member) const { return members_[member].child->pid(); }
  uint64_t restarts() const { return restarts_; }
  // In order, the first kEndsKept of them; also after Stop().
  const std::vector<End>& ends() const { return ends_; }
  // The newest of all, whether kept or not; empty if there was none.
  const std::string& last_end() const { return last_end_; }
  const std::string& failure() const { return failure_; }  // empty: all is well

 private:
  struct Running {
    Member member;
    std::unique_ptr<Child> child;
    Instant started;
  };
  absl::Status Launch(Running& running);
  static std::string LastWords(const Running& running);
  void NoteEnd(const Running& running, const std::string& how, Instant at, bool started_again);

  std::vector<Running> members_;
  uint64_t restarts_ = 0;
  std::vector<End> ends_;
  std::string failure_, last_end_;
};

}  // namespace hopgap::live
