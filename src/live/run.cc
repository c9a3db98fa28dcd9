#include "live/run.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/system_clock.h"
#include "base/text.h"
#include "lab/experiment.h"
#include "lab/schedule.h"
#include "live/driver.h"
#include "live/pace.h"
#include "live/resources.h"
#include "live/target_watch.h"
#include "loop/timer.h"
#include "remote/remote.h"
#include "server/grpc_server.h"
#include "stats/sample.h"
#include "store/memory_journal.h"
#include "trace/collector.h"

namespace hopgap::live {
namespace {

constexpr Duration kStreamsOpen{std::chrono::seconds{15}};  // for every stream's first response
constexpr Duration kServiceStreamsOpen{std::chrono::seconds{5}};
constexpr Duration kStopWait{std::chrono::seconds{3}};

class Session {
 public:
  explicit Session(Options options) : options_(std::move(options)) {}
  absl::StatusOr<Result> Run();

 private:
  absl::Status Prepare();
  absl::Status StartServer();
  absl::Status Connect();
  absl::Status MakeLab();
  void RemoveResources();
  absl::Status OpenStreams();
  void Measure();
  void Drain(Instant give_up);
  bool StopAsked();
  void EndEarly(std::string why);
  void LookAtTarget();
  Progress ReadProgress();
  void Report();
  void StopEverything();
  void ForgetSetUp();
  void FillHealth();

