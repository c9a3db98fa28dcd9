#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "formats/otlp_proto.h"

namespace hopgap::formats {

// Which traces leave, decided from the trace id alone, so that every process of
// a chain decides alike and a chain is kept whole: as the Go SDK does, so that
// its workers agree too. A caller that knows what the parent was decided to be
// says so; it is obeyed by the parentbased_ kinds only.
class Sampler {
 public:
  // Of a ratio of the traces. Requires: 0 <= ratio <= 1.
  static Sampler OfRatio(double ratio, bool parent_based);
  bool Keeps(uint64_t trace_lo, std::optional<bool> parent_sampled = std::nullopt) const {
    return parent_based_ && parent_sampled ? *parent_sampled : trace_lo >> 1 < below_;
  }

 private:
  bool parent_based_ = true;
  uint64_t below_ = uint64_t{1} << 63;
};

enum class OtlpProtocol : uint8_t { kHttpProtobuf, kGrpc };

// OTEL_BSP_*. The queue is larger than the specification's 2,048: a lab must
// not lose spans.
struct BatchSettings {
  Duration schedule_delay = std::chrono::milliseconds{5'000};
  Duration export_timeout = std::chrono::milliseconds{30'000};  // of a batch, all its retries included
  size_t queued_spans_max = 65'536;
  size_t batch_spans_max = 512;
};

// Where spans go and how, as the OpenTelemetry specification's variables say.
struct OtelSettings {
  bool enabled = false;
  std::string why_not;  // not enabled: for a log line
  OtlpProtocol protocol = OtlpProtocol::kHttpProtobuf;
  std::string origin;  // "http://host:4318"; gRPC: "host:4317"
  std::string path;    // of HTTP: "/v1/traces"
  bool tls = false;
  std::vector<std::pair<std::string, std::string>> headers;
  Duration timeout = std::chrono::seconds{10};  // of one request
  bool gzip = false;
  std::string ca_file, client_key_file, client_certificate_file;
  OtlpResource resource;
  Sampler sampler;
  BatchSettings batch;
};

// A variable's value; nullopt where it is not set. Empty counts as not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// OTEL_EXPORTER_OTLP_* (the OTEL_EXPORTER_OTLP_TRACES_* one wins), OTEL_BSP_*,
// OTEL_TRACES_SAMPLER, OTEL_TRACES_EXPORTER, OTEL_SERVICE_NAME,
// OTEL_RESOURCE_ATTRIBUTES, OTEL_SDK_DISABLED. Spans leave when an endpoint is
// named, or OTEL_TRACES_EXPORTER=otlp asks for the default one.
//
// InvalidArgument, naming the variable, its value and what it may be, for a value
// that is wrong or that is not served (http/json, console, jaeger_remote, …).
absl::StatusOr<OtelSettings> ReadOtelSettings(const Environment& environment);

}  // namespace hopgap::formats
