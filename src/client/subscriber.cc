#include "client/subscriber.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/check.h"
#include "client/iterator.h"

namespace hopgap::client {

class Subscriber::Impl {
 public:
  Impl(Options options, trace::EventSink& sink, uint64_t& next_rpc) : core_(std::move(options), sink, next_rpc) {
    const Options& given = core_.options;
    HOPGAP_CHECK(given.streams > 0, "a subscriber without streams");
    HOPGAP_CHECK(given.tick_phase.empty() || given.tick_phase.size() == given.streams, "one tick phase per stream");
    for (const Duration phase : given.tick_phase) {
      HOPGAP_CHECK(phase.count() >= 0 && phase < given.model.tick, "a tick phase lies in [0, tick)");
    }
  }

  void Start(Instant now, Actions& out) {
    HOPGAP_CHECK(iterators_.empty(), "a subscriber starts once");
    iterators_.reserve(core_.options.streams);
    std::shared_ptr<Sender> sender;
    for (uint32_t i = 0; i < core_.options.streams; ++i) {
      if (!sender || !core_.model().shares_sender) {
        const Instant phase = core_.options.tick_phase.empty() ? Instant{} : Instant{core_.options.tick_phase[i]};
        sender = std::make_shared<Sender>(core_.model(), phase, now);
      }
      iterators_.emplace_back(core_, i, sender, now);
    }
    for (Iterator& iterator : iterators_) iterator.Start(now, out);
    Changed();
  }

  void OnResponse(Instant now, uint32_t stream, Instant received, Instant read_posted,
                  pubsub::StreamingPullResponse response, Actions& out) {
    HOPGAP_CHECK(received <= now, "a response from the future");
    At(stream).OnResponse(now, received, read_posted, std::move(response), out);
    EndOfEvent(now, out);
  }

  void OnStreamEnded(Instant now, uint32_t stream, const absl::Status& status, Actions& out) {
    At(stream).OnStreamEnded(now, status, out);
    EndOfEvent(now, out);
  }

  void OnCallDone(Instant now, uint64_t call, const absl::Status& status, std::string_view details, Actions& out) {
    Deal(now, core_.calls.OnCallDone(now, call, status, details, out), out);
    EndOfEvent(now, out);
  }

  const Delivery& Get(uint64_t delivery) const {
    const DeliveryEntry* entry = core_.deliveries.Find(delivery);
    HOPGAP_CHECK(entry != nullptr && entry->phase >= DeliveryEntry::Phase::kHanded,
                 "this delivery is in no handler's hands");
    return entry->delivery;
  }

  void OnCallbackStarted(Instant now, uint64_t delivery) {
    const Delivery& entered = Get(delivery);
    core_.recorder.Record(now, trace::What::kCallbackStart, entered.key, {.delivery = entered.delivery_key});
  }

  void OnStore(Instant now, uint64_t delivery, trace::What what) {
    const Delivery& handled = Get(delivery);
    core_.recorder.Record(now, what, handled.key, {.delivery = handled.delivery_key});
  }

  void Settle(Instant now, uint64_t delivery, Purpose purpose, Actions& out) {
    DeliveryEntry* entry = core_.deliveries.Find(delivery);
    // Forgotten: acked before, or so late that its lease was given up long ago.
    if (entry == nullptr || entry->settled) return;
    HOPGAP_CHECK(entry->phase >= DeliveryEntry::Phase::kHanded, "ack of a delivery in no handler's hands");
    if (core_.model().credits_until == CreditsUntil::kSettled) core_.ReleaseCredits(*entry);
    At(entry->stream).Settle(now, *entry, purpose, out);
    EndOfEvent(now, out);
  }

  void OnCallbackReturned(Instant now, uint64_t delivery, Actions& out) {
    DeliveryEntry* entry = core_.deliveries.Find(delivery);
    HOPGAP_CHECK(entry != nullptr && entry->phase == DeliveryEntry::Phase::kHanded, "a callback returns once");
    std::vector<Scheduler::Started> started;
    core_.scheduler.Returned(entry->order_key, started);
    if (core_.model().credits_until == CreditsUntil::kReturned) core_.ReleaseCredits(*entry);
    At(entry->stream).OnCallbackReturned(now, *entry, out);  // may forget the entry
    for (const Scheduler::Started& next : started) {
      DeliveryEntry& runs = *core_.deliveries.Find(next.delivery);
      core_.Hand(now, runs, out);
      if (next.adder_waited) At(runs.stream).OnWorker(now, out);
    }
    EndOfEvent(now, out);
  }

  void OnDeadline(Instant now, Actions& out) {
    for (Iterator& iterator : iterators_) iterator.OnDeadline(now, out);
    for (Outcome& outcome : core_.calls.OnDeadline(now, out)) Deal(now, std::move(outcome), out);
    while (!core_.starting.empty() && core_.starting.front().first <= now) {
      core_.StartCallback(*core_.deliveries.Find(core_.starting.front().second), out);
      core_.starting.pop_front();
    }
    EndOfEvent(now, out);
  }

  std::optional<Instant> NextDeadline() const {
    if (!next_known_) {
      next_ = core_.calls.NextDeadline();
      if (!core_.starting.empty()) Consider(core_.starting.front().first);
      for (const Iterator& iterator : iterators_) Consider(iterator.NextDeadline());
      next_known_ = true;
    }
    return next_;
  }

