#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "formats/otlp_json.h"
#include "formats/span_forms.h"

namespace hopgap::formats {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;
using trace::Span;

absl::Status BadField(std::string_view field, std::string_view why) {
  return absl::InvalidArgumentError(StrCat(field, ": ", why));
}

// An integer, bare or quoted, exact to the last digit.
std::optional<int64_t> Integer(const element& value) {
  switch (value.type()) {
    case element_type::INT64: return value.get_int64().value_unsafe();
    case element_type::UINT64: return std::nullopt;  // beyond what an instant can hold
    case element_type::STRING: return ParseNumber<int64_t>(value.get_string().value_unsafe());
    default: return std::nullopt;
  }
}

std::optional<std::string_view> Text(const element& value) {
  if (value.type() != element_type::STRING) return std::nullopt;
  return value.get_string().value_unsafe();
}

std::optional<uint64_t> HexWord(std::string_view text) {
  uint64_t word = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), word, 16);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return word;
}

// "SPAN_KIND_CLIENT", "STATUS_CODE_ERROR" and the like: illegal in OTLP JSON, but met.
std::optional<int64_t> Enum(const element& value, std::string_view prefix, std::span<const std::string_view> names) {
  if (const std::optional<int64_t> number = Integer(value)) return number;
  std::optional<std::string_view> text = Text(value);
  if (!text || !text->starts_with(prefix)) return std::nullopt;
  const auto found = std::find(names.begin(), names.end(), text->substr(prefix.size()));
  if (found == names.end()) return std::nullopt;
  return found - names.begin();
}

constexpr std::string_view kKinds[] = {"UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"};
constexpr std::string_view kStatuses[] = {"UNSET", "OK", "ERROR"};

// Reads OTLP's JSON. With `bad` a span that is none is named there and the rest
// is read, and so are Tempo's spellings: "batches", ids in base64. Without it the
// first fault ends the reading.
class OtlpReader {
 public:
  explicit OtlpReader(std::vector<BadSpan>* bad = nullptr) : bad_(bad) {}

  absl::Status Read(const simdjson::dom::object& object, std::vector<Span>& out) {
    bool found = false;
    for (const auto& [key, value] : object) {
      const bool tempo = bad_ != nullptr && key == "batches";
      if (!tempo && !Is(key, "resourceSpans", "resource_spans")) continue;
      found = true;
      absl::Status status = Each(value, "resourceSpans", [&](const element& one) { return ReadResource(one, out); });
      if (!status.ok()) return status;
    }
    return found ? absl::OkStatus() : absl::InvalidArgumentError("no resourceSpans: not an OTLP trace line");
  }

  bool snake_case_seen() const { return snake_case_seen_; }

 private:
  bool Is(std::string_view key, std::string_view camel, std::string_view snake) {
    if (key == camel) return true;
    if (key != snake) return false;
    snake_case_seen_ = true;
    return true;
  }

