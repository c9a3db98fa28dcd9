#include "base/text.h"
#include "formats/span_forms.h"

// Which form a JSON document has, by its keys.
namespace hopgap::formats {
namespace {

constexpr int kNestingMax = 4;  // lists of lists, wrapped once or twice

bool Has(const Object& object, std::string_view name) { return Member(object, name).has_value(); }

std::string KeysOf(const Object& object) {
  constexpr size_t kShown = 5;
  std::string keys;
  size_t count = 0;
  for (const auto& [key, value] : object) {
    if (++count > kShown) return keys + ", ...";
    keys += StrCat(keys.empty() ? "" : ", ", key.substr(0, 30));
  }
  return keys.empty() ? "none" : keys;
}

absl::Status ReadList(const Element& list, SpanSink& sink, int depth);
absl::Status ReadAny(const Element& document, SpanSink& sink, int depth);

// Several documents under one key.
absl::Status ReadUnder(const Object& object, std::string_view name, SpanSink& sink, int depth) {
  return ReadList(*Member(object, name), sink, depth);
}

// One span or row. False if it is none.
bool ReadOne(const Object& object, SpanSink& sink) {
  if (Has(object, "SpanName")) {
    ReadClickHouseRow(object, sink);
  } else if (Has(object, "displayName") && Has(object, "name")) {
    ReadCloudTraceV2Span(object, sink);
  } else if (Has(object, "traceID") && Has(object, "spanID")) {
    ReadJaegerSpan(object, nullptr, sink);
  } else if (Has(object, "trace_id") && Has(object, "span_id")) {
    ReadAllSpansRow(object, sink);
  } else if (Has(object, "traceId") && Has(object, "id")) {
    ReadZipkinSpan(object, sink);
  } else {
    return false;
  }
  return true;
}

absl::Status ReadObject(const Object& object, SpanSink& sink, int depth) {
  if (Has(object, "resourceSpans") || Has(object, "resource_spans") || Has(object, "batches")) {
    ReadOtlpDocument(object, sink);
    return absl::OkStatus();
  }
  if (const auto trace = ObjectMember(object, "trace")) return ReadAny(*Member(object, "trace"), sink, depth + 1);
  if (Has(object, "processes") && Has(object, "spans")) {
    ReadJaegerTrace(object, sink);
    return absl::OkStatus();
  }
  if (Has(object, "traceId") && (Has(object, "spans") || Has(object, "projectId"))) {
    ReadCloudTraceV1(object, sink);
    return absl::OkStatus();
  }
  for (const std::string_view list : {"data", "traces", "spans", "rows"}) {
    if (simdjson::dom::array array; object[list].get_array().get(array) == simdjson::SUCCESS) {
      return ReadUnder(object, list, sink, depth + 1);
    }
  }
  if (ReadOne(object, sink)) return absl::OkStatus();
  if (Has(object, "extendedFields")) {
    return absl::InvalidArgumentError(
        "rows of the old BigQuery sink are not read; query _Trace.Spans._AllSpans instead");
  }
  return absl::InvalidArgumentError(
      StrCat("JSON, but no spans in a form that is known (its keys: ", KeysOf(object), ")"));
}

absl::Status ReadList(const Element& list, SpanSink& sink, int depth) {
  simdjson::dom::array array;
  if (list.get_array().get(array) != simdjson::SUCCESS) return absl::InvalidArgumentError("no list of spans");
  for (const Element& one : array) {
    if (absl::Status status = ReadAny(one, sink, depth); !status.ok()) {
      sink.bad.push_back({.line = 0, .id = "", .why = std::string(MessageOf(status))});
    }
  }
  return absl::OkStatus();
}

absl::Status ReadAny(const Element& document, SpanSink& sink, int depth) {
  if (depth > kNestingMax) return absl::InvalidArgumentError("lists in lists in lists: no form of spans");
  Object object;
  if (document.get_object().get(object) == simdjson::SUCCESS) return ReadObject(object, sink, depth);
  if (document.is_array()) return ReadList(document, sink, depth + 1);
  return absl::InvalidArgumentError("JSON, but neither an object nor a list");
}

}  // namespace

absl::Status ReadSpanDocument(const Element& document, SpanSink& sink) { return ReadAny(document, sink, 0); }

}  // namespace hopgap::formats
