#include "live/span_maker.h"

#include "base/system_clock.h"
#include "trace/build.h"

namespace hopgap::live {
namespace {

constexpr Duration kEvery{std::chrono::milliseconds{200}};
// A standard subscription's receipt modack may leave, and return, after the ack.
constexpr Duration kSettled{std::chrono::milliseconds{300}};
// An ack that failed may be tried again for minutes, and a delivery whose stream
// broke has no end at all.
constexpr Duration kGivenUp{std::chrono::minutes{2}};

// What an event does to the number of things that have not ended.
int Unfinished(const trace::Event& event) {
  switch (event.what) {
    case trace::What::kPublishCall:
    case trace::What::kReceived:
    case trace::What::kReceivedExactlyOnce:
    case trace::What::kAccepted:  // the broker's half of a message ends with a successful ack
    case trace::What::kLeaseRead: return 1;
    case trace::What::kPublishEnd:
    case trace::What::kReceiptFailed:
    case trace::What::kLeaseAbandoned:
    case trace::What::kLeaseReplied: return -1;
    case trace::What::kAckEnd:
    case trace::What::kNackEnd:
    case trace::What::kAckCommitted: return event.value == 0 ? -1 : 0;
    default: return 0;
  }
}

}  // namespace

SpanMaker::SpanMaker(const ClockAnchor& anchor, const loop::PlaceTable& places, Drain drain, Sink sink)
    : anchor_(anchor), places_(places), drain_(std::move(drain)), sink_(std::move(sink)), thread_([this] { Loop(); }) {}

SpanMaker::~SpanMaker() { Stop(); }

void SpanMaker::Stop() {
  {
    std::lock_guard lock(mu_);
    stopping_ = true;
  }
  stop_asked_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SpanMaker::Loop() {
  std::vector<trace::Event> events;
  for (bool last = false; !last;) {
    {
      std::unique_lock lock(mu_);
      last = stop_asked_.wait_for(lock, kEvery, [this] { return stopping_; });
    }
    events.clear();
    drain_(events);
    Take(events);
    GiveOut(SteadyNow(), last);
  }
}

void SpanMaker::Take(const std::vector<trace::Event>& events) {
  for (const trace::Event& event : events) {
    const TraceId id{event.message.trace_hi, event.message.trace_lo};
    if (id == TraceId{}) continue;  // of no message
    Open& open = open_[id];
    open.events.push_back(event);
    open.last = std::max(open.last, event.at);
    open.unfinished += Unfinished(event);
  }
}

void SpanMaker::GiveOut(Instant now, bool all) {
  const bool full = open_.size() > kOpenMax;
  const trace::SpanContext context{anchor_, places_.Snapshot()};
  for (auto open = open_.begin(); open != open_.end();) {
    const Duration idle = now - open->second.last;
    const bool over = open->second.unfinished <= 0 ? idle >= kSettled : idle >= kGivenUp;
    if (all || over || full) {
      std::vector<trace::Span> spans = trace::MessageSpans(open->second.events, context);
      if (!spans.empty()) sink_(std::move(spans));
      open = open_.erase(open);
    } else {
      ++open;
    }
  }
}

}  // namespace hopgap::live