  Options options_;
  Result result_;
  Instant next_report_ = kNever;
  remote::Target target_;
  // In order of dependence: destroyed from the last to the first.
  loop::Timer timer_;
  store::MemoryJournal journal_;
  std::unique_ptr<server::GrpcServer> server_;
  std::unique_ptr<remote::Remote> remote_;
  std::unique_ptr<remote::Connection> setup_;
  std::unique_ptr<Resources> resources_;
  std::unique_ptr<TargetWatch> watch_;  // while somebody else's broker is measured
  std::unique_ptr<lab::Experiment> lab_;
  std::unique_ptr<Driver> driver_;
};

absl::Status Session::StartServer() {
  if (options_.target) {
    target_ = *options_.target;
    return absl::OkStatus();
  }
  server::GrpcServer::Options server;
  server.broker = options_.broker;
  server.broker.anchor = result_.anchor;
  server.planted_wire_delay = options_.planted_wire;
  absl::StatusOr<std::unique_ptr<server::GrpcServer>> started =
      server::GrpcServer::Start(std::move(server), journal_, *result_.broker_events, timer_);
  if (!started.ok()) return started.status();
  server_ = *std::move(started);
  target_ = server_->target();
  return absl::OkStatus();
}

// What an embedded broker holds goes with it.
void Session::RemoveResources() {
  if (!server_ && resources_) result_.not_removed = resources_->Remove();
}

absl::Status Session::Connect() {
  remote_ = std::make_unique<remote::Remote>();
  setup_ = remote_->Connect(target_);
  if (absl::Status status = setup_->WaitReady(kReachable); !status.ok()) return status;
  resources_ = std::make_unique<Resources>(*setup_, target_);
  return resources_->Make(lab::ResourcesOf(options_.lab), [this] { return StopAsked(); });
}

absl::Status Session::MakeLab() {
  driver_ = std::make_unique<Driver>(Driver::Options{.target = target_, .probe = options_.probe}, *remote_, timer_);
  absl::StatusOr<std::unique_ptr<lab::Experiment>> lab =
      lab::Experiment::Make(options_.lab, *result_.client_events, *driver_);
  if (!lab.ok()) return lab.status();
  lab_ = *std::move(lab);
  driver_->Adopt(*lab_);
  return absl::OkStatus();
}

absl::Status Session::Prepare() {
  result_.anchor = ReadAnchor();
  result_.places = std::make_unique<loop::PlaceTable>();
  result_.client_events = std::make_unique<loop::Recorder>(options_.client_events, *result_.places);
  result_.broker_events = std::make_unique<loop::Recorder>(options_.broker_events, *result_.places);
  if (absl::Status status = StartServer(); !status.ok()) return status;
  absl::Status status = Connect();
  if (status.ok()) status = MakeLab();
  if (!status.ok()) RemoveResources();
  return status;
}

absl::Status Session::OpenStreams() {
  // A broker deals messages to streams in the order of their opening: the lab's, as in the simulation.
  if (!target_.service()) {
    if (absl::Status status = driver_->ConnectAll(kStreamsOpen); !status.ok()) return status;
  }
  driver_->Run([this](Instant now, lab::Commands& out) { lab_->Start(now, out); });
  const Instant give_up = SteadyNow() + (target_.service() ? kServiceStreamsOpen : kStreamsOpen);
  while (!driver_->ready()) {
    if (StopAsked()) return absl::OkStatus();
    if (SteadyNow() > give_up) {
      // The service may say nothing on a stream before its first message.
      if (target_.service()) return absl::OkStatus();
      return absl::UnavailableError(StrCat("no StreamingPull response from ", target_.address, " within ",
                                           std::chrono::duration_cast<std::chrono::seconds>(kStreamsOpen).count(),
                                           " s; is it a Pub/Sub broker? hopgap serve starts one"));
    }
    std::this_thread::sleep_for(kPoll);
  }
  return absl::OkStatus();
}

bool Session::StopAsked() {
  if (result_.outcome.ended_early) return true;
  std::string why = options_.stop_asked ? options_.stop_asked() : "";
  if (why.empty()) {
    result_.failure = driver_ ? driver_->failure() : absl::OkStatus();
    if (result_.failure.ok()) result_.failure = remote::CheckAccess(target_);
    if (result_.failure.ok()) LookAtTarget();
    why = MessageOf(result_.failure);
  }
  if (why.empty()) return false;
  EndEarly(std::move(why));
  return true;
}

void Session::EndEarly(std::string why) {
  result_.outcome.ended_early = true;
  result_.outcome.ended_early_why = std::move(why);
}

// Only once calls fail: a question is load on the broker that is measured.
void Session::LookAtTarget() {
  const Instant failing = driver_ ? driver_->failing_since() : kNever;
  if (!watch_ || failing == kNever) return;
  result_.failure = watch_->Look(SteadyNow(), failing, result_.outcome.first);
}

// Counts are read on the strand; sorting the latenesses happens here, off it.
Progress Session::ReadProgress() {
  Progress progress;
  std::vector<std::vector<int64_t>> lateness, recent;
  progress.elapsed = std::max(Duration{0}, SteadyNow() - result_.outcome.first);
  driver_->Run([&](Instant, lab::Commands&) {
    const lab::Options& options = lab_->options();
    lateness.resize(options.groups.size());
    recent.resize(options.arms.size());
    for (const lab::Group& group : options.groups)
      progress.groups.push_back({group.name, {}, options.slots, Duration{0}});
    for (size_t arm = 0; arm < options.arms.size(); ++arm) {
      const auto group = static_cast<size_t>(options.arms[arm].group);
      const lab::ArmCounts& counts = lab_->counts(arm);
      progress.groups[group].arms.push_back(
          {options.arms[arm].name, counts.sent, counts.completed, counts.duplicates, 0, {}, {}});
      lab::AppendRecentHandled(lab_->ledger(), arm, counts.sent, kLatenessMax, kRecentMax, recent[arm]);
      lab::AppendSendLateness(lab_->ledger(), arm, counts.sent, kLatenessMax, lateness[group]);
    }
  });
  for (size_t group = 0; group < lateness.size(); ++group) progress.groups[group].SetLate(std::move(lateness[group]));
  size_t arm = 0;  // arms stand in order of their groups
  for (GroupProgress& group : progress.groups) {
    for (GroupProgress::Arm& one : group.arms) one.SetRecent(std::move(recent[arm++]));
  }
  return progress;
}

void Session::Report() {
  if (!options_.progress || SteadyNow() < next_report_) return;
  next_report_ += kReport;
  options_.progress(ReadProgress());
}

void Session::Measure() {
  ForgetSetUp();
  driver_->Run([&](Instant now, lab::Commands&) {
    result_.outcome.first = lab::FirstSlotFrom(now + kBeforeFirstSlot);
    result_.outcome.end = result_.outcome.first;
    lab_->Begin(result_.outcome.first);
  });
  next_report_ = result_.outcome.first + kReport;
  const lab::Options& lab = options_.lab;
  if (options_.target) {
    watch_ = std::make_unique<TargetWatch>(*setup_, target_.address, lab::TopicName(lab, lab.arms.front(), 1));
  }
  const Duration slots = lab::Schedule(lab.millihertz, lab.slots, lab.arrival).DueAfter(lab.slots - 1);
  Duration offset{0};
  for (const lab::Group& group : lab.groups) offset = std::max(offset, group.offset);
  Drain(result_.outcome.first + offset + slots + options_.drain);
  result_.outcome.end = SteadyNow();
  result_.last_progress = ReadProgress();
  FillHealth();
}

// Until everything settled, the drain is over, or somebody asks to end.
void Session::Drain(Instant give_up) {
  while (!driver_->finished() && SteadyNow() < give_up) {
    if (StopAsked()) {
      driver_->Run([this](Instant, lab::Commands&) { lab_->EndSending(); });
      return;
    }
    Report();
    std::this_thread::sleep_for(kPoll);
  }
  // What is missing is lost only if the target still answers.
  if (driver_->finished() || !watch_) return;
  result_.failure = watch_->LookLast(SteadyNow(), driver_->failing_since(), result_.outcome.first);
  if (!result_.failure.ok()) EndEarly(std::string(MessageOf(result_.failure)));
}

// Set-up opens every connection and stream at once; a stall of that is none of
// the run.
void Session::ForgetSetUp() {
  driver_->ForgetLongest();
  remote_->ForgetLongest();
  timer_.ForgetLongest();
  if (server_) server_->ForgetLongest();
}

void Session::FillHealth() {
  std::vector<std::pair<const char*, Duration>> loops = {{"client strand", driver_->figures().longest_task},
                                                         {"client poller", remote_->longest_poll_cycle()},
                                                         {"timer thread", timer_.figures().longest_callback}};
  if (server_) {
    const server::GrpcServer::Figures figures = server_->figures();
    loops.emplace_back("broker strand", figures.strand.longest_task);
    loops.emplace_back("server poller", figures.longest_poll_cycle);
  }
  lab::Health& health = result_.outcome.health;
  for (const auto& [name, longest] : loops) {
    if (longest <= health.loop_stall_max) continue;
    health.loop_stall_max = longest;
    health.loop_stalled = name;
  }
}

void Session::StopEverything() {
  if (driver_) {
    driver_->Run([this](Instant now, lab::Commands& out) { lab_->Stop(now, out); });
    const Instant give_up = SteadyNow() + kStopWait;
    while (!driver_->stopped() && SteadyNow() < give_up) std::this_thread::sleep_for(kPoll / 10);
  }
  RemoveResources();
  remote_->Shutdown();
  if (server_) {
    result_.broker = server_->counters();
    server_->Stop();
  }
  timer_.Stop();
}

absl::StatusOr<Result> Session::Run() {
  absl::Status status = Prepare();
  if (!status.ok()) return WithWhatIsLeft(status, result_.not_removed);
  if (!result_.outcome.ended_early) status = OpenStreams();
  if (status.ok() && !result_.outcome.ended_early) Measure();
  StopEverything();
  if (!status.ok()) return WithWhatIsLeft(status, result_.not_removed);
  result_.probes = driver_->TakeProbes();
  driver_->Release();
  lab::TakeBooks(*lab_, result_.outcome);
  if (watch_ && !watch_->answers() && !result_.failure.ok())
    lab::AddIncident(result_.outcome, MessageOf(result_.failure));
  result_.outcome.health.events_overflowed = result_.client_events->overflowed() + result_.broker_events->overflowed();
  result_.clock_drift = WallNow() - result_.anchor.ToWall(SteadyNow());
  return std::move(result_);
}

}  // namespace

void GroupProgress::SetLate(std::vector<int64_t> lateness) {
  if (lateness.empty()) return;
  const auto p99 = lateness.begin() + static_cast<ptrdiff_t>((lateness.size() - 1) * 99 / 100);
  std::nth_element(lateness.begin(), p99, lateness.end());
  late_p99 = Duration{*p99};
}

void GroupProgress::Arm::SetRecent(std::vector<int64_t> handled) {
  const stats::Sample sample(std::move(handled));
  recent_n = sample.n();
  if (sample.empty()) return;
  recent_p50 = Duration{sample.Quantile(stats::kP50)};
  recent_p99 = Duration{sample.Quantile(stats::kP99)};
}

absl::StatusOr<Result> Run(Options options) {
  Session session(std::move(options));
  return session.Run();
}

void FoldPaths(Result& result,
               const std::function<void(size_t arm, uint64_t slot, std::vector<trace::Span>&)>& message_spans) {
  trace::Collector collector(result.anchor);
  for (const trace::Place& place : result.places->Snapshot()) collector.AddPlace(place);
  for (const loop::Recorder* recorder : {result.client_events.get(), result.broker_events.get()}) {
    for (const trace::Event& event : recorder->events()) collector.Record(event);
  }
  const lab::Options& lab = result.outcome.options;
  result.outcome.paths.assign(lab.arms.size(), {});
  for (size_t arm = 0; arm < lab.arms.size(); ++arm) {
    for (uint64_t slot = 0; slot < result.outcome.arms[arm].counts.sent; ++slot) {
      std::function<void(std::vector<trace::Span>&)> take;
      if (message_spans) take = [&](std::vector<trace::Span>& spans) { message_spans(arm, slot, spans); };
      const auto [hi, lo] = lab::TraceIdOf(lab, arm, slot);
      std::vector<trace::Path> paths = collector.Fold(hi, lo, lab.hops, take);
      if (!paths.empty()) result.outcome.paths[arm].push_back(std::move(paths.front()));
    }
  }
}

}  // namespace hopgap::live
