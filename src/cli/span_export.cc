#include "cli/span_export.h"

namespace hopgap::cli {

absl::StatusOr<SpanExport> SpanExport::FromEnvironment(const std::string&, Log&) { return SpanExport(); }
live::SpanMaker::Sink SpanExport::sink() const { return nullptr; }
void SpanExport::Flush() {}

}  // namespace hopgap::cli
