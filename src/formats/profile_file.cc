#include "formats/profile_file.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/draw.h"
#include "base/text.h"
#include "formats/builtin_profiles.h"
#include "formats/json_read.h"
#include "formats/lognormal.h"

namespace hopgap::formats {
namespace {

using Json = nlohmann::ordered_json;  // one kind in the whole room
using broker::Leg;
using broker::QuantileTable;

// Where in the profile we are; begins every error.
class Place {
 public:
  explicit Place(std::string where) : where_(std::move(where)) {}
  Place In(std::string_view part) const { return Place(StrCat(where_, ": ", part)); }
  absl::Status Bad(std::string_view why) const { return absl::InvalidArgumentError(StrCat(where_, ": ", why)); }

 private:
  std::string where_;
};

// Refuses the names that are not in `known`.
absl::Status OnlyKnown(const Json& object, const Place& place, std::initializer_list<std::string_view> known) {
  if (!object.is_object()) return place.Bad("not an object");
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), std::string_view(key)) == known.end()) {
      return place.Bad(StrCat("unknown name '", key, "'"));
    }
  }
  return absl::OkStatus();
}

// The number called `name`; nullopt if it is absent, no number, or outside [low, high].
std::optional<double> NumberIn(const Json& object, const char* name, double low, double high) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double number = found->get<double>();
  return number >= low && number <= high ? std::optional(number) : std::nullopt;
}

// "0.95" and not "0.9500000000000000": as the file says it.
std::string Shown(const Json& value) { return value.dump(); }

absl::StatusOr<QuantileTable> ParseLognormal(const Json& json, const Place& place) {
  if (absl::Status status = OnlyKnown(json, place, {"p50_ms", "sigma", "cut"}); !status.ok()) return status;
  const std::optional<double> p50 = NumberIn(json, "p50_ms", 1e-6, kProfileDelayMsMax);
  const std::optional<double> sigma = NumberIn(json, "sigma", 0, 10);
  const std::optional<double> cut = json.contains("cut") ? NumberIn(json, "cut", 0.501, 0.999999) : 0.999;
  if (!p50) return place.Bad(StrCat("p50_ms: not a number in (0, ", kProfileDelayMsMax, "]"));
  if (!sigma) return place.Bad("sigma: not a number in [0, 10]");
  if (!cut) return place.Bad("cut: not a number in [0.501, 0.999999]");
  std::vector<QuantileTable::Point> points = LognormalPoints(*p50, *sigma, *cut, kLognormalPoints);
  if (ToMillis(points.back().delay) > kProfileDelayMsMax) {
    return place.Bad(
        StrCat("reaches ", ToMillis(points.back().delay), " ms at its cut: the most is ", kProfileDelayMsMax));
  }
  return QuantileTable::Make(std::move(points));
}

absl::StatusOr<QuantileTable::Point> ParsePoint(const Json& json, const Place& place) {
  if (!json.is_array() || json.size() != 2 || !json[0].is_number() || !json[1].is_number()) {
    return place.Bad(StrCat(Shown(json), " is not a pair [p, ms]"));
  }
  const double p = json[0].get<double>(), ms = json[1].get<double>();
  if (!(p >= 0 && p <= 1)) return place.Bad(StrCat("p ", Shown(json[0]), " is outside [0, 1]"));
  if (!(ms >= 0 && ms <= kProfileDelayMsMax)) {
    return place.Bad(StrCat(Shown(json[1]), " ms is outside [0, ", kProfileDelayMsMax, "]"));
  }
  return QuantileTable::Point{.fraction = static_cast<uint64_t>(std::llround(p * static_cast<double>(kFractionOne))),
                              .delay = Duration{std::llround(ms * 1e6)}};
}

absl::StatusOr<QuantileTable> ParseQuantiles(const Json& json, const Place& place) {
  if (!json.is_array() || json.empty()) return place.Bad("not a list of [p, ms]");
  if (json.size() > kQuantilePointsMax) return place.Bad(StrCat("more than ", kQuantilePointsMax, " points"));
  std::vector<QuantileTable::Point> points;
  for (size_t i = 0; i < json.size(); ++i) {
    const Place here = place.In(StrCat("point ", i + 1));
    const absl::StatusOr<QuantileTable::Point> point = ParsePoint(json[i], here);
    if (!point.ok()) return point.status();
    if (i == 0 && point->fraction != 0) return here.Bad("the first point must be at p = 0");
    if (i > 0 && point->fraction <= points.back().fraction) return here.Bad("p does not rise");
    if (i > 0 && point->delay < points.back().delay) return here.Bad("the delay falls");
    points.push_back(*point);
  }
  return QuantileTable::Make(std::move(points));
}

