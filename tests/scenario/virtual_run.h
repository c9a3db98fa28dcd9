#pragma once

#include <memory>
#include <string>
#include <vector>

#include "broker/delays.h"
#include "sim/world.h"

namespace hopgap::tests {

inline constexpr char kProject[] = "hopgap-replay";

// One group with the standard trio of arms, in virtual time.
struct VirtualRun {
  uint64_t messages = 40;
  uint64_t millihertz = 1000;
  int hops = 3;
  Duration work{std::chrono::milliseconds{200}};
  uint32_t streams = 4;
  uint64_t seed = 1;
  std::vector<lab::ArmSpec> arms = {Arm("std", false, "go"), Arm("eos", true, "go"),
                                    Arm("eos-overlap", true, "overlap")};
  broker::Delays::Options delays;  // seed and strata are filled in
  lab::Planted planted;
  client::Planted client_planted;
  Duration planted_wire{0};
  bool gated = false;

  static lab::ArmSpec Arm(std::string name, bool exactly_once, std::string model) {
    return {
        .name = name, .kind = name, .exactly_once = exactly_once, .model = std::move(model), .streams = 0, .group = 0};
  }

  sim::Options ToOptions() const {
    sim::Options options;
    options.lab.groups = {{.name = "replay", .project = kProject}};
    options.lab.arms = arms;
    options.lab.hops = hops;
    options.lab.work = work;
    options.lab.millihertz = millihertz;
    options.lab.slots = messages;
    options.lab.streams = streams;
    options.lab.seed = seed;
    options.lab.planted = planted;
    options.lab.client_planted = client_planted;
    options.planted_wire = planted_wire;
    options.broker.response_policy = gated ? broker::ResponsePolicy::kGated : broker::ResponsePolicy::kEager;
    broker::Delays::Options with_seed = delays;
    with_seed.seed = seed;
    with_seed.strata = messages;
    options.broker.delays[kProject] = std::make_shared<broker::Delays>(std::move(with_seed));
    return options;
  }
};

}  // namespace hopgap::tests
