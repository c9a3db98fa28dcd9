#include "formats/run_json.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace hopgap::formats {
namespace {

report::Run Sample() {
  report::Run run;
  run.version = "0.1.0";
  run.configuration.command = "run";
  run.configuration.work = std::chrono::milliseconds{200};
  run.configuration.rate_per_second = 0.5;
  run.configuration.seed = ~uint64_t{0};
  run.configuration.added.push_back({"deliver", "standard", 9.5, 18.3, 10.3});
  report::ArmRun arm;
  arm.group = "replay";
  arm.name = "replay.eos";
  arm.sent = 31;
  arm.saturated_at = 12.5;
  arm.verdict = {.valid = false, .reasons = {"a \"reason\""}};
  run.arms.push_back(arm);
  run.ended_early = true;
  run.clock_drift = Duration{-5};
  run.notes = {"a process ended"};
  return run;
}

TEST(RunJsonTest, ReadsWhatItWrote) {
  const std::string text = WriteRunJson(Sample(), {});
  absl::StatusOr<report::Run> read = ReadRunJson(text, "run.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(WriteRunJson(*read, {}), text);
  EXPECT_EQ(read->configuration.seed, ~uint64_t{0});
  EXPECT_EQ(read->arms[0].verdict.reasons[0], "a \"reason\"");
  EXPECT_EQ(read->notes, Sample().notes);
}

TEST(RunJsonTest, KeepsHowMessagesArrive) {
  report::Run run = Sample();
  EXPECT_EQ(WriteRunJson(run, {}).find("arrival"), std::string::npos);  // evenly spread: as ever
  run.configuration.arrival = "ramp:0.25-0.75";
  run.configuration.rate_highest_per_second = 0.75;
  const std::string text = WriteRunJson(run, {});
  absl::StatusOr<report::Run> read = ReadRunJson(text, "run.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->configuration.arrival, "ramp:0.25-0.75");
  EXPECT_EQ(read->configuration.rate_highest_per_second, 0.75);
  EXPECT_EQ(WriteRunJson(*read, {}), text);
}

TEST(RunJsonTest, KeepsHowHandlersWorkAndFail) {
  report::Run run = Sample();
  EXPECT_EQ(WriteRunJson(run, {}).find("work_law"), std::string::npos);  // fixed: as ever
  run.configuration.work.kind = WorkLaw::Kind::kLognormal;
  run.configuration.work.p99 = std::chrono::milliseconds{900};
  run.configuration.work.seed = run.configuration.seed;
  run.configuration.handler_failures = 0.02;
  run.configuration.message_bytes = 4096;
  run.arms[0].handler_failures = 7;
  std::string text = WriteRunJson(run, {});
  absl::StatusOr<report::Run> read = ReadRunJson(text, "run.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->configuration.work, run.configuration.work);
  EXPECT_EQ(read->configuration.handler_failures, 0.02);
  EXPECT_EQ(read->configuration.message_bytes, 4096u);
  EXPECT_EQ(read->arms[0].handler_failures, 7u);
  text.replace(text.find("lognormal"), 9, "lognormel");
  EXPECT_THAT(std::string(ReadRunJson(text, "run.json").status().message()),
              testing::HasSubstr("'lognormel' is no law"));
}

TEST(RunJsonTest, KeepsMachineAndThresholds) {
  report::Run run = Sample();
  run.configuration.thresholds = {"replay.eos.until_handled.p50<1s"};
  const Machine machine{.system = "Linux",
                        .cpu = "x",
                        .cpus = 2,
                        .memory_bytes = 7,
                        .started = "2026-01-02T03:04:05Z",
                        .command_line = {"hopgap", "run"}};
  const std::string text = WriteRunJson(run, machine);
  EXPECT_EQ(ReadRunJson(text, "run.json")->configuration.thresholds, run.configuration.thresholds);
  const absl::StatusOr<Machine> read = ReadRunMachine(text, "run.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(WriteRunJson(run, *read), text);
  EXPECT_NE(ReadRunMachine(R"({"schema": "hopgap.run-folder/1"})", "x/run.json")
                .status()
                .message()
                .find("x/run.json: machine.system: is missing"),
            absl::string_view::npos);
  run.configuration.thresholds = {"gone.until_handled.p50<1s"};
  EXPECT_NE(ReadRunJson(WriteRunJson(run, machine), "f").status().message().find("no arm 'gone'"),
            absl::string_view::npos);
}

TEST(RunJsonTest, NamesWhatIsWrong) {
  const auto error = [](std::string_view text) {
    return std::string(ReadRunJson(text, "x/run.json").status().message());
  };
  EXPECT_EQ(error("{"), "x/run.json: is damaged: no JSON: byte 2 of 1, where it breaks off");
  EXPECT_EQ(error("{\"schema\": 1 2}"), "x/run.json: is damaged: no JSON: byte 14 of 15 cannot stand there");
  EXPECT_EQ(error(R"({"schema": "a", "schema": "b"})"), "x/run.json: is damaged: the field 'schema' is there twice");
  EXPECT_EQ(error("[]"), "x/run.json: schema: is missing");
  std::string text = WriteRunJson(Sample(), {});
  text.replace(text.find("/1"), 2, "/9");
  EXPECT_NE(ReadRunJson(text, "f").status().message().find("run-folder/9"), absl::string_view::npos);
  text = WriteRunJson(Sample(), {});
  text.replace(text.find("\"hops\""), 6, "\"hips\"");
  EXPECT_EQ(error(text), "x/run.json: configuration.hops: is missing");
  for (const char* bad : {"-1", "1.5", "18446744073709551616", "\"31\"", "{}"}) {
    text = WriteRunJson(Sample(), {});
    text.replace(text.find("\"sent\": 31"), 10, StrCat("\"sent\": ", bad));
    EXPECT_EQ(error(text), "x/run.json: arms.sent: is of another kind than it was written as") << bad;
  }
  text = WriteRunJson(Sample(), {});
  text.replace(text.find("\"arms\""), 6, "\"legs\"");
  EXPECT_EQ(error(text), "x/run.json: arms: is no list");
}

}  // namespace
}  // namespace hopgap::formats
