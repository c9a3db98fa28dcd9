#include "lab/arm.h"

#include <absl/status/status.h>

#include <utility>
#include <vector>

#include "base/text.h"
#include "client/model.h"

namespace hopgap::lab {
namespace {

constexpr uint32_t kStreamsMax = 100;  // a connection carries 100 streams in Cloud Pub/Sub's clients
constexpr size_t kNameMax = 40;

absl::Status Bad(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(
      StrCat("--arm ", text, ": ", why,
             "; use std, eos or eos-overlap, std-dedupe, std-MODEL or eos-MODEL (hopgap clients lists them), "
             "NAME:KIND[,streams=N|default][,client=MODEL] such as eos10:eos,streams=10, or "
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

absl::Status SetModel(std::string_view text, std::string_view name, ArmSpec& arm) {
  absl::StatusOr<client::Model> model = client::FindModel(name);
  if (!model.ok()) return Bad(text, MessageOf(model.status()));
  arm.model = std::move(model->name);
  return absl::OkStatus();
}

absl::Status SetStreams(std::string_view text, std::string_view value, ArmSpec& arm, bool& own_streams) {
  own_streams = value == "default";
  if (own_streams) return absl::OkStatus();
  const std::optional<uint32_t> streams = ParseNumber<uint32_t>(value);
  if (!streams || *streams < 1 || *streams > kStreamsMax) {
    return Bad(text, StrCat("'streams=", value, "' is outside [1, ", kStreamsMax, "]"));
  }
  arm.streams = *streams;
  return absl::OkStatus();
}

absl::Status SetStore(std::string_view text, std::string_view value, ArmSpec& arm) {
  constexpr uint64_t kStoreMicrosMax = 10'000'000;
  const size_t digits = value.find_first_not_of("0123456789");
  const std::optional<uint64_t> number = ParseNumber<uint64_t>(value.substr(0, digits));
  const std::string_view unit = digits == std::string_view::npos ? "" : value.substr(digits);
  const uint64_t factor = unit == "us" ? 1 : unit == "ms" ? 1000 : 0;
  if (!number || factor == 0 || *number > kStoreMicrosMax / factor) {
    return Bad(text, StrCat("'store=", value, "' is none of 0us to 10000ms"));
  }
  arm.dedupe->access = std::chrono::microseconds{*number * factor};
  return absl::OkStatus();
}

absl::Status ApplySettings(std::string_view text, const std::vector<std::string_view>& settings, ArmSpec& arm) {
  bool own_streams = false;
  for (const std::string_view setting : settings) {
    const size_t equals = setting.find('=');
    const std::string_view key = setting.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : setting.substr(equals + 1);
    absl::Status status;
    if (key == "streams") {
      status = SetStreams(text, value, arm, own_streams);
    } else if (key == "store" && arm.dedupe) {
      status = SetStore(text, value, arm);
    } else if (key == "client" && arm.worker.empty()) {
      status = SetModel(text, value, arm);
    } else {
      status = Bad(text, StrCat("unknown setting '", setting, "'"));
    }
    if (!status.ok()) return status;
  }
  if (!own_streams) return absl::OkStatus();
  if (!arm.worker.empty()) return Bad(text, "streams=default: what a worker's own client does is not known");
  arm.streams = client::FindModel(arm.model)->streams;
  return absl::OkStatus();
}

// "eos-java": the subscription, then the model.
absl::Status ApplyKind(std::string_view text, std::string_view kind, std::string_view default_model, ArmSpec& arm) {
  const size_t dash = kind.find('-');
  const std::string_view subscription = kind.substr(0, dash);
  arm.kind = std::string(kind);
  if (subscription != "std" && subscription != "eos") return Bad(text, StrCat("unknown kind '", kind, "'"));
  arm.exactly_once = subscription == "eos";
  if (!arm.worker.empty()) {
    if (dash != std::string_view::npos) {
      return Bad(text, StrCat(kind, " names a client model of ours; a worker has its own client"));
    }
    arm.kind = "worker";
    arm.model = "its own";
    return absl::OkStatus();
  }
  if (kind == "std-dedupe") {
    arm.dedupe.emplace();
    return SetModel(text, default_model, arm);
  }
  return SetModel(text, dash == std::string_view::npos ? default_model : kind.substr(dash + 1), arm);
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
  if (arm.name.empty() && rest.size() == text.size()) arm.name = std::string(parts[0]);
  if (absl::Status status = ApplyKind(text, parts[0], default_model, arm); !status.ok()) return status;
  if (!GoodName(arm.name))
    return Bad(text, StrCat("name '", arm.name, "' is not 1 to ", kNameMax, " of [A-Za-z0-9_-]"));
  if (absl::Status status = ApplySettings(text, {parts.begin() + 1, parts.end()}, arm); !status.ok()) return status;
  return arm;
}

}  // namespace hopgap::lab
