#include "live/station.h"

#include <random>
#include <thread>

#include "base/system_clock.h"
#include "base/text.h"

namespace hopgap::live {
namespace {

constexpr Duration kStationPoll{std::chrono::milliseconds{5}};

// RPC numbers name RPC spans, whose ids other processes must not give too.
uint64_t FirstRpc() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 24) | 1;
}

}  // namespace

Station::Station(Options options) : options_(std::move(options)), next_rpc_(FirstRpc()) {
  if (options_.spans) recorder_ = std::make_unique<loop::Recorder>(kEventsMax, places_);
  setup_ = remote_.Connect(options_.target);
  driver_ = std::make_unique<Driver>(Driver::Options{.target = options_.target, .probe = false}, remote_, timer_);
}

Station::~Station() { Stop(SteadyNow()); }

trace::EventSink& Station::sink() {
  if (recorder_) return *recorder_;
  return no_sink_;
}

void Station::Start(lab::Logic& logic) {
  logic_ = &logic;
  driver_->Adopt(logic);
  if (recorder_) {
    const auto drain = [this](std::vector<trace::Event>& out) {
      driver_->Run([&](Instant, lab::Commands&) {
        recorder_->Drain(
            [&](std::span<const trace::Event> events) { out.insert(out.end(), events.begin(), events.end()); });
      });
    };
    spans_ = std::make_unique<SpanMaker>(options_.anchor, places_, drain, options_.spans);
  }
  driver_->Run([&](Instant now, lab::Commands& out) { logic.Start(now, out); });
}

bool Station::Stop(Instant give_up) {
  if (logic_ == nullptr) return true;
  driver_->Run([this](Instant now, lab::Commands& out) { logic_->Stop(now, out); });
  while (!driver_->stopped() && SteadyNow() < give_up) std::this_thread::sleep_for(kStationPoll);
  const bool stopped = driver_->stopped();
  if (spans_) spans_->Stop();
  remote_.Shutdown();
  driver_->Release();
  timer_.Stop();
  logic_ = nullptr;
  return stopped;
}

absl::StatusOr<ClockAnchor> SharedAnchor(const char* text) {
  if (text == nullptr || *text == '\0') return ReadAnchor();
  const std::vector<std::string_view> parts = Split(text, ':');
  const std::optional<int64_t> steady = ParseNumber<int64_t>(parts[0]);
  const std::optional<int64_t> wall = parts.size() == 2 ? ParseNumber<int64_t>(parts[1]) : std::nullopt;
  if (!steady || !wall) {
    return absl::InvalidArgumentError(StrCat("HOPGAP_CLOCK_ANCHOR: '", text, "' is not STEADY_NS:WALL_NS"));
  }
  return ClockAnchor{InstantFromNanos(*steady), WallTime{Duration{*wall}}};
}

std::string AnchorText(const ClockAnchor& anchor) { return StrCat(ToNanos(anchor.steady), ":", ToNanos(anchor.wall)); }

}  // namespace hopgap::live
