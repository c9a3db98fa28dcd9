#include "live/worker_process.h"

#include <mutex>

#include "base/draw.h"
#include "base/system_clock.h"
#include "base/text.h"
#include "client/model.h"
#include "formats/hop_ledger_csv.h"
#include "live/place.h"

namespace hopgap::live {
namespace {

constexpr std::string_view kTickLabel = "tick";

std::vector<Duration> TickPhases(uint64_t seed, uint32_t streams, Duration tick) {
  if (tick <= Duration{0}) return {};  // a model that batches nothing
  std::vector<Duration> phases;
  const auto ticks = static_cast<uint64_t>(tick.count());
  const uint64_t base = Mix(seed, HashName(kTickLabel)) % ticks;
  for (uint64_t i = 0; i < streams; ++i) {
    phases.push_back(Duration{static_cast<int64_t>((base + i * ticks / streams) % ticks)});
  }
  return phases;
}

}  // namespace

// Counts, and writes the ledger. On the strand, but for figures().
class WorkerProcess::Book final : public lab::WorkerBook {
 public:
  Book(const ClockAnchor& anchor, int hop, AppendFile* ledger) : anchor_(anchor), hop_(hop), ledger_(ledger) {}

  bool OnEntered(uint64_t delivery, const client::Subscriber::Delivery& received) override {
    lab::HopLine line;
    line.hop = hop_;
    if (const auto text = received.message.Attribute(pubsub::kDrawAttribute)) {
      if (const std::optional<lab::Draw> draw = lab::ParseDraw(*text)) line.slot = draw->slot;
    }
    line.message_id = std::string(received.message.message_id());
    line.delivery = received.delivery_key;
    Write(line, lab::HopLine::What::kEntered, true);
    open_[delivery] = std::move(line);
    return true;
  }
  void OnWorkDone(uint64_t) override { ++handled_; }
  void OnPublished(bool ok) override { publish_failures_ += ok ? 0 : 1; }
  void OnReturned(uint64_t delivery, bool ack) override {
    lab::HopLine& line = open_.at(delivery);
    Write(line, lab::HopLine::What::kReturned, true);
    if (!ack) given_back_[delivery] = true;
  }
  void OnAckDone(uint64_t delivery, bool ok) override {
    const auto found = open_.find(delivery);
    if (found == open_.end()) return;
    const bool nack = given_back_.erase(delivery) > 0;
    if (!nack) ++(ok ? acked_ : ack_failures_);
    Write(found->second, nack ? lab::HopLine::What::kGivenBack : lab::HopLine::What::kAcked, ok);
    open_.erase(found);
  }
  void OnFailed(const std::string& error) override {
    std::lock_guard lock(mu_);
    if (failure_.empty()) failure_ = error;
  }

  std::string failure() const {
    std::lock_guard lock(mu_);
    return failure_;
  }
  Figures figures() const {
    return {.handled = handled_, .acked = acked_, .ack_failures = ack_failures_, .publish_failures = publish_failures_};
  }

 private:
  void Write(lab::HopLine& line, lab::HopLine::What what, bool ok) {
    if (ledger_ == nullptr) return;
    line.at = anchor_.ToWall(SteadyNow());
    line.what = what;
    line.ok = ok;
    text_.clear();
    formats::AppendHopLine(line, text_);
    if (!ledger_->Append(text_)) OnFailed("the ledger cannot be written any more (is the disk full?)");
  }

  const ClockAnchor anchor_;
  const int hop_;
  AppendFile* const ledger_;
  std::string text_;
  std::unordered_map<uint64_t, lab::HopLine> open_;  // by delivery, until its ack has its result
  std::unordered_map<uint64_t, bool> given_back_;
  std::atomic<uint64_t> handled_{0}, acked_{0}, ack_failures_{0}, publish_failures_{0};
  mutable std::mutex mu_;
  std::string failure_;  // guarded
};

WorkerProcess::WorkerProcess(Options options)
    : options_(std::move(options)),
      station_({.target = options_.target, .anchor = options_.anchor, .spans = options_.spans}) {}

WorkerProcess::~WorkerProcess() { Stop(SteadyNow()); }

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(Options options) {
  absl::StatusOr<client::Model> model = client::FindModel(options.client);
  if (!model.ok()) return model.status();
  model->max_outstanding_messages = options.max_outstanding_messages;
  std::unique_ptr<WorkerProcess> process(new WorkerProcess(std::move(options)));
  const Options& chosen = process->options_;
  if (!chosen.ledger_file.empty()) {
    absl::StatusOr<std::unique_ptr<AppendFile>> file = AppendFile::Open(chosen.ledger_file, formats::HopLedgerHeader());
    if (!file.ok()) return file.status();
    process->ledger_ = *std::move(file);
  }
  Station& station = process->station_;
  lab::Worker::Options worker;
  worker.subscriber = {.subscription = chosen.subscription,
                       .client_id = StrCat("hopgap-", chosen.arm, "-hop", chosen.hop, "-", station.next_rpc()),
                       .model = *model,
                       .streams = chosen.streams,
                       .place = station.sink().AddPlace(ClientPlace(chosen.subscription, chosen.arm, chosen.hop)),
                       .seed = chosen.seed,
                       .tick_phase = TickPhases(chosen.seed, chosen.streams, model->tick),
                       .planted = {}};
  if (!chosen.next_topic.empty()) {
    worker.publisher = client::Publisher::Options{
        .topic = chosen.next_topic,
        .model = *model,
        .place = station.sink().AddPlace(ClientPlace(chosen.next_topic, chosen.arm, chosen.hop + 1)),
        .seed = chosen.seed,
        .planted = {}};
  }
  worker.work = chosen.work;
  worker.failures = chosen.failures;
  worker.publish = chosen.publish;
  process->book_ = std::make_unique<Book>(chosen.anchor, chosen.hop, process->ledger_.get());
  process->worker_ =
      std::make_unique<lab::Worker>(std::move(worker), station.sink(), station.next_rpc(), *process->book_);
  station.Start(*process->worker_);
  return process;
}

bool WorkerProcess::ready() const { return station_.ready(); }
std::string WorkerProcess::failure() const { return book_->failure(); }

WorkerProcess::Figures WorkerProcess::figures() const {
  Figures figures = book_->figures();
  figures.events_overflowed = station_.events_overflowed();
  return figures;
}

bool WorkerProcess::Stop(Instant give_up) { return station_.Stop(give_up); }

}  // namespace hopgap::live