absl::StatusOr<QuantileTable> ParseTable(const Json& json, const Place& place, bool cold_known) {
  absl::Status status = cold_known ? OnlyKnown(json, place, {"quantiles", "lognormal", "cold"})
                                   : OnlyKnown(json, place, {"quantiles", "lognormal"});
  if (!status.ok()) return status;
  if (json.contains("quantiles") == json.contains("lognormal")) {
    return place.Bad("give either 'quantiles' or 'lognormal'");
  }
  const std::string form = json.contains("lognormal") ? "lognormal" : "quantiles";
  const Place here = place.In(form);
  absl::StatusOr<QuantileTable> table =
      form == "lognormal" ? ParseLognormal(json[form], here) : ParseQuantiles(json[form], here);
  if (!table.ok() && MessageOf(table.status()).find(form) == std::string_view::npos) {
    return here.Bad(MessageOf(table.status()));  // the table's own error does not know the leg
  }
  return table;
}

absl::Status ParseLeg(const Json& json, Leg leg, const Place& place, broker::Profile& profile) {
  const bool publish = leg == Leg::kPublishBefore || leg == Leg::kPublishAfter;
  if (absl::Status status = OnlyKnown(json, place, {"both", "standard", "exactly_once"}); !status.ok()) return status;
  if (publish && (json.contains("standard") || json.contains("exactly_once"))) {
    return place.Bad("a publish knows no subscription: one table, called 'both'");
  }
  if (json.contains("both") && json.size() > 1) return place.Bad("'both' stands alone");
  const auto index = static_cast<size_t>(leg);
  for (const auto& [kind, value] : json.items()) {
    const absl::StatusOr<QuantileTable> table = ParseTable(value, place.In(kind), true);
    if (!table.ok()) return table.status();
    std::optional<QuantileTable> cold;
    if (value.contains("cold")) {
      absl::StatusOr<QuantileTable> parsed = ParseTable(value["cold"], place.In(kind).In("cold"), false);
      if (!parsed.ok()) return parsed.status();
      cold = *std::move(parsed);
    }
    if (kind != "exactly_once") profile.standard[index] = *table, profile.cold_standard[index] = cold;
    if (kind != "standard") profile.exactly_once[index] = *table, profile.cold_exactly_once[index] = cold;
  }
  return absl::OkStatus();
}

