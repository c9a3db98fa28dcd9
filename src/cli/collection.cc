#include "cli/collection.h"

#include "formats/otlp_json.h"

namespace hopgap::cli {

absl::Status Collection::Take(std::vector<trace::Span>& spans) {
  std::string line;
  formats::AppendOtlpLine(spans, line);
  const std::lock_guard lock(mu_);
  if (!figures_.status.ok()) return figures_.status;
  figures_.status = folder_.Append(formats::kSpansFile, line);
  figures_.status.Update(folder_.Flush());
  if (!figures_.status.ok()) return figures_.status;
  figures_.spans += spans.size();
  for (const trace::Span& span : spans) {
    const std::pair id{span.trace_hi, span.trace_lo};
    if (traces_.size() < limits_.traces_max) {
      traces_.insert(id);
    } else {
      figures_.more_traces = figures_.more_traces || !traces_.contains(id);
    }
    const auto service = figures_.spans_by_service.find(span.service);
    if (service != figures_.spans_by_service.end()) {
      ++service->second;
    } else if (figures_.spans_by_service.size() < limits_.services_max) {
      figures_.spans_by_service.emplace(span.service, 1);
    } else {
      figures_.more_services = true;
    }
  }
  return absl::OkStatus();
}

Collection::Figures Collection::figures() const {
  const std::lock_guard lock(mu_);
  Figures figures = figures_;
  figures.traces = traces_.size();
  return figures;
}

}  // namespace hopgap::cli
