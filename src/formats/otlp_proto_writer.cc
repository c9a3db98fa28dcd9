#include <map>

#include "opentelemetry/proto/collector/trace/v1/trace_service.pb.h"

#include "formats/json_text.h"
#include "formats/otlp_proto.h"

namespace hopgap::formats {
namespace {

namespace collector = opentelemetry::proto::collector::trace::v1;
namespace common = opentelemetry::proto::common::v1;
namespace wire = opentelemetry::proto::trace::v1;
using trace::Span;

// A field's tag and length around a span, at most.
constexpr size_t kFrameBytes = 8;

std::string IdBytes(uint64_t word) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(word >> shift);
  return bytes;
}

using KeyValues = google::protobuf::RepeatedPtrField<common::KeyValue>;

void AddAttribute(std::string_view key, const trace::AttributeValue& value, KeyValues& out) {
  common::KeyValue* added = out.Add();
  added->set_key(Utf8(key));
  common::AnyValue& to = *added->mutable_value();
  if (const auto* text = std::get_if<std::string>(&value)) {
    to.set_string_value(Utf8(*text));
  } else if (const auto* number = std::get_if<int64_t>(&value)) {
    to.set_int_value(*number);
  } else if (const auto* flag = std::get_if<bool>(&value)) {
    to.set_bool_value(*flag);
  } else {
    to.set_double_value(std::get<double>(value));
  }
}

void AddAttributes(const trace::Attributes& attributes, KeyValues& out) {
  for (const auto& [key, value] : attributes) AddAttribute(key, value, out);
}

wire::Span ToWire(const Span& span) {
  wire::Span out;
  out.set_trace_id(IdBytes(span.trace_hi) + IdBytes(span.trace_lo));
  out.set_span_id(IdBytes(span.span));
  if (span.parent != 0) out.set_parent_span_id(IdBytes(span.parent));
  out.set_name(Utf8(span.name));
  out.set_kind(static_cast<wire::Span::SpanKind>(span.kind));
  out.set_start_time_unix_nano(static_cast<uint64_t>(ToNanos(span.start)));
  out.set_end_time_unix_nano(static_cast<uint64_t>(ToNanos(span.end)));
  AddAttributes(span.attributes, *out.mutable_attributes());
  for (const trace::SpanEvent& event : span.events) {
    wire::Span::Event* added = out.add_events();
    added->set_time_unix_nano(static_cast<uint64_t>(ToNanos(event.at)));
    added->set_name(Utf8(event.name));
    AddAttributes(event.attributes, *added->mutable_attributes());
  }
  for (const trace::SpanLink& link : span.links) {
    wire::Span::Link* added = out.add_links();
    added->set_trace_id(IdBytes(link.trace_hi) + IdBytes(link.trace_lo));
    added->set_span_id(IdBytes(link.span));
    AddAttributes(link.attributes, *added->mutable_attributes());
  }
  if (span.status != 0) {
    out.mutable_status()->set_code(static_cast<wire::Status::StatusCode>(span.status));
    out.mutable_status()->set_message(Utf8(span.status_message));
  }
  return out;
}

// One request in the making.
class Batch {
 public:
  explicit Batch(const OtlpResource& resource) : resource_(resource) {}

  size_t spans() const { return spans_; }
  // With a span of this size, in a group that may have to be made.
  size_t BytesWith(const Span& span, size_t span_bytes) const {
    const std::string& service = ServiceOf(span);
    const bool known = scopes_.contains({service, span.scope});
    return bytes_ + span_bytes + kFrameBytes + (known ? 0 : GroupBytes(service, span.scope));
  }

  void Add(const Span& span, wire::Span encoded, size_t span_bytes) {
    const std::string& service = ServiceOf(span);
    bytes_ = BytesWith(span, span_bytes);
    ++spans_;
    auto [scope, is_new] = scopes_.try_emplace({service, span.scope}, nullptr);
    if (is_new) scope->second = NewScope(service, span.scope);
    *scope->second->add_spans() = std::move(encoded);
  }

  OtlpRequest Take() { return {request_.SerializeAsString(), spans_}; }

 private:
  const std::string& ServiceOf(const Span& span) const {
    return span.service.empty() || resource_.service_wins ? resource_.service : span.service;
  }

  // An upper bound, as if the resource were written for each scope.
  size_t GroupBytes(const std::string& service, const std::string& scope) const {
    wire::ResourceSpans whole;
    FillResource(service, whole);
    whole.add_scope_spans()->mutable_scope()->set_name(Utf8(scope));
    return whole.ByteSizeLong() + 3 * kFrameBytes;
  }

  void FillResource(const std::string& service, wire::ResourceSpans& out) const {
    KeyValues& attributes = *out.mutable_resource()->mutable_attributes();
    if (!service.empty()) AddAttribute("service.name", service, attributes);
    AddAttributes(resource_.attributes, attributes);
  }

  wire::ScopeSpans* NewScope(const std::string& service, const std::string& scope) {
    auto [group, is_new] = services_.try_emplace(service, nullptr);
    if (is_new) {
      group->second = request_.add_resource_spans();
      FillResource(service, *group->second);
    }
    wire::ScopeSpans* added = group->second->add_scope_spans();
    added->mutable_scope()->set_name(Utf8(scope));
    return added;
  }

  const OtlpResource& resource_;
  collector::ExportTraceServiceRequest request_;
  std::map<std::string, wire::ResourceSpans*> services_;
  std::map<std::pair<std::string, std::string>, wire::ScopeSpans*> scopes_;
  size_t spans_ = 0, bytes_ = 0;
};

}  // namespace

std::vector<OtlpRequest> EncodeOtlpRequests(std::span<const Span> spans, const OtlpResource& resource,
                                            const OtlpRequestLimits& limits) {
  std::vector<OtlpRequest> requests;
  auto batch = std::make_unique<Batch>(resource);
  for (const Span& span : spans) {
    wire::Span encoded = ToWire(span);
    const size_t bytes = encoded.ByteSizeLong();
    if (batch->spans() > 0 &&
        (batch->spans() >= limits.spans_max || batch->BytesWith(span, bytes) > limits.bytes_max)) {
      requests.push_back(batch->Take());
      batch = std::make_unique<Batch>(resource);
    }
    batch->Add(span, std::move(encoded), bytes);
  }
  if (batch->spans() > 0) requests.push_back(batch->Take());
  return requests;
}

std::string EncodeOtlpResponse(const OtlpPartialSuccess& partial) {
  collector::ExportTraceServiceResponse response;
  if (!partial.empty()) {
    response.mutable_partial_success()->set_rejected_spans(partial.rejected_spans);
    response.mutable_partial_success()->set_error_message(Utf8(partial.message));
  }
  return response.SerializeAsString();
}

std::string OtlpResponseJson(const OtlpPartialSuccess& partial) {
  if (partial.empty()) return "{}";
  std::string out =
      "{\"partialSuccess\":{\"rejectedSpans\":\"" + std::to_string(partial.rejected_spans) + "\",\"errorMessage\":";
  AppendJsonText(partial.message, out);
  return out + "}}";
}

}  // namespace hopgap::formats
