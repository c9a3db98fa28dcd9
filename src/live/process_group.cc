#include "live/process_group.h"

#include <csignal>
#include <fstream>
#include <thread>
#include <utility>

#include "base/system_clock.h"
#include "base/text.h"

namespace hopgap::live {
namespace {

constexpr Duration kGroupPoll{std::chrono::milliseconds{20}};

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

absl::Status ProcessGroup::Start(Member member) {
  members_.push_back({.member = std::move(member), .child = nullptr, .started = SteadyNow()});
  return Launch(members_.back());
}

absl::Status ProcessGroup::Launch(Running& running) {
  absl::StatusOr<Child> child = Child::Start(running.member.start);
  if (!child.ok()) return child.status();
  running.child = std::make_unique<Child>(*std::move(child));
  running.started = SteadyNow();
  return absl::OkStatus();
}

std::string ProcessGroup::LastWords(const Running& running) {
  std::ifstream file(running.member.start.log_file);
  std::string line, last = "it wrote nothing";
  while (std::getline(file, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

absl::Status ProcessGroup::WaitReady(Instant give_up, const std::function<bool()>& stop) {
  for (Running& running : members_) {
    const auto problem = [&](std::string_view what) {
      return absl::UnavailableError(StrCat(running.member.name, " ", what, ": ", LastWords(running)));
    };
    for (;;) {
      if (const auto& ended = running.child->Poll()) return problem(StrCat("ended at its start (", *ended, ")"));
      const bool silent = running.member.ready_file.empty();
      if (silent || !FirstLine(running.member.ready_file).empty()) break;
      if (stop()) return absl::CancelledError("asked to end");
      if (SteadyNow() >= give_up) return problem("was not ready in time");
      std::this_thread::sleep_for(kGroupPoll);
    }
  }
  return absl::OkStatus();
}

void ProcessGroup::NoteEnd(const Running& running, const std::string& how, Instant at, bool started_again) {
  last_end_ = StrCat(running.member.name, " ended (", how, "): ", LastWords(running));
  if (ends_.size() >= kEndsKept) return;
  ends_.push_back({static_cast<size_t>(&running - members_.data()), at, last_end_, started_again});
}

void ProcessGroup::Tend(Instant now) {
  for (Running& running : members_) {
    const std::optional<std::string>& ended = running.child->Poll();
    if (!ended || now - running.started < kPause || !failure_.empty()) continue;
    NoteEnd(running, *ended, now, restarts_ < kRestartsMax);
    if (restarts_ >= kRestartsMax) {
      failure_ = StrCat("after ", restarts_, " starts in all ", last_end_);
      continue;
    }
    ++restarts_;
    if (absl::Status status = Launch(running); !status.ok()) failure_ = std::string(MessageOf(status));
  }
}

std::vector<std::string> ProcessGroup::Stop(Instant give_up) {
  std::vector<std::string> killed;
  for (Running& running : members_) {
    if (const std::optional<std::string>& ended = running.child->Poll()) {
      NoteEnd(running, *ended, SteadyNow(), false);
    } else {
      running.child->Signal(SIGTERM);
    }
  }
  for (Running& running : members_) {
    if (running.child->Wait(give_up)) continue;
    killed.push_back(running.member.name);
    running.child.reset();
  }
  members_.clear();
  return killed;
}

std::string ProcessGroup::ReadyText(size_t member) const { return FirstLine(members_[member].member.ready_file); }

}  // namespace hopgap::live
