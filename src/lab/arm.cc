#include "lab/arm.h"

#include <absl/status/status.h>

#include <vector>

#include "base/text.h"

namespace hopgap::lab {
namespace {

constexpr uint32_t kStreamsMax = 100;  // a connection carries 100 streams in Cloud Pub/Sub's clients
constexpr size_t kNameMax = 40;

absl::Status Bad(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(
      StrCat("--arm ", text, ": ", why,
             "; use std, eos or eos-overlap, NAME:KIND[,streams=N] such as eos10:eos,streams=10, or "
             "NAME:[KIND[,streams=N],]worker=COMMAND"));
}

bool GoodName(std::string_view name) {
  if (name.empty() || name.size() > kNameMax) return false;
  for (char c : name) {
    const bool good =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (!good) return false;
  }
  return true;
}

absl::Status ApplySetting(std::string_view text, std::string_view setting, ArmSpec& arm) {
  constexpr std::string_view kStreams = "streams=";
  if (setting.substr(0, kStreams.size()) != kStreams) return Bad(text, StrCat("unknown setting '", setting, "'"));
  const std::optional<uint32_t> streams = ParseNumber<uint32_t>(setting.substr(kStreams.size()));
  if (!streams || *streams < 1 || *streams > kStreamsMax) {
    return Bad(text, StrCat("'", setting, "' is outside [1, ", kStreamsMax, "]"));
  }
  arm.streams = *streams;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ArmSpec> ParseArm(std::string_view text, std::string_view default_model) {
  ArmSpec arm;
  std::string_view rest = text;
  if (const size_t colon = text.find(':'); colon != std::string_view::npos && colon < text.find('=')) {
    arm.name = std::string(text.substr(0, colon));
    rest = text.substr(colon + 1);
  }
  // The command may hold commas and colons of its own.
  constexpr std::string_view kWorker = "worker=";
  if (const size_t at = rest.find(kWorker); at == 0 || (at != std::string_view::npos && rest[at - 1] == ',')) {
    arm.worker = std::string(rest.substr(at + kWorker.size()));
    if (arm.worker.empty()) return Bad(text, "worker= names no command");
    if (arm.name.empty()) return Bad(text, "an arm with a worker of its own needs a name");
    rest = at == 0 ? std::string_view("eos") : rest.substr(0, at - 1);
  }
  const std::vector<std::string_view> parts = Split(rest, ',');
  arm.kind = std::string(parts[0]);
  if (arm.name.empty() && rest.size() == text.size()) arm.name = arm.kind;
  arm.model = std::string(default_model);
  if (arm.kind == "std") {
    arm.exactly_once = false;
  } else if (arm.kind == "eos") {
    arm.exactly_once = true;
  } else if (arm.kind == "eos-overlap") {
    arm.exactly_once = true;
    arm.model = "overlap";
  } else {
    return Bad(text, StrCat("unknown kind '", arm.kind, "'"));
  }
  if (!arm.worker.empty()) {
    if (arm.kind == "eos-overlap")
      return Bad(text, "eos-overlap is a client model of ours; a worker has its own client");
    arm.kind = "worker";
    arm.model = "its own";
  }
  if (!GoodName(arm.name))
    return Bad(text, StrCat("name '", arm.name, "' is not 1 to ", kNameMax, " of [A-Za-z0-9_-]"));
  for (size_t i = 1; i < parts.size(); ++i) {
    if (absl::Status status = ApplySetting(text, parts[i], arm); !status.ok()) return status;
  }
  return arm;
}

}  // namespace hopgap::lab
