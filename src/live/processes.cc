#include "live/processes.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "base/system_clock.h"
#include "base/text.h"
#include "lab/schedule.h"
#include "live/load.h"
#include "live/pace.h"
#include "live/process_books.h"
#include "live/process_group.h"
#include "live/resources.h"
#include "live/span_store.h"
#include "live/station.h"
#include "live/target_watch.h"
#include "loop/timer.h"
#include "pubsub/message.h"
#include "remote/remote.h"
#include "server/grpc_server.h"
#include "server/otlp_receiver.h"
#include "store/memory_journal.h"

namespace hopgap::live {
namespace {

using TakeSpans = std::function<void(uint64_t slot, std::vector<trace::Span>&)>;

constexpr Duration kAllReady{std::chrono::seconds{30}};
constexpr Duration kEnd{std::chrono::seconds{30}};      // as docs/worker-contract.md gives
constexpr Duration kEndAlone{std::chrono::seconds{3}};  // without a target nothing can be finished
constexpr uint64_t kEndsAtStartMax = 3;                 // then it is no accident
// How often a process sends its spans: an end that is not seen for longer would
// lengthen every run.
constexpr int kSpanDelayMs = 500;
constexpr size_t kEndsSaid = 5;  // of an arm, one by one; the rest are counted

std::string ShortId(const std::string& name) { return name.substr(name.rfind('/') + 1); }

class ProcessRun {
 public:
  explicit ProcessRun(ProcessesOptions options)
      : program_(std::move(options.program)), folder_(std::move(options.folder)), options_(std::move(options.run)) {
    if (options_.target) target_ = *options_.target;
  }
  absl::StatusOr<Result> Run(const TakeSpans& message_spans);

 private:
  absl::Status Prepare();
  absl::Status StartBroker();
  absl::Status StartCollector();
  absl::Status StartProcesses();
  absl::Status WaitReady();
  ProcessGroup::Member ApiOf(size_t arm) const;
  ProcessGroup::Member WorkerOf(size_t arm, int hop) const;
  ProcessGroup::Member MemberOf(size_t arm, int hop) const;
  absl::Status StartLoad();
  void Measure();
  bool Finished() const;
  bool StopAsked();
  Progress ReadProgress() const;
  bool TargetGone();
  void EndWith(absl::Status failure);
  void StopEverything();
  void SayEnds();

