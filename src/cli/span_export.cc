#include "cli/span_export.h"

#include <cstdlib>

#include "base/text.h"

namespace hopgap::cli {
namespace {

constexpr Duration kPatience{std::chrono::seconds{4}};

}  // namespace

absl::StatusOr<SpanExport> SpanExport::FromEnvironment(const std::string& service, Log& log) {
  absl::StatusOr<formats::OtelSettings> settings =
      formats::ReadOtelSettings([&service](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());
        if (value != nullptr && *value != '\0') return value;
        const char* attributes = std::getenv("OTEL_RESOURCE_ATTRIBUTES");
        const bool named =
            attributes != nullptr && std::string_view(attributes).find("service.name=") != std::string_view::npos;
        if (name == "OTEL_SERVICE_NAME" && !named) return service;
        return std::nullopt;
      });
  if (!settings.ok()) return settings.status();
  SpanExport out(log);
  if (!settings->enabled) {
    out.why_not_ = settings->why_not;
    return out;
  }
  absl::StatusOr<std::unique_ptr<live::SpanExporter>> exporter =
      live::SpanExporter::Start(*settings, [&log](const std::string& problem) { log.Error(problem); });
  if (!exporter.ok()) return exporter.status();
  out.exporter_ = *std::move(exporter);
  return out;
}

live::SpanMaker::Sink SpanExport::sink() const {
  if (!exporter_) return nullptr;
  return [exporter = exporter_.get()](std::vector<trace::Span> spans) { exporter->Offer(std::move(spans)); };
}

void SpanExport::Flush() {
  if (!exporter_) return;
  const absl::Status status = exporter_->Stop(kPatience);
  if (!status.ok()) log_->Error(MessageOf(status));
  const live::SpanExporter::Figures figures = exporter_->figures();
  log_->Info("spans sent", {{"sent", StrCat(figures.sent)},
                            {"dropped", StrCat(figures.dropped())},
                            {"rejected", StrCat(figures.rejected)},
                            {"retries", StrCat(figures.retries)}});
}

}  // namespace hopgap::cli