  void Stop(Instant now, Actions& out) {
    if (stopping_) return;
    stopping_ = true;
    core_.flow.ForgetWaiters();
    for (Iterator& iterator : iterators_) iterator.Stop(now, out);
    for (const uint64_t id : core_.scheduler.TakeWaiting()) GiveUp(now, id);
    for (const auto& [at, id] : std::exchange(core_.starting, {})) GiveUp(now, id);
    for (Outcome& outcome : core_.calls.StopRetryingModacks(now, out)) Deal(now, std::move(outcome), out);
    for (Iterator& iterator : iterators_) iterator.FinishStop(now, out);
    Changed();
  }

  bool Stopped() const {
    return stopping_ &&
           std::all_of(iterators_.begin(), iterators_.end(), [](const Iterator& i) { return i.stopped(); });
  }
  bool exactly_once_seen() const {
    return std::any_of(iterators_.begin(), iterators_.end(), [](const Iterator& i) { return i.exactly_once(); });
  }
  bool properties_seen() const { return core_.properties_seen; }
  size_t outstanding() const { return core_.outstanding; }

 private:
  Iterator& At(uint32_t stream) {
    HOPGAP_CHECK(stream < iterators_.size(), "no such stream");
    return iterators_[stream];
  }
  void GiveUp(Instant now, uint64_t delivery) {
    DeliveryEntry& entry = *core_.deliveries.Find(delivery);
    At(entry.stream).GiveUp(now, entry);
  }
  // To the stream whose call it was, and what a shared sender sent for others to them first.
  void Deal(Instant now, Outcome outcome, Actions& out) {
    if (core_.model().shares_sender) {
      std::map<uint32_t, Outcome> others;
      std::erase_if(outcome.results, [&](Outcome::Result& result) {
        const DeliveryEntry* entry = core_.deliveries.Find(result.target.delivery);
        if (entry == nullptr || entry->stream == outcome.stream) return false;
        Outcome& other = others[entry->stream];
        other.purpose = outcome.purpose;
        other.stream = entry->stream;
        other.results.push_back(std::move(result));
        return true;
      });
      for (auto& [stream, other] : others) At(stream).OnOutcome(now, std::move(other), out);
    }
    const uint32_t stream = outcome.stream;
    At(stream).OnOutcome(now, std::move(outcome), out);
  }
  void Changed() { next_known_ = false; }
  void Consider(std::optional<Instant> at) const {
    if (at && (!next_ || *at < *next_)) next_ = at;
  }

  // One stream that failed for good ends the whole subscriber.
  void EndOfEvent(Instant now, Actions& out) {
    for (const uint32_t stream : std::exchange(core_.admitted, {})) At(stream).OnAdmitted(now, out);
    Changed();
    if (stopping_) return;
    for (const Iterator& iterator : iterators_) {
      if (!iterator.failure()) continue;
      Action action;
      action.kind = Action::Kind::kFailed;
      action.ok = false;
      action.error = *iterator.failure();
      out.push_back(std::move(action));
      Stop(now, out);
      return;
    }
  }

  Core core_;
  std::vector<Iterator> iterators_;
  bool stopping_ = false;
  mutable bool next_known_ = false;
  mutable std::optional<Instant> next_;
};

Subscriber::Subscriber(Options options, trace::EventSink& sink, uint64_t& next_rpc)
    : impl_(std::make_unique<Impl>(std::move(options), sink, next_rpc)) {}
Subscriber::~Subscriber() = default;

void Subscriber::Start(Instant now, Actions& out) { impl_->Start(now, out); }
void Subscriber::OnResponse(Instant now, uint32_t stream, Instant received, Instant read_posted,
                            pubsub::StreamingPullResponse response, Actions& out) {
  impl_->OnResponse(now, stream, received, read_posted, std::move(response), out);
}
void Subscriber::OnStreamEnded(Instant now, uint32_t stream, const absl::Status& status, Actions& out) {
  impl_->OnStreamEnded(now, stream, status, out);
}
void Subscriber::OnCallDone(Instant now, uint64_t call, const absl::Status& status, std::string_view details,
                            Actions& out) {
  impl_->OnCallDone(now, call, status, details, out);
}
const Subscriber::Delivery& Subscriber::Get(uint64_t delivery) const { return impl_->Get(delivery); }
void Subscriber::OnCallbackStarted(Instant now, uint64_t delivery) { impl_->OnCallbackStarted(now, delivery); }
void Subscriber::OnStore(Instant now, uint64_t delivery, trace::What what) { impl_->OnStore(now, delivery, what); }
void Subscriber::Ack(Instant now, uint64_t delivery, Actions& out) { impl_->Settle(now, delivery, Purpose::kAck, out); }
void Subscriber::Nack(Instant now, uint64_t delivery, Actions& out) {
  impl_->Settle(now, delivery, Purpose::kNack, out);
}
void Subscriber::OnCallbackReturned(Instant now, uint64_t delivery, Actions& out) {
  impl_->OnCallbackReturned(now, delivery, out);
}
void Subscriber::OnDeadline(Instant now, Actions& out) { impl_->OnDeadline(now, out); }
std::optional<Instant> Subscriber::NextDeadline() const { return impl_->NextDeadline(); }
void Subscriber::Stop(Instant now, Actions& out) { impl_->Stop(now, out); }
bool Subscriber::Stopped() const { return impl_->Stopped(); }
bool Subscriber::exactly_once_seen() const { return impl_->exactly_once_seen(); }
bool Subscriber::properties_seen() const { return impl_->properties_seen(); }
size_t Subscriber::outstanding() const { return impl_->outstanding(); }

}  // namespace hopgap::client