  const std::string program_, folder_;
  Options options_;
  remote::Target target_;
  Result result_;
  loop::Timer timer_;
  store::MemoryJournal journal_;
  std::unique_ptr<server::GrpcServer> server_;
  std::unique_ptr<SpanStore> spans_;
  std::unique_ptr<server::OtlpReceiver> receiver_;
  std::unique_ptr<remote::Remote> remote_;
  std::unique_ptr<remote::Connection> setup_;
  std::unique_ptr<Resources> resources_;
  std::unique_ptr<TargetWatch> watch_;  // while somebody else's broker is measured
  ProcessGroup group_;
  std::vector<size_t> apis_;    // by arm, in group_
  std::vector<size_t> arm_of_;  // by member of group_
  std::unique_ptr<Load> load_;
};

absl::Status ProcessRun::StartBroker() {
  if (options_.target) return absl::OkStatus();
  server::GrpcServer::Options server;
  server.broker = options_.broker;
  server.broker.anchor = result_.anchor;
  absl::StatusOr<std::unique_ptr<server::GrpcServer>> started =
      server::GrpcServer::Start(std::move(server), journal_, *result_.broker_events, timer_);
  if (!started.ok()) return started.status();
  server_ = *std::move(started);
  target_ = server_->target();
  return absl::OkStatus();
}

absl::Status ProcessRun::StartCollector() {
  std::set<std::string> last;
  for (const lab::ArmSpec& arm : options_.lab.arms) {
    last.insert(ShortId(lab::SubscriptionName(options_.lab, arm, options_.lab.hops)));
  }
  spans_ = std::make_unique<SpanStore>(std::move(last));
  absl::StatusOr<std::unique_ptr<server::OtlpReceiver>> receiver =
      server::OtlpReceiver::Start({.grpc_port = 0, .http_port = 0}, [this](std::vector<trace::Span>& spans) {
        spans_->Add(std::move(spans));
        return absl::OkStatus();
      });
  if (!receiver.ok()) return receiver.status();
  receiver_ = *std::move(receiver);
  return absl::OkStatus();
}

absl::Status ProcessRun::Prepare() {
  result_.anchor = ReadAnchor();
  result_.places = std::make_unique<loop::PlaceTable>();
  result_.client_events = std::make_unique<loop::Recorder>(1, *result_.places);
  result_.broker_events = std::make_unique<loop::Recorder>(options_.broker_events, *result_.places);
  if (absl::Status status = StartBroker(); !status.ok()) return status;
  if (absl::Status status = StartCollector(); !status.ok()) return status;
  remote_ = std::make_unique<remote::Remote>();
  setup_ = remote_->Connect(target_);
  if (absl::Status status = setup_->WaitReady(kReachable); !status.ok()) return status;
  resources_ = std::make_unique<Resources>(*setup_, target_);
  return resources_->Make(lab::ResourcesOf(options_.lab), [this] { return StopAsked(); });
}

// What api and worker, ours and others', are told.
ProcessGroup::Member ProcessRun::MemberOf(size_t arm, int hop) const {
  const lab::ArmSpec& spec = options_.lab.arms[arm];
  const std::string name = StrCat(spec.name, hop == 0 ? "-api" : StrCat("-hop", hop));
  ProcessGroup::Member member;
  member.name = hop == 0 ? StrCat("the API of ", spec.name) : StrCat("worker ", hop, " of ", spec.name);
  member.start.log_file = StrCat(folder_, "/", name, ".log");
  member.ready_file = StrCat(folder_, "/", name, ".ready");
  member.start.environment = {// Empty counts as not set, for official clients too.
                              {"PUBSUB_EMULATOR_HOST", target_.tls ? "" : target_.address},
                              {"HOPGAP_TARGET", target_.text},
                              {"HOPGAP_ENDPOINT", target_.service() ? target_.address : ""},
                              {"HOPGAP_CA_FILE", target_.ca_file},
                              {"HOPGAP_CLIENT_CERT", target_.certificate_file},
                              {"HOPGAP_CLIENT_KEY", target_.key_file},
                              {"HOPGAP_TOKEN_FILE", target_.token_file},
                              {"HOPGAP_CLOCK_ANCHOR", AnchorText(result_.anchor)},
                              {"HOPGAP_CLIENT", spec.worker.empty() ? spec.model : "go"},
                              {"HOPGAP_ARM", spec.name},
                              {"HOPGAP_READY_FILE", member.ready_file},
                              {"OTEL_EXPORTER_OTLP_ENDPOINT", StrCat("http://127.0.0.1:", receiver_->grpc_port())},
                              {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
                              {"OTEL_BSP_SCHEDULE_DELAY", StrCat(kSpanDelayMs)},
                              {"OTEL_SERVICE_NAME", name}};
  return member;
}

ProcessGroup::Member ProcessRun::ApiOf(size_t arm) const {
  ProcessGroup::Member member = MemberOf(arm, 0);
  member.start.command = {program_, "api"};
  member.start.environment["HOPGAP_TOPIC"] = lab::TopicName(options_.lab, options_.lab.arms[arm], 1);
  member.start.environment["HOPGAP_LISTEN"] = "127.0.0.1:0";
  return member;
}

ProcessGroup::Member ProcessRun::WorkerOf(size_t arm, int hop) const {
  const lab::Options& lab = options_.lab;
  const lab::ArmSpec& spec = lab.arms[arm];
  ProcessGroup::Member member = MemberOf(arm, hop);
  std::map<std::string, std::string>& environment = member.start.environment;
  environment["HOPGAP_SUBSCRIPTION"] = lab::SubscriptionName(lab, spec, hop);
  if (hop < lab.hops) environment["HOPGAP_NEXT_TOPIC"] = lab::TopicName(lab, spec, hop + 1);
  environment["HOPGAP_WORK"] = lab.work.Text();
  environment["HOPGAP_STREAMS"] = StrCat(spec.streams > 0 ? spec.streams : lab.streams);
  environment["HOPGAP_MAX_OUTSTANDING_MESSAGES"] = StrCat(lab.max_outstanding_messages);
  environment["HOPGAP_PUBLISH"] = lab.publish == lab::PublishMode::kAwait ? "await" : "fire";
  environment["HOPGAP_HOP"] = StrCat(hop);
  if (spec.worker.empty()) {
    member.start.command = {program_, "worker"};
    environment["HOPGAP_LEDGER"] = LedgerFile(folder_, spec.name, hop);
    environment["HOPGAP_HANDLER_FAILURES"] = StrCat(lab.failures.share);
    environment["HOPGAP_DRAW_SEED"] = StrCat(lab.seed);
  } else {
    member.start.command = {"/bin/sh", "-c", StrCat("exec ", spec.worker)};
    member.ready_file.clear();
  }
  return member;
}

absl::Status ProcessRun::StartProcesses() {
  for (size_t arm = 0; arm < options_.lab.arms.size(); ++arm) {
    for (int hop = options_.lab.hops; hop >= 1; --hop) {
      arm_of_.push_back(arm);
      if (absl::Status status = group_.Start(WorkerOf(arm, hop)); !status.ok()) return status;
    }
    apis_.push_back(group_.size());
    arm_of_.push_back(arm);
    if (absl::Status status = group_.Start(ApiOf(arm)); !status.ok()) return status;
  }
  return WaitReady();
}

absl::Status ProcessRun::WaitReady() {
  const Instant give_up = SteadyNow() + kAllReady;
  absl::Status status = group_.WaitReady(give_up, [this] { return StopAsked(); });
  if (!status.ok()) return status;
  // Others' workers do not say when they are ready; their open streams do.
  uint64_t streams = 0;
  for (const lab::ArmSpec& arm : options_.lab.arms) {
    streams += static_cast<uint64_t>(options_.lab.hops) * (arm.streams > 0 ? arm.streams : options_.lab.streams);
  }
  while (server_ && server_->figures().open_rpcs < streams && !StopAsked()) {
    group_.Tend(SteadyNow());
    if (group_.restarts() > kEndsAtStartMax) return absl::UnavailableError(group_.last_end());
    if (SteadyNow() >= give_up) {
      return absl::UnavailableError(StrCat("only ", server_->figures().open_rpcs, " of ", streams,
                                           " streams were opened in time; the logs of the workers are in ", folder_));
    }
    std::this_thread::sleep_for(kPoll);
  }
  return absl::OkStatus();
}

absl::Status ProcessRun::StartLoad() {
  const lab::Options& lab = options_.lab;
  Load::Options load;
  for (size_t arm = 0; arm < lab.arms.size(); ++arm) {
    absl::StatusOr<remote::Url> url =
        remote::ParseUrl(StrCat("http://127.0.0.1:", group_.ReadyText(apis_[arm]), "/send"));
    if (!url.ok()) return url.status();
    const auto group = static_cast<size_t>(lab.arms[arm].group);
    load.targets.push_back(
        {.name = lab.arms[arm].name, .url = *std::move(url), .offset = lab.groups[group].offset, .group = group});
  }
  load.millihertz = lab.millihertz;
  load.arrival = lab.arrival;
  load.slots = lab.slots;
  load.body_bytes = lab.message_bytes;
  load.anchor = result_.anchor;
  load.traceparent = [&lab](size_t arm, uint64_t slot) {
    const auto [hi, lo] = lab::TraceIdOf(lab, arm, slot);
    return pubsub::FormatTraceparent({hi, lo, lo | 1});
  };
  load_ = std::make_unique<Load>(std::move(load));
  return absl::OkStatus();
}

bool ProcessRun::StopAsked() {
  if (result_.outcome.ended_early) return true;
  std::string why = options_.stop_asked ? options_.stop_asked() : "";
  if (why.empty()) return false;
  result_.outcome.ended_early = true;
  result_.outcome.ended_early_why = std::move(why);
  return true;
}

// The workers' calls are not ours to see, so it asks all the time.
bool ProcessRun::TargetGone() {
  if (!watch_) return false;
  EndWith(watch_->Look(SteadyNow(), kNever, result_.outcome.first));
  return !result_.failure.ok();
}

void ProcessRun::EndWith(absl::Status failure) {
  if (failure.ok()) return;
  result_.failure = std::move(failure);
  result_.outcome.ended_early = true;
  result_.outcome.ended_early_why = std::string(MessageOf(result_.failure));
}

void ProcessRun::Measure() {
  timer_.ForgetLongest();
  if (server_) server_->ForgetLongest();
  const lab::Options& lab = options_.lab;
  result_.outcome.first = lab::FirstSlotFrom(SteadyNow() + kBeforeFirstSlot);
  load_->Start(result_.outcome.first);
  Duration offset{0};
  for (const lab::Group& group : lab.groups) offset = std::max(offset, group.offset);
  const Instant give_up = result_.outcome.first + offset +
                          lab::Schedule(lab.millihertz, lab.slots, lab.arrival).DueAfter(lab.slots - 1) +
                          options_.drain;
  Instant next_report = result_.outcome.first + kReport;
  if (options_.target) {
    watch_ = std::make_unique<TargetWatch>(*setup_, target_.address, lab::TopicName(lab, lab.arms.front(), 1));
  }
  while (!Finished() && SteadyNow() < give_up && group_.failure().empty()) {
    if (StopAsked() || TargetGone()) break;
    group_.Tend(SteadyNow());
    if (options_.progress && SteadyNow() >= next_report) {
      next_report += kReport;
      options_.progress(ReadProgress());
    }
    std::this_thread::sleep_for(kPoll);
  }
  load_->EndSending();
  result_.outcome.end = SteadyNow();
  if (watch_ && !Finished() && !result_.outcome.ended_early) {
    EndWith(watch_->LookLast(SteadyNow(), kNever, result_.outcome.first));
  }
  result_.last_progress = ReadProgress();
}

bool ProcessRun::Finished() const {
  if (!load_->AllSent()) return false;
  const std::map<std::string, uint64_t> ended = spans_->Ended();
  for (size_t arm = 0; arm < options_.lab.arms.size(); ++arm) {
    const auto found =
        ended.find(ShortId(lab::SubscriptionName(options_.lab, options_.lab.arms[arm], options_.lab.hops)));
    if ((found == ended.end() ? 0 : found->second) < load_->figures(arm).answered) return false;
  }
  return true;
}

Progress ProcessRun::ReadProgress() const {
  const lab::Options& lab = options_.lab;
  const std::map<std::string, uint64_t> ended = spans_->Ended();
  Progress progress;
  progress.elapsed = std::max(Duration{0}, SteadyNow() - result_.outcome.first);
  for (const lab::Group& group : lab.groups) progress.groups.push_back({group.name, {}, lab.slots, Duration{0}});
  std::vector<std::vector<int64_t>> lateness(lab.groups.size());
  for (size_t arm = 0; arm < lab.arms.size(); ++arm) {
    const auto group = static_cast<size_t>(lab.arms[arm].group);
    const auto found = ended.find(ShortId(lab::SubscriptionName(lab, lab.arms[arm], lab.hops)));
    progress.groups[group].arms.push_back(
        {lab.arms[arm].name, load_->figures(arm).sent, found == ended.end() ? 0 : found->second, 0, 0, {}, {}});
    const std::vector<int64_t> more = load_->Lateness(arm, kLatenessMax);
    lateness[group].insert(lateness[group].end(), more.begin(), more.end());
  }
  for (size_t group = 0; group < lateness.size(); ++group) progress.groups[group].SetLate(std::move(lateness[group]));
  return progress;
}

void ProcessRun::StopEverything() {
  // Calls of the load that wait for a target that is gone end with the processes.
  const bool alone = !result_.failure.ok();
  if (load_ && !alone) load_->Stop();
  for (const std::string& name : group_.Stop(SteadyNow() + (alone ? kEndAlone : kEnd))) {
    if (alone) continue;
    result_.notes.push_back(StrCat(name, " did not end within ",
                                   std::chrono::duration_cast<std::chrono::seconds>(kEnd).count(),
                                   " s of SIGTERM and was killed"));
  }
  if (load_ && alone) load_->Stop();
  if (receiver_) receiver_->Stop();
  if (!server_ && resources_) result_.not_removed = resources_->Remove();
  if (remote_) remote_->Shutdown();
  if (server_) {
    const server::GrpcServer::Figures figures = server_->figures();
    result_.outcome.health.loop_stall_max = std::max(figures.strand.longest_task, figures.longest_poll_cycle);
    result_.outcome.health.loop_stalled = "broker";
    result_.broker = server_->counters();
    server_->Stop();
  }
  timer_.Stop();
}

// A figure that includes a restart measures the restart: the arm is not valid.
// What ended before the first message was none of the run.
void ProcessRun::SayEnds() {
  std::vector<size_t> said(options_.lab.arms.size()), unsaid(options_.lab.arms.size());
  for (const ProcessGroup::End& end : group_.ends()) {
    const size_t arm = arm_of_[end.member];
    if (said[arm] == kEndsSaid) {
      ++unsaid[arm];
      continue;
    }
    ++said[arm];
    std::string text = StrCat(IntoRun(end.at, result_.outcome.first), " ", end.what,
                              end.started_again ? "; it was started again" : "; it was not started again");
    const bool measured = end.at >= result_.outcome.first;
    (measured ? result_.outcome.arms[arm].incidents : result_.notes).push_back(std::move(text));
  }
  for (size_t arm = 0; arm < unsaid.size(); ++arm) {
    if (unsaid[arm] == 0) continue;
    result_.outcome.arms[arm].incidents.push_back(StrCat(unsaid[arm], " more ends of its processes"));
  }
  if (group_.restarts() > 0) {
    result_.notes.push_back(StrCat("of its processes ", group_.restarts(), " ended unasked and were started again"));
  }
}

absl::StatusOr<Result> ProcessRun::Run(const TakeSpans& message_spans) {
  absl::Status status = Prepare();
  if (status.ok()) status = StartProcesses();
  if (status.ok()) status = StartLoad();
  if (status.ok() && !result_.outcome.ended_early) Measure();
  StopEverything();
  if (!status.ok() && !result_.outcome.ended_early) return WithWhatIsLeft(status, result_.not_removed);
  result_.outcome.options = options_.lab;
  ProcessBooks books{
      .options = options_.lab, .anchor = result_.anchor, .folder = folder_, .load = load_.get(), .spans = *spans_};
  absl::Status filled = FillOutcome(books, result_, message_spans);
  if (!filled.ok()) return filled;
  SayEnds();
  if (!result_.failure.ok()) lab::AddIncident(result_.outcome, MessageOf(result_.failure));
  if (!group_.failure().empty()) {
    for (lab::Outcome::Arm& arm : result_.outcome.arms) arm.counts.failure = group_.failure();
  }
  result_.outcome.health.events_overflowed = result_.broker_events->overflowed() + spans_->dropped();
  result_.clock_drift = result_.outcome.health.clock_drift = WallNow() - result_.anchor.ToWall(SteadyNow());
  return std::move(result_);
}

}  // namespace

absl::StatusOr<Result> RunProcesses(ProcessesOptions options, const TakeSpans& message_spans) {
  ProcessRun run(std::move(options));
  return run.Run(message_spans);
}

}  // namespace hopgap::live
