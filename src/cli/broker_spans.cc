#include "cli/broker_spans.h"

#include <span>
#include <utility>
#include <vector>

#include "base/text.h"

namespace hopgap::cli {
namespace {

constexpr char kService[] = "hopgap-broker";

}  // namespace

absl::StatusOr<std::unique_ptr<BrokerSpans>> BrokerSpans::FromEnvironment(const ClockAnchor& anchor) {
  std::unique_ptr<BrokerSpans> spans(new BrokerSpans(anchor));
  absl::StatusOr<SpanExport> way = SpanExport::FromEnvironment(kService, spans->log_);
  if (!way.ok()) return way.status();
  spans->export_.emplace(*std::move(way));
  if (spans->export_->sink()) spans->recorder_ = std::make_unique<loop::Recorder>(kEventsMax, spans->places_);
  return spans;
}

trace::EventSink& BrokerSpans::sink() {
  if (recorder_) return *recorder_;
  return no_sink_;
}

void BrokerSpans::Start(const OnStrand& on_strand) {
  if (!recorder_) return;
  const auto drain = [this, on_strand](std::vector<trace::Event>& out) {
    on_strand([&] {
      recorder_->Drain(
          [&](std::span<const trace::Event> events) { out.insert(out.end(), events.begin(), events.end()); });
    });
  };
  maker_ = std::make_unique<live::SpanMaker>(anchor_, places_, drain, export_->sink());
}

void BrokerSpans::Stop() {
  if (!maker_) return;
  maker_->Stop();
  if (recorder_->overflowed() > 0) {
    log_.Error("events of the broker were dropped, so spans are missing",
               {{"events", StrCat(recorder_->overflowed())}});
  }
  export_->Flush();
  maker_.reset();
}

}  // namespace hopgap::cli
