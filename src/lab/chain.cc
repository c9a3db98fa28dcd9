#include "lab/chain.h"

#include <algorithm>
#include <utility>

#include "base/draw.h"
#include "base/text.h"

namespace hopgap::lab {
namespace {

constexpr std::string_view kTickLabel = "tick", kClientLabel = "client";

std::string_view ShortId(std::string_view name) { return name.substr(name.rfind('/') + 1); }

// The tickers of a hop's streams are spread evenly over the tick, from a keyed
// start without an arm in it: a run then stands for many process starts, and
// arms share their phases.
std::vector<Duration> TickPhases(uint64_t seed, int hop, uint32_t streams, Duration tick) {
  if (tick <= Duration{0}) return {};  // a model that batches nothing
  const auto ticks = static_cast<uint64_t>(tick.count());
  const uint64_t base = Mix(seed, HashName(kTickLabel), static_cast<uint64_t>(hop)) % ticks;
  std::vector<Duration> phases;
  for (uint64_t i = 0; i < streams; ++i) {
    phases.push_back(Duration{static_cast<int64_t>((base + i * ticks / streams) % ticks)});
  }
  return phases;
}

trace::Place PlaceOf(const Options& options, const ArmSpec& arm, int hop, std::string_view name) {
  return {.side = trace::Place::Side::kClient,
          .arm = arm.name,
          .hop = hop,
          .project = options.groups[static_cast<size_t>(arm.group)].project,
          .resource = std::string(ShortId(name))};
}

uint64_t ClientSeed(const Options& options, int hop) {
  return Mix(options.seed, HashName(kClientLabel), static_cast<uint64_t>(hop));
}

}  // namespace

Chain::Chain(const Environment& environment)
    : env_(environment),
      hops_(environment.options.hops),
      slots_(environment.options.slots),
      visits_(environment.options.slots * static_cast<size_t>(hops_)),
      deadline_of_(static_cast<size_t>(hops_) + 1, kNever) {
  const Options& options = env_.options;
  const ArmSpec& arm = options.arms[env_.arm];
  const uint32_t streams = arm.streams > 0 ? arm.streams : options.streams;
  env_.model.max_outstanding_messages = options.max_outstanding_messages;
  const auto publisher_to = [&](int hop) {
    const std::string topic = TopicName(options, arm, hop);
    return client::Publisher::Options{.topic = topic,
                                      .model = env_.model,
                                      .place = env_.sink.AddPlace(PlaceOf(options, arm, hop, topic)),
                                      .seed = ClientSeed(options, hop),
                                      .planted = options.client_planted};
  };
  sender_ = std::make_unique<Sender>(
      Sender::Options{.publisher = publisher_to(1), .endpoint = Endpoint(0)}, env_.sink, env_.next_rpc,
      [this](uint64_t, const absl::StatusOr<std::string>& id) { counts_.publish_failures += id.ok() ? 0 : 1; });
  for (int hop = 1; hop <= hops_; ++hop) {
    const std::string subscription = SubscriptionName(options, arm, hop);
    Worker::Options worker;
    worker.subscriber = {.subscription = subscription,
                         .client_id = StrCat("hopgap-", arm.name, "-hop", hop),
                         .model = env_.model,
                         .streams = streams,
                         .place = env_.sink.AddPlace(PlaceOf(options, arm, hop, subscription)),
                         .seed = ClientSeed(options, hop),
                         .tick_phase = TickPhases(options.seed, hop, streams, env_.model.tick),
                         .planted = options.client_planted};
    if (hop < hops_) worker.publisher = publisher_to(hop + 1);
    worker.work = options.work;
    worker.work_planted = options.planted.work;
    worker.failures = options.failures;
    worker.publish = options.publish;
    worker.dedupe = arm.dedupe;
    worker.first_endpoint = Endpoint(static_cast<uint32_t>(2 * hop - 1));
    books_.push_back(std::make_unique<Book>(*this, hop));
    workers_.push_back(std::make_unique<Worker>(std::move(worker), env_.sink, env_.next_rpc, *books_.back()));
  }
}

std::pair<uint64_t, uint64_t> Chain::TraceId(uint64_t slot) const { return TraceIdOf(env_.options, env_.arm, slot); }

void Chain::Start(Instant now, Commands& out) {
  for (uint32_t unit = 1; unit <= workers_.size(); ++unit) {
    WorkerAt(unit).Start(now, out);
    Refresh(unit);
  }
}

void Chain::Send(Instant now, uint64_t slot, Instant due, Commands& out) {
  ++counts_.sent;
  env_.ledger.At(env_.arm, slot, 1).due = due;
  StampPublishCall(1, slot);
  const auto [hi, lo] = TraceId(slot);
  sender_->Send(now,
                {.data = DataOf(slot, env_.options.message_bytes),
                 .attributes = {{std::string(pubsub::kDrawAttribute), DataOf(slot, 0)}},
                 .trace_hi = hi,
                 .trace_lo = lo,
                 .scheduled = due,
                 .slot_label = slot + 1},
                out);
  Refresh(0);
}

void Chain::StampPublishCall(int hop, uint64_t slot) {
  LedgerRow& row = env_.ledger.At(env_.arm, slot, hop);
  if (row.publish_call == kNever) row.publish_call = env_.clock.Stamp();
}

void Chain::OnResponse(Instant now, uint32_t local, uint32_t stream, Instant received, Instant read_posted,
                       pubsub::StreamingPullResponse response, Commands& out) {
  if (!response.received_messages.empty()) {
    ++counts_.responses;
    counts_.messages_received += response.received_messages.size();
  }
  const uint32_t unit = UnitOf(local);
  WorkerAt(unit).OnResponse(now, Endpoint(local), stream, received, read_posted, std::move(response), out);
  Refresh(unit);
}

void Chain::OnStreamEnded(Instant now, uint32_t local, uint32_t stream, const absl::Status& status, Commands& out) {
  const uint32_t unit = UnitOf(local);
  WorkerAt(unit).OnStreamEnded(now, Endpoint(local), stream, status, out);
  Refresh(unit);
}

void Chain::OnCallDone(Instant now, uint32_t local, uint64_t call, const absl::Status& status, std::string_view details,
                       const pubsub::Bytes& response, Commands& out) {
  const uint32_t unit = UnitOf(local);
  if (unit == 0) {
    sender_->OnCallDone(now, Endpoint(local), call, status, details, response, out);
  } else {
    WorkerAt(unit).OnCallDone(now, Endpoint(local), call, status, details, response, out);
  }
  Refresh(unit);
}

void Chain::OnHandlerEntered(Instant now, uint32_t local, uint64_t delivery, Commands& out) {
  const uint32_t unit = UnitOf(local);
  WorkerAt(unit).OnHandlerEntered(now, Endpoint(local), delivery, out);
  Refresh(unit);
}

void Chain::OnDeadline(Instant now, Commands& out) {
  if (NextDeadline() > now) return;
  const uint32_t unit = deadlines_.begin()->second;
  if (unit == 0) {
    sender_->OnDeadline(now, out);
  } else {
    WorkerAt(unit).OnDeadline(now, out);
  }
  Refresh(unit);
}

void Chain::Refresh(uint32_t unit) {
  const Instant at = unit == 0 ? sender_->next_deadline() : WorkerAt(unit).next_deadline();
  if (at == deadline_of_[unit]) return;
  if (deadline_of_[unit] != kNever) deadlines_.erase({deadline_of_[unit], unit});
  if (at != kNever) deadlines_.insert({at, unit});
  deadline_of_[unit] = at;
}

void Chain::Stop(Instant now, Commands& out) {
  for (uint32_t unit = 1; unit <= workers_.size(); ++unit) {
    WorkerAt(unit).Stop(now, out);
    Refresh(unit);
  }
}

bool Chain::Stopped() const {
  return std::all_of(workers_.begin(), workers_.end(), [](const auto& worker) { return worker->Stopped(); });
}

bool Chain::Ready() const {
  return std::all_of(workers_.begin(), workers_.end(), [](const auto& worker) { return worker->Ready(); });
}

bool Chain::ExactlyOnceSeen() const {
  return std::all_of(workers_.begin(), workers_.end(), [](const auto& worker) { return worker->exactly_once_seen(); });
}

bool Chain::Book::OnEntered(uint64_t delivery, const client::Subscriber::Delivery& received) {
  const std::optional<std::string_view> text = received.message.Attribute(pubsub::kDrawAttribute);
  const std::optional<Draw> draw = text ? ParseDraw(*text) : std::nullopt;
  if (!draw || draw->slot >= chain_.slots_.size()) return false;  // not of this run (a shared subscription)
  LedgerRow& row = chain_.env_.ledger.At(chain_.env_.arm, draw->slot, hop_);
  if (row.handler_entry == kNever) row.handler_entry = chain_.env_.clock.Stamp();
  chain_.CountVisit(hop_, draw->slot, received.message.message_id());
  ++chain_.slots_[draw->slot].open;
  slots_[delivery] = draw->slot;
  return true;
}

void Chain::Book::OnWorkDone(uint64_t delivery) {
  const uint64_t slot = slots_.at(delivery);
  if (hop_ < chain_.hops_) return chain_.StampPublishCall(hop_ + 1, slot);
  Slot& state = chain_.slots_[slot];
  chain_.counts_.completed += state.handled ? 0 : 1;
  state.handled = true;
}

void Chain::Book::OnHandlerFailed(uint64_t) { ++chain_.counts_.handler_failures; }

void Chain::Book::OnPublished(bool ok) { chain_.counts_.publish_failures += ok ? 0 : 1; }

void Chain::Book::OnRepeatDropped(uint64_t delivery) {
  const Visit& visit = chain_.VisitOf(hop_, slots_.at(delivery));
  ++chain_.counts_.deduplicated;
  if (visit.counted != nullptr) --(chain_.counts_.*visit.counted);
}

void Chain::Book::OnReturned(uint64_t delivery, bool ack) {
  const uint64_t slot = slots_.at(delivery);
  LedgerRow& row = chain_.env_.ledger.At(chain_.env_.arm, slot, hop_);
  if (ack && row.handler_return == kNever) row.handler_return = chain_.env_.clock.Stamp();
  if (!ack) chain_.VisitOf(hop_, slot).fate = Fate::kGivenBack;
}

void Chain::Book::OnAckDone(uint64_t delivery, bool ok) {
  const auto found = slots_.find(delivery);
  if (found == slots_.end()) return;
  const uint64_t slot = found->second;
  slots_.erase(found);
  Visit& visit = chain_.VisitOf(hop_, slot);
  if (!ok) {
    ++chain_.counts_.ack_failures;
    visit.fate = Fate::kGivenBack;  // the service may deliver it again
  } else if (visit.fate == Fate::kInHandler) {
    visit.fate = Fate::kAcked;
  }
  --chain_.slots_[slot].open;
  chain_.Settle(slot);
}

void Chain::Book::OnFailed(const std::string& error) {
  if (chain_.counts_.failure.empty()) chain_.counts_.failure = StrCat("hop ", hop_, ": ", error);
}

void Chain::CountVisit(int hop, uint64_t slot, std::string_view message_id) {
  Visit& visit = VisitOf(hop, slot);
  const uint64_t id = HashName(message_id);
  uint64_t ArmCounts::*counted = nullptr;
  if (visit.fate != Fate::kUnseen) {
    if (visit.message != id) {
      counted = &ArmCounts::reprocessed;  // a retried worker published it again, as a new message
    } else if (visit.fate != Fate::kGivenBack) {
      counted = &ArmCounts::duplicates;
    }
  }
  if (counted != nullptr) ++(counts_.*counted);
  visit = {.message = id, .fate = Fate::kInHandler, .counted = counted};
}

void Chain::Settle(uint64_t slot) {
  Slot& state = slots_[slot];
  if (!state.handled || state.open > 0 || state.settled) return;
  state.settled = true;
  const auto [hi, lo] = TraceId(slot);
  env_.settled.push_back({env_.arm, slot, hi, lo});
  ++settled_;
}

}  // namespace hopgap::lab
