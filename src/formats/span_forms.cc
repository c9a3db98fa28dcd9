#include "formats/span_forms.h"

#include <limits>

#include "base/text.h"

namespace hopgap::formats {

using simdjson::dom::element_type;

void SpanSink::Take(SpanBuilder& builder, std::string_view id) {
  if (std::string fault = builder.Finish(); !fault.empty()) {
    bad.push_back({.line = 0, .id = std::string(id), .why = std::move(fault)});
    return;
  }
  spans.push_back(std::move(builder.span()));
}

std::optional<Element> Member(const Object& object, std::string_view name) {
  Element member;
  if (object[name].get(member) != simdjson::SUCCESS || member.is_null()) return std::nullopt;
  return member;
}

std::optional<Object> ObjectMember(const Object& object, std::string_view name) {
  const std::optional<Element> member = Member(object, name);
  Object inner;
  if (!member || member->get_object().get(inner) != simdjson::SUCCESS) return std::nullopt;
  return inner;
}

std::string_view TextMember(const Object& object, std::string_view name) {
  std::string_view text;
  if (object[name].get_string().get(text) != simdjson::SUCCESS) return {};
  return text;
}

std::optional<int64_t> ElementInteger(const Element& value) {
  switch (value.type()) {
    case element_type::INT64: return value.get_int64().value_unsafe();
    case element_type::STRING: return ParseNumber<int64_t>(value.get_string().value_unsafe());
    case element_type::DOUBLE: {
      const double number = value.get_double().value_unsafe();
      constexpr double kMax = 9e18;
      if (!(number > -kMax && number < kMax)) return std::nullopt;
      return static_cast<int64_t>(number);
    }
    default: return std::nullopt;
  }
}

std::optional<int64_t> IntegerMember(const Object& object, std::string_view name) {
  const std::optional<Element> member = Member(object, name);
  return member ? ElementInteger(*member) : std::nullopt;
}

std::string ElementText(const Element& value) {
  if (value.type() == element_type::STRING) return std::string(value.get_string().value_unsafe());
  return simdjson::minify(value);
}

trace::AttributeValue ElementValue(const Element& value) {
  switch (value.type()) {
    case element_type::INT64: return value.get_int64().value_unsafe();
    case element_type::BOOL: return value.get_bool().value_unsafe();
    case element_type::DOUBLE: return value.get_double().value_unsafe();
    default: return ElementText(value);
  }
}

bool ForEachIn(const Object& object, std::string_view name, const std::function<void(const Element&)>& take) {
  simdjson::dom::array array;
  if (object[name].get_array().get(array) != simdjson::SUCCESS) return false;
  for (const Element& one : array) take(one);
  return true;
}

void ForEachMember(const Object& object, const std::function<void(std::string_view, const Element&)>& take) {
  for (const auto& [key, value] : object) take(key, value);
}

std::optional<WallTime> MicrosMember(const Object& object, std::string_view name) {
  return After(WallTime{}, IntegerMember(object, name), 1'000);
}

std::optional<WallTime> InstantMember(const Object& object, std::string_view name) {
  const std::optional<Element> member = Member(object, name);
  return member ? ParseInstant(ElementText(*member)) : std::nullopt;
}

std::optional<WallTime> After(WallTime start, std::optional<int64_t> length, int64_t unit_ns) {
  if (!length || *length < 0) return std::nullopt;
  const int64_t left = std::numeric_limits<int64_t>::max() - ToNanos(start);
  if (*length > left / unit_ns) return std::nullopt;
  return start + Duration{*length * unit_ns};
}

bool ForEachMemberOfText(std::string_view json, const std::function<void(std::string_view, const Element&)>& take) {
  thread_local simdjson::dom::parser parser;
  Element root;
  Object object;
  if (parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS ||
      root.get_object().get(object) != simdjson::SUCCESS) {
    return false;
  }
  ForEachMember(object, take);
  return true;
}

}  // namespace hopgap::formats
