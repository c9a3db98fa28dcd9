#include "trace/span.h"

#include "base/text.h"

namespace hopgap::trace {

const AttributeValue* Span::Find(std::string_view key) const {
  for (const auto& [attribute, value] : attributes) {
    if (attribute == key) return &value;
  }
  return nullptr;
}

int64_t Span::Int(std::string_view key, int64_t otherwise) const {
  const AttributeValue* value = Find(key);
  if (value == nullptr) return otherwise;
  if (const int64_t* number = std::get_if<int64_t>(value)) return *number;
  if (const std::string* text = std::get_if<std::string>(value)) {
    return ParseNumber<int64_t>(*text).value_or(otherwise);
  }
  return otherwise;
}

std::string_view Span::Text(std::string_view key) const {
  const AttributeValue* value = Find(key);
  const std::string* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? std::string_view{} : std::string_view{*text};
}

const SpanEvent* Span::FindEvent(std::string_view event_name) const {
  for (const SpanEvent& event : events) {
    if (event.name == event_name) return &event;
  }
  return nullptr;
}

}  // namespace hopgap::trace
