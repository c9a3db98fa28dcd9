#include <CLI/CLI.hpp>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <thread>

#include "base/system_clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/options.h"
#include "cli/process_flags.h"
#include "cli/signals.h"
#include "cli/span_export.h"
#include "live/worker_process.h"
#include "remote/remote.h"
#include "server/http_server.h"

namespace hopgap::cli {
namespace {

// Less than the 30 s that the contract and Kubernetes give.
constexpr Duration kDrain{std::chrono::seconds{25}};
constexpr Duration kPoll{std::chrono::milliseconds{100}};
constexpr Duration kAskTimeout{std::chrono::seconds{5}}, kAskAgain{std::chrono::seconds{1}};
constexpr uint32_t kStreamsMax = 100;

struct WorkerFlags {
  ProcessFlags process;
  std::string subscription, next_topic, work = "200ms", failures = "0", publish = "await", health, ledger;
  uint64_t draw_seed = 0;
  uint32_t streams = 4;
  int64_t max_outstanding_messages = 1000;
  int hop = 0;
};

absl::StatusOr<live::WorkerProcess::Options> Options(const WorkerFlags& flags) {
  live::WorkerProcess::Options options;
  absl::StatusOr<remote::Target> target = flags.process.target.Finish();
  if (!target.ok()) return target.status();
  options.target = *std::move(target);
  absl::StatusOr<std::string> subscription =
      flags.process.FullName("--subscription", "subscriptions", flags.subscription, options.target);
  if (!subscription.ok()) return subscription.status();
  options.subscription = *std::move(subscription);
  if (!flags.next_topic.empty()) {
    absl::StatusOr<std::string> topic =
        flags.process.FullName("--next-topic", "topics", flags.next_topic, options.target);
    if (!topic.ok()) return topic.status();
    options.next_topic = *std::move(topic);
  }
  absl::StatusOr<WorkLaw> work = ParseWork(flags.work, flags.draw_seed);
  if (!work.ok()) return work.status();
  options.work = *work;
  absl::StatusOr<lab::HandlerFailures> failures = ParseFailures(flags.failures, flags.draw_seed);
  if (!failures.ok()) return failures.status();
  options.failures = *failures;
  options.client = flags.process.client;
  options.streams = flags.streams;
  options.max_outstanding_messages = flags.max_outstanding_messages;
  options.publish = flags.publish == "fire" ? lab::PublishMode::kFire : lab::PublishMode::kAwait;
  options.arm = flags.process.arm;
  options.hop = flags.hop;
  options.seed = std::random_device{}();
  options.ledger_file = flags.ledger;
  absl::StatusOr<ClockAnchor> anchor = live::SharedAnchor(std::getenv("HOPGAP_CLOCK_ANCHOR"));
  if (!anchor.ok()) return anchor.status();
  options.anchor = *anchor;
  return options;
}

absl::StatusOr<std::unique_ptr<server::HttpServer>> ServeHealth(const std::string& health,
                                                                const std::function<bool()>& ready) {
  if (health.empty()) return std::unique_ptr<server::HttpServer>();
  absl::StatusOr<Address> address = ParseAddress("--health", health);
  if (!address.ok()) return address.status();
  return server::HttpServer::Start(
      {.host = address->host, .port = address->port, .threads = 4}, [ready](const server::HttpCall& call) {
        if (call.path == "/healthz") return server::HttpReply{.body = "{\"status\":\"alive\"}\n", .headers = {}};
        if (call.path != "/readyz") {
          return server::HttpReply{.status = 404, .body = "{\"error\":\"GET /healthz or /readyz\"}\n", .headers = {}};
        }
        const bool yes = ready();
        return server::HttpReply{.status = yes ? 200 : 503,
                                 .body = yes ? "{\"status\":\"ready\"}\n" : "{\"status\":\"no streams yet\"}\n",
                                 .headers = {}};
      });
}

// Somebody else makes the subscription, maybe later (a Job of the cluster): it
// is waited for, as a broker that does not answer yet is. Whoever may not ask
// for it may still receive from it.
void WaitForSubscription(const live::WorkerProcess::Options& options, Log& log) {
  remote::Remote remote;
  const std::unique_ptr<remote::Connection> connection = remote.Connect(options.target);
  for (bool told = false; StopSignal() == 0;) {
    const absl::StatusOr<pubsub::Bytes> found = connection->CallAndWait(
        pubsub::Method::kGetSubscription, {pubsub::Encode(pubsub::NameRequest{options.subscription})}, kAskTimeout);
    const bool wait = absl::IsNotFound(found.status()) || absl::IsUnavailable(found.status()) ||
                      absl::IsDeadlineExceeded(found.status());
    if (!wait) return;
    if (!told) log.Info("waiting for the subscription", {{"why", std::string(MessageOf(found.status()))}});
    told = true;
    for (Instant again = SteadyNow() + kAskAgain; SteadyNow() < again && StopSignal() == 0;) {
      std::this_thread::sleep_for(kPoll);
    }
  }
}

// Until a signal asks to end or the subscriber has failed for good.
void Work(const live::WorkerProcess& worker, const WorkerFlags& flags, Log& log) {
  bool ready = false;
  while (StopSignal() == 0 && worker.failure().empty()) {
    if (!ready && worker.ready()) {
      ready = true;
      if (absl::Status status = WriteReadyFile(flags.process.ready_file, "ready"); !status.ok()) {
        log.Error(MessageOf(status));
      }
      log.Info("ready");
    }
    std::this_thread::sleep_for(kPoll);
  }
}

int WorkerCommand(const WorkerFlags& flags) {
  Log log(flags.process.log());
  absl::StatusOr<live::WorkerProcess::Options> options = Options(flags);
  if (!options.ok()) return Fail(kBadConfiguration, MessageOf(options.status()));
  absl::StatusOr<SpanExport> spans = SpanExport::FromEnvironment(
      flags.process.arm.empty() ? "hopgap-worker" : StrCat(flags.process.arm, "-hop", flags.hop), log);
  if (!spans.ok()) return Fail(kBadConfiguration, MessageOf(spans.status()));
  if (!spans->why_not().empty()) log.Info("spans do not leave", {{"why", spans->why_not()}});
  options->spans = spans->sink();
  if (absl::Status status = remote::Authorize(options->target); !status.ok()) {
    return Fail(CodeOfTarget(status), MessageOf(status));
  }
  log.Info("worker starts", {{"subscription", options->subscription}, {"next_topic", options->next_topic}});
  absl::StatusOr<std::unique_ptr<live::WorkerProcess>> worker(nullptr);
  std::atomic<const live::WorkerProcess*> working{nullptr};
  absl::StatusOr<std::unique_ptr<server::HttpServer>> health = ServeHealth(flags.health, [&working] {
    const live::WorkerProcess* at = working;
    return at != nullptr && at->ready() && at->failure().empty();
  });
  if (!health.ok()) return Fail(CodeOf(health.status()), MessageOf(health.status()));
  WaitForSubscription(*options, log);
  if (StopSignal() != 0) return kOk;
  worker = live::WorkerProcess::Start(*std::move(options));
  if (!worker.ok()) return Fail(CodeOf(worker.status()), MessageOf(worker.status()));
  working = worker->get();
  Work(**worker, flags, log);
  const std::string failure = (*worker)->failure();
  const bool drained = (*worker)->Stop(SteadyNow() + kDrain);
  spans->Flush();
  const live::WorkerProcess::Figures figures = (*worker)->figures();
  log.Info("worker ends", {{"handled", StrCat(figures.handled)},
                           {"acked", StrCat(figures.acked)},
                           {"ack_failures", StrCat(figures.ack_failures)},
                           {"publish_failures", StrCat(figures.publish_failures)},
                           {"events_lost", StrCat(figures.events_overflowed)},
                           {"drained", drained ? "yes" : "no"}});
  if (!failure.empty()) return Fail(kUnreachable, failure);
  return drained ? kOk : kUnfinished;
}

}  // namespace

void AddWorker(CLI::App& app, Commands& commands) {
  auto flags = std::make_shared<WorkerFlags>();
  CLI::App* command = app.add_subcommand("worker", "one hop of a chain: receive, work, publish on, ack");
  command->group("Deploy");
  flags->process.Add(*command);
  command->add_option("--subscription", flags->subscription, "what to receive from");
  command->add_option("--next-topic", flags->next_topic, "where to publish; none at the last hop");
  command->add_option("--work", flags->work, kWorkHelp)->capture_default_str();
  command->add_option("--handler-failures", flags->failures, kFailuresHelp)->capture_default_str();
  command->add_option("--draw-seed", flags->draw_seed, "of drawn work and failures; workers of a chain share it")
      ->capture_default_str();
  command->add_option("--streams", flags->streams, "StreamingPull streams (Go's NumGoroutines)")
      ->capture_default_str()
      ->check(CLI::Range(uint32_t{1}, kStreamsMax));
  command->add_option("--max-outstanding-messages", flags->max_outstanding_messages, "flow control")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}));
  command->add_option("--publish", flags->publish, "await: ack after the publish's result; fire: ack at once")
      ->capture_default_str()
      ->check(CLI::IsMember({"await", "fire"}));
  command->add_option("--hop", flags->hop, "which hop this is, for spans and ledger")->capture_default_str();
  command->add_option("--health", flags->health, "HOST:PORT for GET /healthz and /readyz");
  command->add_option("--ledger", flags->ledger, "a file to append what became of each message to");
  commands.push_back({command, [flags] { return WorkerCommand(*flags); }});
}

}  // namespace hopgap::cli
