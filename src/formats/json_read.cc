#include "formats/json_read.h"

#include <set>
#include <vector>

#include "formats/json_text.h"

namespace hopgap::formats {
namespace {

// The names of the objects that are open while a document is read.
class OpenObjects {
 public:
  // Notes the first name that comes twice.
  bool OnEvent(ReadableJson::parse_event_t event, const ReadableJson& parsed) {
    using Event = ReadableJson::parse_event_t;
    if (event == Event::object_start) names_.emplace_back();
    if (event == Event::object_end) names_.pop_back();
    if (event == Event::key && !names_.back().insert(parsed.get<std::string>()).second && twice_.empty()) {
      twice_ = parsed.get<std::string>();
    }
    return true;
  }
  const std::string& twice() const { return twice_; }

 private:
  std::vector<std::set<std::string>> names_;
  std::string twice_;
};

}  // namespace

absl::StatusOr<ReadableJson> ParseJson(std::string_view text) {
  OpenObjects open;
  // Only an error that is thrown says where it is.
  try {
    ReadableJson json =
        ReadableJson::parse(text, [&open](int, ReadableJson::parse_event_t event, const ReadableJson& parsed) {
          return open.OnEvent(event, parsed);
        });
    if (open.twice().empty()) return json;
    return absl::InvalidArgumentError(StrCat("the field '", Utf8(open.twice()), "' is there twice"));
  } catch (const ReadableJson::parse_error& error) {
    return absl::InvalidArgumentError(
        StrCat("no JSON: byte ", error.byte, " of ", text.size(),
               error.byte > text.size() ? ", where it breaks off" : " cannot stand there"));
  } catch (const ReadableJson::exception&) {
    return absl::InvalidArgumentError("no JSON: a number in it is too large");
  }
}

FieldReader FieldReader::In(const char* name) const {
  static const ReadableJson kNone = ReadableJson::object();
  return {Has(name) ? object_.at(name) : kNone, StrCat(path_, name, "."), status_};
}

bool FieldReader::Has(const char* name) const {
  const auto found = object_.find(name);
  return found != object_.end() && !found->is_null();
}

void FieldReader::Fail(const char* name, std::string_view what) {
  if (status_.ok()) status_ = absl::InvalidArgumentError(StrCat(path_, name, ": ", what));
}

}  // namespace hopgap::formats
