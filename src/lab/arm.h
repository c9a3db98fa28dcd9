#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "lab/handled_ids.h"

namespace hopgap::lab {

// What one arm is: a chain of the run's hops with one subscription kind and one
// client model. Arms of a group share arrival slots.
struct ArmSpec {
  std::string name;  // unique in the run: "eos", "replay.eos"
  std::string kind;  // "std", "eos", "eos-overlap", "std-java"
  bool exactly_once = false;
  std::string model;                               // of client::FindModel
  uint32_t streams = 0;                            // 0: the run's
  int group = 0;                                   // index into Options::groups
  std::optional<HandledIds::Options> dedupe = {};  // its workers keep a store of handled messages
  std::string worker = {};  // a command that keeps docs/worker-contract.md; empty: our own worker
};

// Reads an --arm value: a kind, or NAME:KIND with settings
// ("eos10:eos,streams=10"), or NAME:[KIND,]worker=COMMAND, where the command is
// all that follows and an absent kind is eos ("go:worker=build/go-worker").
//
// A kind is std or eos, which use the model `default_model` (the run's
// --client), or std-MODEL or eos-MODEL, which use that of client::FindModel.
// std-dedupe is std with an idempotent consumer (HandledIds).
// Settings: store=TIME (what asking the store takes: 500us, 2ms), streams=N, streams=default (the model's own), client=MODEL.
// InvalidArgument names the value and lists what is allowed.
absl::StatusOr<ArmSpec> ParseArm(std::string_view text, std::string_view default_model);

}  // namespace hopgap::lab