absl::Status ParseLegs(const Json& json, const Place& place, broker::Profile& profile) {
  if (!json.is_object()) return place.Bad("not an object");
  for (const auto& [name, value] : json.items()) {
    std::optional<Leg> leg;
    for (int i = 0; i < trace::kDelayLegs; ++i) {
      if (broker::LegName(static_cast<Leg>(i)) == name) leg = static_cast<Leg>(i);
    }
    if (!leg) return OnlyKnown(json, place, {});  // no leg of ours
    if (absl::Status status = ParseLeg(value, *leg, place.In(name), profile); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Cold tables and when they hold: both or neither.
absl::Status ParseColdAfter(const Json& root, const Place& place, broker::Profile& profile) {
  constexpr const char* kName = "cold_after_ms";
  if (!root.contains(kName)) {
    return profile.HasCold() ? place.Bad(StrCat(kName, ": missing, and there are 'cold' tables")) : absl::OkStatus();
  }
  if (!profile.HasCold()) return place.Bad(StrCat(kName, ": there is no 'cold' table that it could be of"));
  const std::optional<double> after = NumberIn(root, kName, 1, kColdAfterMsMax);
  if (!after)
    return place.Bad(StrCat(kName, ": ", Shown(root[kName]), " is not a number in [1, ", kColdAfterMsMax, "]"));
  profile.cold_after = Duration{std::llround(*after * 1e6)};
  return absl::OkStatus();
}

absl::Status ParseTexts(const Json& root, const char* name, const Place& place, std::vector<std::string>& out) {
  const auto found = root.find(name);
  if (found == root.end()) return absl::OkStatus();
  if (!found->is_array()) return place.In(name).Bad("not a list of texts");
  for (const Json& one : *found) {
    if (!one.is_string()) return place.In(name).Bad(StrCat(Shown(one), " is not a text"));
    out.push_back(one.get<std::string>());
  }
  return absl::OkStatus();
}

absl::Status ParseObserved(const Json& json, const Place& place, ProfileFile& file) {
  absl::Status status = OnlyKnown(json, place, {"samples", "messages_per_response", "not_observed"});
  if (!status.ok()) return status;
  if (json.contains("samples")) {
    const Place here = place.In("samples");
    if (!json["samples"].is_object()) return here.Bad("not an object");
    for (const auto& [leg, kinds] : json["samples"].items()) {
      if (status = OnlyKnown(kinds, here.In(leg), {"both", "standard", "exactly_once"}); !status.ok()) return status;
      for (const auto& [kind, count] : kinds.items()) {
        if (!count.is_number_unsigned()) return here.In(leg).In(kind).Bad(StrCat(Shown(count), " is no count"));
        file.samples[StrCat(leg, " ", kind)] = count.get<uint64_t>();
      }
    }
  }
  if (json.contains("messages_per_response")) {
    const Json& kinds = json["messages_per_response"];
    const Place here = place.In("messages_per_response");
    if (status = OnlyKnown(kinds, here, {"standard", "exactly_once"}); !status.ok()) return status;
    for (const auto& [kind, count] : kinds.items()) {
      const std::optional<double> number = NumberIn(kinds, kind.c_str(), 1, 1e6);
      if (!number) return here.In(kind).Bad(StrCat(Shown(count), " is not a number in [1, 1000000]"));
      file.messages_per_response[kind] = *number;
    }
  }
  return ParseTexts(json, "not_observed", place, file.not_observed);
}

}  // namespace

absl::StatusOr<ProfileFile> ParseProfile(std::string_view json, std::string_view origin) {
  const Place place{std::string(origin)};
  const absl::StatusOr<Json> parsed = ParseJson(json);
  if (!parsed.ok()) return place.Bad(MessageOf(parsed.status()));
  const Json& root = *parsed;
  absl::Status status = OnlyKnown(
      root, place,
      {"name", "description", "legs", "cold_after_ms", "sources", "fitted", "guessed", "held_out", "observed"});
  if (!status.ok()) return status;
  ProfileFile file;
  if (!root.contains("name") || !root["name"].is_string()) return place.Bad("name: missing, or not a text");
  file.profile.name = root["name"].get<std::string>();
  if (root.contains("description")) {
    if (!root["description"].is_string()) return place.Bad("description: not a text");
    file.description = root["description"].get<std::string>();
  }
  if (!root.contains("legs")) return place.Bad("legs: missing");
  if (status = ParseLegs(root["legs"], place.In("legs"), file.profile); !status.ok()) return status;
  if (status = ParseColdAfter(root, place, file.profile); !status.ok()) return status;
  for (const auto& [name, texts] : {std::pair{"sources", &file.sources}, std::pair{"fitted", &file.fitted},
                                    std::pair{"guessed", &file.guessed}, std::pair{"held_out", &file.held_out}}) {
    if (status = ParseTexts(root, name, place, *texts); !status.ok()) return status;
  }
  if (root.contains("observed")) status = ParseObserved(root["observed"], place.In("observed"), file);
  if (!status.ok()) return status;
  return file;
}

absl::StatusOr<ProfileFile> ReadProfileFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return absl::NotFoundError(StrCat("cannot read the profile '", path, "'"));
  std::string text(kProfileBytesMax + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  if (in.bad() || (text.empty() && !in.eof())) {
    return absl::UnavailableError(StrCat("cannot read the profile '", path, "'"));
  }
  if (text.size() > kProfileBytesMax) {
    return absl::InvalidArgumentError(StrCat(path, ": longer than ", kProfileBytesMax, " bytes"));
  }
  return ParseProfile(text, path);
}

std::string ProfileFile::Provenance() const {
  std::string text;
  for (const auto& [label, lines] :
       {std::pair{"source", &sources}, std::pair{"fitted", &fitted}, std::pair{"guessed", &guessed},
        std::pair{"held out", &held_out}, std::pair{"not observed", &not_observed}}) {
    for (const std::string& line : *lines) text += StrCat(label, ": ", line, "\n");
  }
  return text;
}

absl::StatusOr<ProfileFile> BuiltinProfile(std::string_view name) {
  for (const BuiltinText& builtin : BuiltinProfileTexts()) {
    if (builtin.name == name) return ParseProfile(builtin.text, StrCat("built-in profile ", name));
  }
  std::string names;
  for (const std::string& known : BuiltinProfileNames()) names += StrCat(names.empty() ? "" : ", ", known);
  return absl::NotFoundError(StrCat("no built-in profile is called '", name, "'; there is: ", names));
}

std::vector<std::string> BuiltinProfileNames() {
  std::vector<std::string> names;
  for (const BuiltinText& builtin : BuiltinProfileTexts()) names.emplace_back(builtin.name);
  return names;
}

}  // namespace hopgap::formats
