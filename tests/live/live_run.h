#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "broker/delays.h"
#include "cli/setup.h"
#include "live/run.h"

namespace hopgap::tests {

// A run over real gRPC on loopback, as `hopgap run` makes it.
struct LiveRun {
  cli::RunOptions options;

  static LiveRun Quick() {
    LiveRun run;
    run.options.profile = "none";
    run.options.work = Duration{0};
    return run;
  }

  live::Result Go() const {
    absl::StatusOr<cli::Setup> setup = cli::MakeSetup(options);
    EXPECT_TRUE(setup.ok()) << setup.status();
    const cli::EventEstimate events = cli::EstimateEvents(setup->lab);
    live::Options live;
    live.lab = setup->lab;
    live.broker = setup->broker;
    live.planted_wire = options.plants.wire;
    live.drain = options.drain;
    live.client_events = events.client;
    live.broker_events = events.broker;
    absl::StatusOr<live::Result> result = live::Run(std::move(live));
    EXPECT_TRUE(result.ok()) << result.status();
    live::FoldPaths(*result, nullptr);
    return *std::move(result);
  }
};

}  // namespace hopgap::tests
