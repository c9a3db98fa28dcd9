#include "lab/experiment.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace hopgap::lab {

Experiment::Experiment(Options options)
    : options_(std::move(options)),
      schedule_(options_.millihertz, options_.slots, options_.arrival),
      ledger_(options_.arms.size(), options_.slots, options_.hops) {}

absl::StatusOr<std::unique_ptr<Experiment>> Experiment::Make(Options options, trace::EventSink& sink,
                                                             LedgerClock& clock) {
  HOPGAP_CHECK(!options.arms.empty() && options.hops >= 1, "a run has arms and hops");
  std::unique_ptr<Experiment> run(new Experiment(std::move(options)));
  for (const Group& group : run->options_.groups) {
    run->generators_.push_back({.arms = {}, .offset = group.offset});
  }
  for (size_t arm = 0; arm < run->options_.arms.size(); ++arm) {
    absl::StatusOr<client::Model> model = client::FindModel(run->options_.arms[arm].model);
    if (!model.ok()) return model.status();
    run->chains_.push_back(std::make_unique<Chain>(Chain::Environment{
        run->options_, arm, *std::move(model), sink, run->next_rpc_, run->ledger_, clock, run->settled_}));
    run->generators_[static_cast<size_t>(run->options_.arms[arm].group)].arms.push_back(arm);
  }
  return run;
}

void Experiment::Start(Instant now, Commands& out) {
  for (const auto& chain : chains_) chain->Start(now, out);
}

bool Experiment::Ready() const {
  return std::all_of(chains_.begin(), chains_.end(), [](const auto& chain) { return chain->Ready(); });
}

void Experiment::Begin(Instant first) {
  first_ = first;
  for (Generator& generator : generators_) Aim(generator);
}

// When the next slot is scheduled, and when it is sent: later by planted faults.
void Experiment::Aim(Generator& generator) const {
  generator.due = generator.send_at = kNever;
  if (generator.done(options_.slots)) return;
  const Instant start = *first_ + generator.offset;
  generator.due = start + schedule_.DueAfter(generator.next_slot);
  generator.send_at = generator.due + options_.planted.send;
  if (options_.planted.generator_stall > Duration{0} && generator.next_slot >= options_.slots / 2) {
    const Instant stalled_until = start + schedule_.DueAfter(options_.slots / 2) + options_.planted.generator_stall;
    generator.send_at = std::max(generator.send_at, stalled_until);
  }
}

// One publish call: the slot's next arm, in an order that rotates.
void Experiment::SendNext(Instant now, Generator& generator, Commands& out) {
  const size_t count = generator.arms.size();
  const size_t arm = generator.arms[(generator.next_arm + generator.next_slot) % count];
  chains_[arm]->Send(now, generator.next_slot, generator.due, out);
  if (++generator.next_arm < count) return;
  generator.next_arm = 0;
  ++generator.next_slot;
  Aim(generator);
}

void Experiment::OnResponse(Instant now, uint32_t endpoint, uint32_t stream, Instant received, Instant read_posted,
                            pubsub::StreamingPullResponse response, Commands& out) {
  ChainOf(endpoint).OnResponse(now, LocalOf(endpoint), stream, received, read_posted, std::move(response), out);
}

void Experiment::OnStreamEnded(Instant now, uint32_t endpoint, uint32_t stream, const absl::Status& status,
                               Commands& out) {
  ChainOf(endpoint).OnStreamEnded(now, LocalOf(endpoint), stream, status, out);
}

void Experiment::OnCallDone(Instant now, uint32_t endpoint, uint64_t call, const absl::Status& status,
                            std::string_view details, const pubsub::Bytes& response, Commands& out) {
  ChainOf(endpoint).OnCallDone(now, LocalOf(endpoint), call, status, details, response, out);
}

void Experiment::OnHandlerEntered(Instant now, uint32_t endpoint, uint64_t delivery, Commands& out) {
  ChainOf(endpoint).OnHandlerEntered(now, LocalOf(endpoint), delivery, out);
}

void Experiment::OnDeadline(Instant now, Commands& out) {
  Instant first = kNever;
  Generator* generator = nullptr;
  Chain* chain = nullptr;
  if (!sending_ended_) {
    for (Generator& candidate : generators_) {
      if (candidate.send_at >= first) continue;
      first = candidate.send_at;
      generator = &candidate;
    }
  }
  for (const auto& candidate : chains_) {
    if (candidate->NextDeadline() >= first) continue;
    first = candidate->NextDeadline();
    chain = candidate.get();
  }
  if (first > now) return;
  if (chain != nullptr) return chain->OnDeadline(now, out);
  if (generator != nullptr) SendNext(now, *generator, out);
}

std::optional<Instant> Experiment::NextDeadline() const {
  Instant next = kNever;
  if (!sending_ended_) {
    for (const Generator& generator : generators_) next = std::min(next, generator.send_at);
  }
  for (const auto& chain : chains_) next = std::min(next, chain->NextDeadline());
  if (next == kNever) return std::nullopt;
  return next;
}

bool Experiment::AllSent() const {
  if (sending_ended_) return true;
  return first_ && std::all_of(generators_.begin(), generators_.end(),
                               [&](const Generator& generator) { return generator.done(options_.slots); });
}

bool Experiment::AllSettled() const {
  return std::all_of(chains_.begin(), chains_.end(), [](const auto& chain) { return chain->AllSettled(); });
}

std::optional<Instant> Experiment::LastSlotDue() const {
  if (!first_ || options_.slots == 0) return std::nullopt;
  Duration offset{0};
  for (const Group& group : options_.groups) offset = std::max(offset, group.offset);
  return *first_ + offset + schedule_.DueAfter(options_.slots - 1);
}

void Experiment::Stop(Instant now, Commands& out) {
  for (const auto& chain : chains_) chain->Stop(now, out);
}

bool Experiment::Stopped() const {
  return std::all_of(chains_.begin(), chains_.end(), [](const auto& chain) { return chain->Stopped(); });
}

uint32_t Experiment::EndpointCount() const {
  return static_cast<uint32_t>(chains_.size()) * Chain::EndpointCount(options_.hops);
}

std::string Experiment::ResourceOf(uint32_t endpoint) const {
  const ArmSpec& arm = options_.arms[endpoint / Chain::EndpointCount(options_.hops)];
  const uint32_t local = LocalOf(endpoint);
  if (IsPublisher(endpoint)) return TopicName(options_, arm, static_cast<int>(local) / 2 + 1);
  return SubscriptionName(options_, arm, static_cast<int>(local + 1) / 2);
}

}  // namespace hopgap::lab
