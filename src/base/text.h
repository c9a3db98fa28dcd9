#pragma once

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// Debian builds Abseil with a string_view of its own, which std::string_view
// does not convert to. These are the few text functions we need, over the
// standard type.
namespace hopgap {
inline namespace base {

namespace text_internal {
template <typename T>
decltype(auto) ForAbsl(const T& value) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    return absl::string_view(value.data(), value.size());
  } else {
    return (value);
  }
}
}  // namespace text_internal

// absl::StrCat that also takes std::string_view.
template <typename... Args>
std::string StrCat(const Args&... args) {
  return absl::StrCat(text_internal::ForAbsl(args)...);
}

inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view ToStd(absl::string_view text) { return {text.data(), text.size()}; }
inline std::string_view MessageOf(const absl::Status& status) { return ToStd(status.message()); }

// The parts between the separators, empty ones included; "" gives one empty part.
inline std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at = 0;;) {
    const size_t end = text.find(separator, at);
    parts.push_back(text.substr(at, end == std::string_view::npos ? end : end - at));
    if (end == std::string_view::npos) return parts;
    at = end + 1;
  }
}

// The whole text as a decimal number; nullopt for anything else or overflow.
template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace base
}  // namespace hopgap