  // Calls `take` with each element; null is an empty array.
  template <typename Take>
  static absl::Status Each(const element& value, std::string_view field, Take take) {
    if (value.is_null()) return absl::OkStatus();
    simdjson::dom::array array;
    if (value.get_array().get(array)) return BadField(field, "not an array");
    for (const element& one : array) {
      if (absl::Status status = take(one); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Calls `take(key, value)` with each member.
  template <typename Take>
  static absl::Status Members(const element& value, std::string_view field, Take take) {
    if (value.is_null()) return absl::OkStatus();
    simdjson::dom::object object;
    if (value.get_object().get(object)) return BadField(field, "not an object");
    for (const auto& [key, member] : object) {
      if (absl::Status status = take(key, member); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // A resource or a scope may stand after the spans it belongs to.
  absl::Status ReadResource(const element& value, std::vector<Span>& out) {
    Span resource;
    const size_t first = out.size();
    const absl::Status status = Members(value, "resourceSpans", [&](std::string_view key, const element& member) {
      if (key == "resource") return ReadResourceAttributes(member, resource);
      if (Is(key, "scopeSpans", "scope_spans") ||
          Is(key, "instrumentationLibrarySpans", "instrumentation_library_spans")) {
        return Each(member, key, [&](const element& one) { return ReadScope(one, out); });
      }
      return absl::OkStatus();
    });
    for (size_t i = first; i < out.size(); ++i) {
      out[i].service = resource.service;
      out[i].host = resource.host;
      out[i].language = resource.language;
    }
    return status;
  }

  absl::Status ReadResourceAttributes(const element& value, Span& resource) {
    trace::Attributes attributes;
    const absl::Status status = Members(value, "resource", [&](std::string_view key, const element& member) {
      return key == "attributes" ? ReadAttributes(member, attributes) : absl::OkStatus();
    });
    for (const auto& [key, attribute] : attributes) {
      const std::string* text = std::get_if<std::string>(&attribute);
      if (text != nullptr) ApplyResource(key, *text, resource);
    }
    return status;
  }

  absl::Status ReadScope(const element& value, std::vector<Span>& out) {
    std::string scope, version;
    const size_t first = out.size();
    const absl::Status status = Members(value, "scopeSpans", [&](std::string_view key, const element& member) {
      if (key == "spans") {
        return Each(member, key, [&](const element& one) { return TakeSpan(one, out); });
      }
      if (key == "scope" || Is(key, "instrumentationLibrary", "instrumentation_library")) {
        return Members(member, key, [&](std::string_view name, const element& text) {
          if (name == "name") scope = Text(text).value_or("");
          if (name == "version") version = Text(text).value_or("");
          return absl::OkStatus();
        });
      }
      return absl::OkStatus();
    });
    for (size_t i = first; i < out.size(); ++i) {
      out[i].scope = scope;
      out[i].scope_version = version;
    }
    return status;
  }

  absl::Status TakeSpan(const element& value, std::vector<Span>& out) {
    absl::Status status = ReadSpan(value, out.emplace_back());
    if (status.ok() || bad_ == nullptr) return status;
    out.pop_back();
    simdjson::dom::object object;
    const bool named = value.get_object().get(object) == simdjson::SUCCESS;
    bad_->push_back({.line = 0,
                     .id = std::string(named ? TextMember(object, "spanId") : ""),
                     .why = std::string(MessageOf(status))});
    return absl::OkStatus();
  }

  absl::Status ReadSpan(const element& value, Span& span) {
    absl::Status status = Members(
        value, "spans", [&](std::string_view key, const element& member) { return ReadSpanField(key, member, span); });
    if (!status.ok()) return status;
    if ((span.trace_hi | span.trace_lo) == 0) return BadField("traceId", "missing or all zero");
    if (span.span == 0) return BadField("spanId", "missing or all zero");
    return absl::OkStatus();
  }

  absl::Status ReadSpanField(std::string_view key, const element& value, Span& span) {
    if (Is(key, "traceId", "trace_id")) return ReadTraceId(value, span.trace_hi, span.trace_lo);
    if (Is(key, "spanId", "span_id")) return ReadSpanId(key, value, span.span);
    if (Is(key, "parentSpanId", "parent_span_id")) return ReadParent(value, span.parent);
    if (key == "name") return ReadText(key, value, span.name);
    if (key == "kind") return ReadKind(value, span.kind);
    if (Is(key, "startTimeUnixNano", "start_time_unix_nano")) return ReadInstant(key, value, span.start);
    if (Is(key, "endTimeUnixNano", "end_time_unix_nano")) return ReadInstant(key, value, span.end);
    if (key == "attributes") return ReadAttributes(value, span.attributes);
    if (key == "events") {
      return Each(value, key, [&](const element& one) { return ReadEvent(one, span.events.emplace_back()); });
    }
    if (key == "links") {
      return Each(value, key, [&](const element& one) { return ReadLink(one, span.links.emplace_back()); });
    }
    if (key == "status") return ReadStatus(value, span);
    return absl::OkStatus();
  }

  absl::Status ReadTraceId(const element& value, uint64_t& hi, uint64_t& lo) const {
    const std::string_view text = Text(value).value_or("");
    if (bad_ != nullptr && text.size() == 24 && ParseTraceId(text, hi, lo)) return absl::OkStatus();
    const std::optional<uint64_t> high = text.size() == 32 ? HexWord(text.substr(0, 16)) : std::nullopt;
    const std::optional<uint64_t> low = text.size() == 32 ? HexWord(text.substr(16)) : std::nullopt;
    if (!high || !low) return BadField("traceId", "not 32 hexadecimal digits");
    hi = *high;
    lo = *low;
    return absl::OkStatus();
  }

  absl::Status ReadSpanId(std::string_view field, const element& value, uint64_t& id) const {
    const std::string_view text = Text(value).value_or("");
    const bool base64 = bad_ != nullptr && text.size() == 12;
    const std::optional<uint64_t> word = base64 ? ParseSpanId(text) : text.size() == 16 ? HexWord(text) : std::nullopt;
    if (!word) return BadField(field, "not 16 hexadecimal digits");
    id = *word;
    return absl::OkStatus();
  }

  // "", null, "0" and zeros all mean: a root.
  absl::Status ReadParent(const element& value, uint64_t& id) const {
    if (value.is_null()) return absl::OkStatus();
    const std::optional<std::string_view> text = Text(value);
    if (text && (text->empty() || *text == "0")) return absl::OkStatus();
    return ReadSpanId("parentSpanId", value, id);
  }

  static absl::Status ReadText(std::string_view field, const element& value, std::string& out) {
    const std::optional<std::string_view> text = Text(value);
    if (!text) return BadField(field, "not a text");
    out = *text;
    return absl::OkStatus();
  }

  static absl::Status ReadKind(const element& value, trace::SpanKind& kind) {
    const std::optional<int64_t> number = Enum(value, "SPAN_KIND_", kKinds);
    if (!number || *number < 0 || *number > 5) return BadField("kind", "no span kind");
    kind = static_cast<trace::SpanKind>(*number);
    return absl::OkStatus();
  }

  static absl::Status ReadInstant(std::string_view field, const element& value, WallTime& at) {
    const std::optional<int64_t> nanos = Integer(value);
    if (!nanos || *nanos < 0) return BadField(field, "no time in nanoseconds since 1970");
    at = WallTime{Duration{*nanos}};
    return absl::OkStatus();
  }

  absl::Status ReadAttributes(const element& value, trace::Attributes& out) {
    return Each(value, "attributes", [&](const element& one) {
      auto& attribute = out.emplace_back();
      return Members(one, "attributes", [&](std::string_view key, const element& member) {
        if (key == "key") return ReadText("attributes.key", member, attribute.first);
        return key == "value" ? ReadAnyValue(member, attribute.second) : absl::OkStatus();
      });
    });
  }

  absl::Status ReadAnyValue(const element& value, trace::AttributeValue& out) {
    return Members(value, "attributes.value", [&](std::string_view key, const element& member) {
      if (Is(key, "intValue", "int_value")) {
        const std::optional<int64_t> number = Integer(member);
        if (!number) return BadField("intValue", "no 64-bit integer");
        out = *number;
      } else if (Is(key, "boolValue", "bool_value")) {
        bool flag = false;
        if (member.get_bool().get(flag)) return BadField("boolValue", "neither true nor false");
        out = flag;
      } else if (Is(key, "doubleValue", "double_value")) {
        return ReadDouble(member, out);
      } else if (const std::optional<std::string_view> text = Text(member)) {
        out = std::string(*text);  // stringValue; bytesValue keeps its base64
      } else {
        out = std::string(simdjson::minify(member));
      }
      return absl::OkStatus();
    });
  }

  static absl::Status ReadDouble(const element& value, trace::AttributeValue& out) {
    double number = 0;
    if (!value.get_double().get(number)) {
      out = number;
      return absl::OkStatus();
    }
    const std::optional<double> quoted = ParseNumber<double>(Text(value).value_or(""));  // also "NaN", "Infinity"
    if (!quoted) return BadField("doubleValue", "no number");
    out = *quoted;
    return absl::OkStatus();
  }

  absl::Status ReadEvent(const element& value, trace::SpanEvent& event) {
    return Members(value, "events", [&](std::string_view key, const element& member) {
      if (Is(key, "timeUnixNano", "time_unix_nano")) return ReadInstant(key, member, event.at);
      if (key == "name") return ReadText("events.name", member, event.name);
      return key == "attributes" ? ReadAttributes(member, event.attributes) : absl::OkStatus();
    });
  }

  absl::Status ReadLink(const element& value, trace::SpanLink& link) {
    return Members(value, "links", [&](std::string_view key, const element& member) {
      if (Is(key, "traceId", "trace_id")) return ReadTraceId(member, link.trace_hi, link.trace_lo);
      if (Is(key, "spanId", "span_id")) return ReadSpanId("links.spanId", member, link.span);
      return key == "attributes" ? ReadAttributes(member, link.attributes) : absl::OkStatus();
    });
  }

  static absl::Status ReadStatus(const element& value, Span& span) {
    return Members(value, "status", [&](std::string_view key, const element& member) {
      if (key == "message") return ReadText("status.message", member, span.status_message);
      if (key != "code") return absl::OkStatus();
      const std::optional<int64_t> code = Enum(member, "STATUS_CODE_", kStatuses);
      if (!code || *code < 0 || *code > 2) return BadField("status.code", "neither 0, 1 nor 2");
      span.status = static_cast<int>(*code);
      return absl::OkStatus();
    });
  }

  std::vector<BadSpan>* bad_;
  bool snake_case_seen_ = false;
};

}  // namespace

class OtlpLineReader::Impl {
 public:
  absl::Status Read(std::string_view line, std::vector<Span>& out) {
    element root;
    if (const simdjson::error_code error = parser_.parse(line.data(), line.size()).get(root)) {
      return absl::InvalidArgumentError(StrCat("no JSON: ", simdjson::error_message(error)));
    }
    simdjson::dom::object object;
    if (root.get_object().get(object)) return absl::InvalidArgumentError("no JSON object");
    const size_t before = out.size();
    absl::Status status = reader_.Read(object, out);
    if (!status.ok()) out.resize(before);
    return status;
  }

  bool snake_case_seen() const { return reader_.snake_case_seen(); }

 private:
  simdjson::dom::parser parser_{kOtlpLineBytesMax};
  OtlpReader reader_;
};

OtlpLineReader::OtlpLineReader() : impl_(std::make_unique<Impl>()) {}
OtlpLineReader::~OtlpLineReader() = default;
absl::Status OtlpLineReader::Read(std::string_view line, std::vector<Span>& out) { return impl_->Read(line, out); }
bool OtlpLineReader::snake_case_seen() const { return impl_->snake_case_seen(); }

void ReadOtlpDocument(const Object& document, SpanSink& sink) {
  sink.source.forms.insert(Member(document, "batches") ? SpanForm::kTempo : SpanForm::kOtlpJson);
  OtlpReader reader(&sink.bad);
  if (const absl::Status status = reader.Read(document, sink.spans); !status.ok()) {
    sink.bad.push_back({.line = 0, .id = "", .why = std::string(MessageOf(status))});
  }
  sink.source.snake_case = sink.source.snake_case || reader.snake_case_seen();
}

}  // namespace hopgap::formats
