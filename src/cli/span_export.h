#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>

#include "cli/log.h"
#include "live/span_exporter.h"
#include "live/span_maker.h"

namespace hopgap::cli {

// The way of a process's spans to an OTLP collector, as the OTEL_* environment
// says; nothing leaves unless it names an endpoint.
class SpanExport {
 public:
  // `service` is the name where the environment gives none. InvalidArgument
  // naming the variable for a value that cannot be. `log` outlives it.
  static absl::StatusOr<SpanExport> FromEnvironment(const std::string& service, Log& log);

  // Why spans do not leave; empty where they do.
  const std::string& why_not() const { return why_not_; }
  // Empty where spans do not leave. Valid as long as this object.
  live::SpanMaker::Sink sink() const;
  // Sends what is left, for a few seconds at most, and logs what became of all.
  void Flush();

 private:
  explicit SpanExport(Log& log) : log_(&log) {}

  Log* log_;
  std::string why_not_;
  std::unique_ptr<live::SpanExporter> exporter_;  // none: spans do not leave
};

}  // namespace hopgap::cli
