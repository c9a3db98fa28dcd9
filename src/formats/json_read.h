#pragma once

#include <absl/status/statusor.h>

#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/time.h"

namespace hopgap::formats {

// Reading JSON of others in our own words. Private to this room.
using ReadableJson = nlohmann::ordered_json;

// The document in `text`. InvalidArgument if it is none, with the byte (from 1)
// at which it stops being one, or if an object has a field twice: readers
// disagree on which of them counts, so neither does.
absl::StatusOr<ReadableJson> ParseJson(std::string_view text);

// The fields of an object, one by one, into plain values. The first that is
// missing or of the wrong kind is what `status` says, as PATH.NAME; later ones
// are left alone. `status` and the object outlive it.
class FieldReader {
 public:
  FieldReader(const ReadableJson& object, std::string path, absl::Status& status)
      : object_(object), path_(std::move(path)), status_(status) {}

  // The object called `name`; an empty one if it is missing, which its first field then says.
  FieldReader In(const char* name) const;

  // Whether it is there and not null.
  bool Has(const char* name) const;

  template <typename T>
  FieldReader& Take(const char* name, T& out) {
    if (!Has(name)) {
      Fail(name, "is missing");
    } else if (status_.ok() && !Convert(object_.at(name), out)) {
      Fail(name, "is of another kind than it was written as");
    }
    return *this;
  }
  // Fields that older versions did not write.
  template <typename T>
  FieldReader& TakeIfThere(const char* name, T& out) {
    return Has(name) ? Take(name, out) : *this;
  }

 private:
  template <typename T>
  static bool Convert(const ReadableJson& value, T& out) {
    if constexpr (std::same_as<T, Duration>) {
      int64_t nanoseconds = 0;
      if (!Convert(value, nanoseconds)) return false;
      out = Duration{nanoseconds};
    } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
      // The library would take 1.5 for 1 and -1 for a large number.
      if (!value.is_number_integer()) return false;
      if (value.is_number_unsigned()) {
        if (!std::in_range<T>(value.get<uint64_t>())) return false;
      } else if (!std::in_range<T>(value.get<int64_t>())) {
        return false;
      }
      value.get_to(out);
    } else {
      try {
        value.get_to(out);
      } catch (const ReadableJson::exception&) {
        return false;
      }
    }
    return true;
  }
  void Fail(const char* name, std::string_view what);

  const ReadableJson& object_;
  const std::string path_;
  absl::Status& status_;
};

}  // namespace hopgap::formats
