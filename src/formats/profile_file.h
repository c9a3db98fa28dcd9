#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "broker/delays.h"

namespace hopgap::formats {

// A latency profile as a file: added delays, in words and numbers. The schema,
// one JSON object (profiles/README.md has an example):
//
//   name         text
//   description  text, may be left out
//   legs         object: publish_before_commit, publish_after_commit, deliver,
//                modack, ack; a leg that is left out adds nothing. Each an
//                object of tables by subscription kind: either "both", or
//                "standard" and/or "exactly_once". The publish legs happen
//                before there is a subscription: "both" only.
//   sources, fitted, guessed, held_out
//                arrays of text, may be left out: where the numbers come from
//   observed     object, may be left out (hopgap fit writes it): samples, how many
//                values a table stands on, by leg and kind; messages_per_response
//                by kind; not_observed, an array of text. It changes no delay.
//
// A table is one of
//   {"quantiles": [[p, ms], ...]}   p rises from 0 within [0, 1], ms does not
//                                   fall; straight lines between the points and
//                                   the last delay beyond them
//   {"lognormal": {"p50_ms": m, "sigma": s, "cut": c}}
//                                   m * exp(s * z), nothing beyond the quantile
//                                   c (default 0.999): made into a table of
//                                   kLognormalPoints points, computed once in
//                                   doubles and rounded to whole nanoseconds
//
// and may hold one more, "cold": the leg's delay while it is cold, which is when
// the topic (publish legs) or subscription (the others) has not used it for the
// profile's "cold_after_ms", a number that stands beside "legs" then, or has not
// used it yet since the broker's start.
//
// Anything else is refused by name.
struct ProfileFile {
  broker::Profile profile;
  std::string description;
  std::vector<std::string> sources, fitted, guessed, held_out;
  // What a fit saw: "deliver standard" -> values, messages per response by kind.
  std::map<std::string, uint64_t> samples;
  std::map<std::string, double> messages_per_response;
  std::vector<std::string> not_observed;

  // The text part, a line each: "source: ...", "fitted: ...".
  std::string Provenance() const;
};

inline constexpr size_t kLognormalPoints = 801;       // steps of equal z: denser in both tails
inline constexpr int kProfileDelayMsMax = 3'600'000;  // an hour: more is a slip of the pen
inline constexpr int kColdAfterMsMax = 86'400'000;    // a day
inline constexpr size_t kQuantilePointsMax = 100'000;
inline constexpr size_t kProfileBytesMax = 16 << 20;

// `origin` (a file name) begins every error; then leg, kind and point.
absl::StatusOr<ProfileFile> ParseProfile(std::string_view json, std::string_view origin);
absl::StatusOr<ProfileFile> ReadProfileFile(const std::string& path);

// Of the profiles that are built in. NotFound lists their names.
absl::StatusOr<ProfileFile> BuiltinProfile(std::string_view name);
std::vector<std::string> BuiltinProfileNames();

}  // namespace hopgap::formats
