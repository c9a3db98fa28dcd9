#pragma once

#include <absl/status/statusor.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "client/model.h"
#include "lab/options.h"
#include "remote/target.h"
#include "trace/event.h"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace hopgap::cli {

// The built-in seed: its 31 medians under cloud-replay lie within 3 % of the
// profile's (tests/scenario/emergence_test.cc pins that).
inline constexpr uint64_t kBuiltinSeed = 203;
inline constexpr uint64_t kSpansAllMax = 2'000;   // messages in all, with --spans auto
inline constexpr uint64_t kSpansSampled = 1'000;  // and what is sampled beyond

// Test-only faults at the seams (--plant, hidden).
struct Plants {
  lab::Planted lab;
  client::Planted client;
  std::array<Duration, trace::kDelayLegs> legs{};
  Duration wire{0};

  bool InBroker() const { return wire != Duration{0} || legs != decltype(legs){}; }
};

struct SpanChoice {
  enum class Kind : uint8_t { kAuto, kAll, kSampled, kNone };
  Kind kind = Kind::kAuto;
  uint64_t sample = 0;
};

// What `run` and `simulate` were asked to do, checked.
struct RunOptions {
  uint64_t millihertz = 1000;  // the mean rate
  lab::Arrival arrival;
  std::string arrival_text;    // of --arrival; empty: constant
  uint64_t messages = 31;      // slots
  uint64_t message_bytes = 0;  // of data; 0: a few
  int hops = 3;
  WorkLaw work{std::chrono::milliseconds{200}};
  lab::HandlerFailures failures;
  uint32_t streams = 4;
  int64_t max_outstanding_messages = 1000;
  std::string client = "go";
  std::vector<std::string> arms;  // of --arm
  std::vector<std::string> only;  // names of the arms to be run; empty: all
  lab::PublishMode publish = lab::PublishMode::kAwait;
  Duration drain{std::chrono::seconds{30}};
  bool gated = false;
  std::string target = "embedded";
  std::optional<remote::Target> remote;  // unless embedded or simulated
  std::string prefix;                    // of the names of resources; empty: one of its own
  bool dry_run = false;
  bool target_from_environment = false;
  std::string profile = "cloud-replay";  // name, file or "none"
  std::string preset;
  Duration warm_up{0};
  uint64_t seed = kBuiltinSeed;
  SpanChoice spans;
  std::string out;  // folder to write; empty: runs/<start>
  bool no_out = false;
  bool processes = false;
  bool json = false, markdown = false, csv = false, quiet = false, per_hop = false;
  std::string waterfall;  // arm; empty: the report chooses
  std::string report;     // one more copy of report.html; empty: none
  std::vector<std::string> thresholds;
  uint64_t ring_events = 4'000'000;
  Plants plants;
  bool simulated = false;

  // One document on standard output, and nothing beside it.
  bool document() const { return json || markdown || csv; }
  bool embedded() const { return target == "embedded"; }
};

// Registers the options of `run` or `simulate` on `app`. Raw texts are kept in
// the returned holder, which must outlive parsing; Finish() checks them and
// fills the options. InvalidArgument names flag, value and limit.
class RunFlags {
 public:
  RunFlags(CLI::App& app, bool simulated);
  absl::StatusOr<RunOptions> Finish() const;

 private:
  struct Raw;
  std::shared_ptr<Raw> raw_;  // CLI11 keeps references to its texts
};

// Messages a second, as millihertz. InvalidArgument outside [0.001, 100000].
absl::StatusOr<uint64_t> ParseRate(std::string_view text);

// "200ms", "20s", "1.5m", "0"; InvalidArgument names `flag`.
absl::StatusOr<Duration> ParseDuration(std::string_view flag, std::string_view text);

// A duration, "exponential:200ms" (its mean) or "lognormal:200ms,p99=900ms" (its
// median and 99th percentile); drawn under `seed`. InvalidArgument names --work.
absl::StatusOr<WorkLaw> ParseWork(std::string_view text, uint64_t seed);
// What --work says, for help texts.
inline constexpr char kWorkHelp[] =
    "simulated work per handler: a duration, or drawn per message and hop:\n"
    "exponential:MEAN, or lognormal:MEDIAN,p99=TIME";

// Bytes of data a message. InvalidArgument names --message-bytes.
absl::StatusOr<uint64_t> ParseMessageBytes(std::string_view text);

// "0.01" or "1%". InvalidArgument names --handler-failures.
absl::StatusOr<lab::HandlerFailures> ParseFailures(std::string_view text, uint64_t seed);
inline constexpr char kFailuresHelp[] = "share of handlings that end in a nack instead of publish and ack: 0.01, 1%";

// "4GiB", "512MiB", "64KiB", "4096" as bytes; InvalidArgument names `flag`, also
// outside [kSizeMin, kSizeMax].
inline constexpr uint64_t kSizeMin = 1 << 10, kSizeMax = uint64_t{1} << 40;
absl::StatusOr<uint64_t> ParseSize(std::string_view flag, std::string_view text);

}  // namespace hopgap::cli
