#include "formats/otel_settings.h"

#include <absl/strings/match.h>

#include <cmath>

#include "base/text.h"
#include "base/version.h"
#include "formats/otel_endpoint.h"

namespace hopgap::formats {
namespace {

constexpr char kDefaultService[] = "unknown_service:hopgap";
constexpr char kDefaultHttp[] = "http://localhost:4318";
constexpr char kDefaultGrpc[] = "http://localhost:4317";
constexpr int64_t kMillisecondsMax = 86'400'000;  // a day
constexpr size_t kQueueMax = 4'194'304;

bool Equals(std::string_view a, std::string_view b) { return absl::EqualsIgnoreCase(ToAbsl(a), ToAbsl(b)); }

// Reads the variables one by one and keeps the first complaint.
class Reader {
 public:
  explicit Reader(const Environment& environment) : environment_(environment) {}

  absl::StatusOr<OtelSettings> Read() {
    ReadSwitches();
    ReadProtocol();
    ReadEndpoint();
    ReadTransport();
    ReadSampler();
    ReadBatch();
    ReadResource();
    if (!status_.ok()) return status_;
    return std::move(settings_);
  }

 private:
  std::optional<OtelVariable> Get(const std::string& name) const {
    const std::optional<std::string> value = environment_(name);
    if (!value || value->empty()) return std::nullopt;
    return OtelVariable{name, *value};
  }
  // The variable of the signal wins.
  std::optional<OtelVariable> GetOtlp(const std::string& suffix) const {
    if (auto own = Get("OTEL_EXPORTER_OTLP_TRACES_" + suffix)) return own;
    return Get("OTEL_EXPORTER_OTLP_" + suffix);
  }

  void Complain(absl::Status status) { status_.Update(std::move(status)); }

  bool Boolean(const std::optional<OtelVariable>& variable) {
    if (!variable) return false;
    const bool yes = Equals(variable->value, "true");
    if (!yes && !Equals(variable->value, "false")) Complain(BadVariable(*variable, "true or false"));
    return yes;
  }

  void Milliseconds(const std::optional<OtelVariable>& variable, int64_t min, Duration& to) {
    if (!variable) return;
    const std::optional<int64_t> number = ParseNumber<int64_t>(variable->value);
    if (!number || *number < min || *number > kMillisecondsMax) {
      return Complain(BadVariable(*variable, StrCat("a number of milliseconds from ", min, " to ", kMillisecondsMax)));
    }
    to = std::chrono::milliseconds{*number};
  }

  void Count(const std::optional<OtelVariable>& variable, size_t& to) {
    if (!variable) return;
    const std::optional<size_t> number = ParseNumber<size_t>(variable->value);
    if (!number || *number < 1 || *number > kQueueMax) {
      return Complain(BadVariable(*variable, StrCat("a number of spans from 1 to ", kQueueMax)));
    }
    to = *number;
  }

  void ReadSwitches() {
    const std::optional<OtelVariable> exporter = Get("OTEL_TRACES_EXPORTER");
    if (exporter && exporter->value != "otlp" && exporter->value != "none") {
      Complain(BadVariable(*exporter, "otlp or none, which is what hopgap serves"));
    }
    if (Boolean(Get("OTEL_SDK_DISABLED"))) {
      settings_.why_not = "OTEL_SDK_DISABLED is true";
    } else if (exporter && exporter->value == "none") {
      settings_.why_not = "OTEL_TRACES_EXPORTER is none";
    } else if (!exporter && !GetOtlp("ENDPOINT")) {
      settings_.why_not = "neither OTEL_EXPORTER_OTLP_ENDPOINT nor OTEL_TRACES_EXPORTER is set";
    }
    settings_.enabled = settings_.why_not.empty();
  }

  void ReadProtocol() {
    const std::optional<OtelVariable> protocol = GetOtlp("PROTOCOL");
    if (!protocol || protocol->value == "http/protobuf") return;
    if (protocol->value != "grpc") return Complain(BadVariable(*protocol, "http/protobuf or grpc"));
    settings_.protocol = OtlpProtocol::kGrpc;
  }

  void ReadEndpoint() {
    const bool insecure = Boolean(GetOtlp("INSECURE"));
    const bool of_traces = Get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").has_value();
    std::optional<OtelVariable> endpoint = GetOtlp("ENDPOINT");
    if (!endpoint) {
      const bool grpc = settings_.protocol == OtlpProtocol::kGrpc;
      endpoint = OtelVariable{"OTEL_EXPORTER_OTLP_ENDPOINT", grpc ? kDefaultGrpc : kDefaultHttp};
    }
    Complain(SetEndpoint(*endpoint, of_traces, insecure, settings_));
  }

