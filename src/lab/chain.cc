#include "lab/chain.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/draw.h"
#include "base/text.h"

namespace hopgap::lab {
namespace {

constexpr std::string_view kTickLabel = "tick", kTraceLabel = "trace", kClientLabel = "client";
constexpr uint64_t kNoSlot = ~uint64_t{0};

std::string_view ShortId(std::string_view name) { return name.substr(name.rfind('/') + 1); }

// The tickers of a hop's streams are spread evenly over the tick, from a keyed
// start without an arm in it: a run then stands for many process starts, and
// arms share their phases.
std::vector<Duration> TickPhases(uint64_t seed, int hop, uint32_t streams, Duration tick) {
  const auto ticks = static_cast<uint64_t>(tick.count());
  const uint64_t base = Mix(seed, HashName(kTickLabel), static_cast<uint64_t>(hop)) % ticks;
  std::vector<Duration> phases;
  for (uint64_t i = 0; i < streams; ++i) {
    phases.push_back(Duration{static_cast<int64_t>((base + i * ticks / streams) % ticks)});
  }
  return phases;
}

// "hop.slot" of a message of this run.
std::optional<uint64_t> SlotFrom(const pubsub::Message& message) {
  const std::optional<std::string_view> draw = message.Attribute(pubsub::kDrawAttribute);
  if (!draw) return std::nullopt;
  const size_t dot = draw->find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  return ParseNumber<uint64_t>(draw->substr(dot + 1));
}

trace::Place PlaceOf(const Options& options, const ArmSpec& arm, int hop, std::string_view name) {
  return {.side = trace::Place::Side::kClient,
          .arm = arm.name,
          .hop = hop,
          .project = options.groups[static_cast<size_t>(arm.group)].project,
          .resource = std::string(ShortId(name))};
}

}  // namespace

Chain::Chain(const Environment& environment)
    : env_(environment),
      hops_(environment.options.hops),
      slots_(environment.options.slots),
      visits_(environment.options.slots * static_cast<size_t>(hops_)),
      slot_of_(static_cast<size_t>(hops_)),
      deadline_of_(EndpointCount(hops_), kNever) {
  const Options& options = env_.options;
  const ArmSpec& arm = options.arms[env_.arm];
  const uint32_t streams = arm.streams > 0 ? arm.streams : options.streams;
  env_.model.max_outstanding_messages = options.max_outstanding_messages;
  for (int hop = 1; hop <= hops_; ++hop) {
    const std::string topic = TopicName(options, arm, hop);
    const std::string subscription = SubscriptionName(options, arm, hop);
    const uint64_t seed = Mix(options.seed, HashName(kClientLabel), static_cast<uint64_t>(hop));
    publishers_.push_back(std::make_unique<client::Publisher>(
        client::Publisher::Options{.topic = topic,
                                   .model = env_.model,
                                   .place = env_.sink.AddPlace(PlaceOf(options, arm, hop, topic)),
                                   .seed = seed,
                                   .planted = options.client_planted},
        env_.sink, env_.next_rpc));
    subscribers_.push_back(std::make_unique<client::Subscriber>(
        client::Subscriber::Options{.subscription = subscription,
                                    .client_id = StrCat("hopgap-", arm.name, "-hop", hop),
                                    .model = env_.model,
                                    .streams = streams,
                                    .place = env_.sink.AddPlace(PlaceOf(options, arm, hop, subscription)),
                                    .seed = seed,
                                    .tick_phase = TickPhases(options.seed, hop, streams, env_.model.tick),
                                    .planted = options.client_planted},
        env_.sink, env_.next_rpc));
  }
}

std::pair<uint64_t, uint64_t> Chain::TraceId(uint64_t slot) const {
  const uint64_t hi = Mix(env_.options.seed, HashName(kTraceLabel), HashName(env_.options.arms[env_.arm].name));
  return {hi, Mix(hi, slot + 1)};
}

void Chain::Start(Instant now, Commands& out) {
  for (int hop = 1; hop <= hops_; ++hop) {
    client::Actions actions;
    SubscriberAt(hop).Start(now, actions);
    Take(now, static_cast<uint32_t>(2 * hop - 1), actions, out);
  }
}

void Chain::Send(Instant now, uint64_t slot, Instant due, Commands& out) {
  ++counts_.sent;
  LedgerRow& row = env_.ledger.At(env_.arm, slot, 1);
  row.due = due;
  const uint64_t publish = next_publish_++;
  publishing_.emplace(publish, Handling{.hop = 0, .slot = slot, .delivery = 0});
  PublishTo(now, 1, slot, publish, 0, due, out);
}

void Chain::PublishTo(Instant now, int hop, uint64_t slot, uint64_t publish, uint64_t parent,
                      std::optional<Instant> due, Commands& out) {
  LedgerRow& row = env_.ledger.At(env_.arm, slot, hop);
  if (row.publish_call == kNever) row.publish_call = env_.clock.Stamp();
  const auto [hi, lo] = TraceId(slot);
  pubsub::TraceContext create{hi, lo, 0};
  create.span = trace::SpanId(trace::SpanRole::kCreate, {hi, lo, parent}, publish);
  client::Actions actions;
  const std::string text = StrCat(hop, ".", slot);
  PublisherTo(hop).Publish(now,
                           {.publish = publish,
                            .data = text,
                            .attributes = {{std::string(pubsub::kDrawAttribute), text}},
                            .create = create,
                            .parent = parent,
                            .scheduled = due,
                            .slot_label = slot + 1},
                           actions);
  Take(now, static_cast<uint32_t>(2 * (hop - 1)), actions, out);
}

void Chain::OnResponse(Instant now, uint32_t local, uint32_t stream, Instant received, Instant read_posted,
                       pubsub::StreamingPullResponse response, Commands& out) {
  if (!response.received_messages.empty()) {
    ++counts_.responses;
    counts_.messages_received += response.received_messages.size();
  }
  client::Actions actions;
  SubscriberAt(static_cast<int>(local + 1) / 2)
      .OnResponse(now, stream, received, read_posted, std::move(response), actions);
  Take(now, local, actions, out);
}

void Chain::OnStreamEnded(Instant now, uint32_t local, uint32_t stream, const absl::Status& status, Commands& out) {
  client::Actions actions;
  SubscriberAt(static_cast<int>(local + 1) / 2).OnStreamEnded(now, stream, status, actions);
  Take(now, local, actions, out);
}

void Chain::OnCallDone(Instant now, uint32_t local, uint64_t call, const absl::Status& status, std::string_view details,
                       const pubsub::Bytes& response, Commands& out) {
  client::Actions actions;
  if (local % 2 == 0) {
    PublisherTo(static_cast<int>(local) / 2 + 1).OnCallDone(now, call, status, response, actions);
  } else {
    SubscriberAt(static_cast<int>(local + 1) / 2).OnCallDone(now, call, status, details, actions);
  }
  Take(now, local, actions, out);
}

void Chain::OnDeadline(Instant now, Commands& out) {
  const Instant client = deadlines_.empty() ? kNever : deadlines_.begin()->first;
  const Instant work = working_.empty() ? kNever : working_.top().at;
  if (std::min(client, work) > now) return;
  if (work <= client) {
    const Handling handling = working_.top().handling;
    working_.pop();
    return OnWorkDone(now, handling, out);
  }
  const uint32_t local = deadlines_.begin()->second;
  client::Actions actions;
  if (local % 2 == 0) {
    PublisherTo(static_cast<int>(local) / 2 + 1).OnDeadline(now, actions);
  } else {
    SubscriberAt(static_cast<int>(local + 1) / 2).OnDeadline(now, actions);
  }
  const bool idle = actions.empty();
  Take(now, local, actions, out);
  HOPGAP_CHECK(!idle || deadline_of_[local] != client, "a deadline that passed must move or act");
}

Instant Chain::NextDeadline() const {
  Instant next = deadlines_.empty() ? kNever : deadlines_.begin()->first;
  if (!working_.empty() && working_.top().at < next) next = working_.top().at;
  return next;
}

void Chain::Take(Instant now, uint32_t local, client::Actions& actions, Commands& out) {
  // Our own reactions may make the client act again: those actions are taken
  // inside the calls below, in their order.
  for (client::Action& action : actions) {
    switch (action.kind) {
      case client::Action::Kind::kAckDone:
      case client::Action::Kind::kPublished:
      case client::Action::Kind::kFailed: TakeOwn(now, local, action, out); break;
      default: out.push_back({static_cast<uint32_t>(env_.arm) * EndpointCount(hops_) + local, std::move(action)});
    }
  }
  Refresh(local);
}

void Chain::TakeOwn(Instant now, uint32_t local, client::Action& action, Commands& out) {
  const int hop = static_cast<int>(local + 1) / 2;
  switch (action.kind) {
    case client::Action::Kind::kAckDone: return OnAckDone(hop, action);
    case client::Action::Kind::kPublished: return OnPublished(now, action, out);
    default:
      if (counts_.failure.empty()) counts_.failure = StrCat("hop ", hop, ": ", action.error);
  }
}

void Chain::Refresh(uint32_t local) {
  const std::optional<Instant> next = local % 2 == 0 ? PublisherTo(static_cast<int>(local) / 2 + 1).NextDeadline()
                                                     : SubscriberAt(static_cast<int>(local + 1) / 2).NextDeadline();
  const Instant at = next.value_or(kNever);
  if (at == deadline_of_[local]) return;
  if (deadline_of_[local] != kNever) deadlines_.erase({deadline_of_[local], local});
  if (at != kNever) deadlines_.insert({at, local});
  deadline_of_[local] = at;
}

void Chain::Stop(Instant now, Commands& out) {
  for (int hop = 1; hop <= hops_; ++hop) {
    client::Actions actions;
    SubscriberAt(hop).Stop(now, actions);
    Take(now, static_cast<uint32_t>(2 * hop - 1), actions, out);
  }
}

bool Chain::Stopped() const {
  for (const auto& subscriber : subscribers_) {
    if (!subscriber->Stopped()) return false;
  }
  return true;
}

bool Chain::Ready() const {
  for (const auto& subscriber : subscribers_) {
    if (!subscriber->properties_seen()) return false;
  }
  return true;
}

bool Chain::ExactlyOnceSeen() const {
  for (const auto& subscriber : subscribers_) {
    if (!subscriber->exactly_once_seen()) return false;
  }
  return true;
}

void Chain::OnHandlerEntered(Instant now, uint32_t local, uint64_t delivery, Commands& out) {
  const int hop = static_cast<int>(local + 1) / 2;
  client::Subscriber& subscriber = SubscriberAt(hop);
  const client::Subscriber::Delivery& received = subscriber.Get(delivery);
  const std::optional<uint64_t> slot = SlotFrom(received.message);
  Handling handling{.hop = hop, .slot = slot.value_or(kNoSlot), .delivery = delivery};
  subscriber.OnCallbackStarted(now, delivery);
  if (!slot || *slot >= slots_.size()) {  // not of this run (a shared subscription): let it go
    return Finish(now, handling, true, out);
  }
  LedgerRow& row = env_.ledger.At(env_.arm, *slot, hop);
  if (row.handler_entry == kNever) row.handler_entry = env_.clock.Stamp();
  CountVisit(hop, *slot, received.message.message_id());
  ++slots_[*slot].open;
  slot_of_[static_cast<size_t>(hop - 1)][delivery] = *slot;
  const Duration work = env_.options.work + env_.options.planted.work;
  if (work == Duration{0}) return OnWorkDone(now, handling, out);
  working_.push({now + work, next_order_++, handling});
}

void Chain::CountVisit(int hop, uint64_t slot, std::string_view message_id) {
  Visit& visit = VisitOf(hop, slot);
  const uint64_t id = HashName(message_id);
  if (visit.fate != Fate::kUnseen) {
    if (visit.message != id) {
      ++counts_.reprocessed;  // a retried worker published it again, as a new message
    } else if (visit.fate != Fate::kGivenBack) {
      ++counts_.duplicates;
    }
  }
  visit = {.message = id, .fate = Fate::kInHandler};
}

void Chain::OnWorkDone(Instant now, const Handling& handling, Commands& out) {
  if (handling.hop == hops_) {
    Slot& slot = slots_[handling.slot];
    counts_.completed += slot.handled ? 0 : 1;
    slot.handled = true;
    return Finish(now, handling, true, out);
  }
  const client::Subscriber::Delivery& received = SubscriberAt(handling.hop).Get(handling.delivery);
  const uint64_t process = trace::SpanId(trace::SpanRole::kProcess, received.key, received.delivery_key);
  const uint64_t publish = next_publish_++;
  const bool await = env_.options.publish == PublishMode::kAwait;
  if (await) publishing_.emplace(publish, handling);
  PublishTo(now, handling.hop + 1, handling.slot, publish, process, std::nullopt, out);
  if (!await) Finish(now, handling, true, out);
}

void Chain::OnPublished(Instant now, const client::Action& action, Commands& out) {
  if (!action.ok) ++counts_.publish_failures;
  const auto found = publishing_.find(action.publish);
  if (found == publishing_.end()) return;  // fire: nobody waits
  const Handling handling = found->second;
  publishing_.erase(found);
  if (handling.hop > 0) Finish(now, handling, action.ok, out);
}

void Chain::Finish(Instant now, const Handling& handling, bool ack, Commands& out) {
  client::Subscriber& subscriber = SubscriberAt(handling.hop);
  client::Actions actions;
  if (handling.slot < slots_.size()) {
    LedgerRow& row = env_.ledger.At(env_.arm, handling.slot, handling.hop);
    if (row.handler_return == kNever) row.handler_return = env_.clock.Stamp();
  }
  if (ack) {
    subscriber.Ack(now, handling.delivery, actions);
  } else {
    subscriber.Nack(now, handling.delivery, actions);
  }
  if (handling.slot < slots_.size()) {
    if (!ack) VisitOf(handling.hop, handling.slot).fate = Fate::kGivenBack;
    if (ack && handling.hop == hops_) Settle(handling.slot);
  }
  subscriber.OnCallbackReturned(now, handling.delivery, actions);
  Take(now, static_cast<uint32_t>(2 * handling.hop - 1), actions, out);
}

void Chain::OnAckDone(int hop, const client::Action& action) {
  auto& slots = slot_of_[static_cast<size_t>(hop - 1)];
  const auto found = slots.find(action.delivery);
  if (found == slots.end()) return;
  const uint64_t slot = found->second;
  slots.erase(found);
  Visit& visit = VisitOf(hop, slot);
  if (!action.ok) {
    ++counts_.ack_failures;
    visit.fate = Fate::kGivenBack;  // the service may deliver it again
  } else if (visit.fate == Fate::kInHandler) {
    visit.fate = Fate::kAcked;
  }
  --slots_[slot].open;
  Settle(slot);
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