  void ReadTransport() {
    if (const auto headers = GetOtlp("HEADERS")) {
      auto pairs = ReadPairs(*headers);
      if (!pairs.ok()) return Complain(pairs.status());
      settings_.headers = *std::move(pairs);
    }
    Milliseconds(GetOtlp("TIMEOUT"), 1, settings_.timeout);
    if (const auto compression = GetOtlp("COMPRESSION")) {
      settings_.gzip = compression->value == "gzip";
      if (!settings_.gzip && compression->value != "none") Complain(BadVariable(*compression, "none or gzip"));
    }
    const auto file = [this](const char* suffix) {
      const auto variable = GetOtlp(suffix);
      return variable ? variable->value : std::string();
    };
    settings_.ca_file = file("CERTIFICATE");
    settings_.client_key_file = file("CLIENT_KEY");
    settings_.client_certificate_file = file("CLIENT_CERTIFICATE");
    if (settings_.client_key_file.empty() != settings_.client_certificate_file.empty()) {
      Complain(absl::InvalidArgumentError(
          "OTEL_EXPORTER_OTLP_CLIENT_KEY and OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE go together: set both or neither"));
    }
  }

  void ReadSampler() {
    const std::optional<OtelVariable> sampler = Get("OTEL_TRACES_SAMPLER");
    const std::string name = sampler ? sampler->value : "parentbased_always_on";
    const bool parent_based = name.starts_with("parentbased_");
    const std::string kind = parent_based ? name.substr(name.find('_') + 1) : name;
    double ratio = kind == "always_off" ? 0 : 1;
    if (kind == "traceidratio") {
      if (const auto argument = Get("OTEL_TRACES_SAMPLER_ARG")) {
        const std::optional<double> number = ParseNumber<double>(argument->value);
        if (!number || !(*number >= 0 && *number <= 1)) {
          return Complain(BadVariable(*argument, "a ratio from 0 to 1"));
        }
        ratio = *number;
      }
    } else if (kind != "always_on" && kind != "always_off") {
      return Complain(BadVariable(*sampler, "always_on, always_off or traceidratio, maybe with parentbased_ before"));
    }
    settings_.sampler = Sampler::OfRatio(ratio, parent_based);
  }

  void ReadBatch() {
    BatchSettings& batch = settings_.batch;
    Milliseconds(Get("OTEL_BSP_SCHEDULE_DELAY"), 0, batch.schedule_delay);
    Milliseconds(Get("OTEL_BSP_EXPORT_TIMEOUT"), 1, batch.export_timeout);
    Count(Get("OTEL_BSP_MAX_QUEUE_SIZE"), batch.queued_spans_max);
    const std::optional<OtelVariable> size = Get("OTEL_BSP_MAX_EXPORT_BATCH_SIZE");
    Count(size, batch.batch_spans_max);
    if (batch.batch_spans_max <= batch.queued_spans_max) return;
    if (size) {
      return Complain(BadVariable(*size, StrCat("at most OTEL_BSP_MAX_QUEUE_SIZE, which is ", batch.queued_spans_max)));
    }
    batch.batch_spans_max = batch.queued_spans_max;
  }

  void ReadResource() {
    OtlpResource& resource = settings_.resource;
    resource.service = kDefaultService;
    if (const auto attributes = Get("OTEL_RESOURCE_ATTRIBUTES")) {
      auto pairs = ReadPairs(*attributes);
      if (!pairs.ok()) return Complain(pairs.status());
      for (auto& [key, value] : *pairs) {
        if (key == "service.name") {
          SetService(value);
        } else {
          resource.attributes.emplace_back(std::move(key), std::move(value));
        }
      }
    }
    if (const auto service = Get("OTEL_SERVICE_NAME")) SetService(service->value);
    AddDefault("service.version", kVersion);
    AddDefault("telemetry.sdk.name", "hopgap");
    AddDefault("telemetry.sdk.language", "cpp");
    AddDefault("telemetry.sdk.version", kVersion);
  }

  void SetService(const std::string& name) {
    settings_.resource.service = name;
    settings_.resource.service_wins = true;
  }

  void AddDefault(std::string_view key, std::string_view value) {
    for (const auto& [name, given] : settings_.resource.attributes) {
      if (name == key) return;
    }
    settings_.resource.attributes.emplace_back(std::string(key), std::string(value));
  }

  const Environment& environment_;
  OtelSettings settings_;
  absl::Status status_;
};

}  // namespace

Sampler Sampler::OfRatio(double ratio, bool parent_based) {
  Sampler sampler;
  sampler.parent_based_ = parent_based;
  sampler.below_ = static_cast<uint64_t>(std::ldexp(ratio, 63));
  return sampler;
}

absl::StatusOr<OtelSettings> ReadOtelSettings(const Environment& environment) { return Reader(environment).Read(); }

}  // namespace hopgap::formats
