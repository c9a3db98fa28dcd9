#include "report/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "report/layout.h"
#include "report/run_builder_testing.h"

namespace hopgap::report {
namespace {

using namespace testing;  // report::testing: the builders
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string TextOf(const Run& run, TextOptions options = {}) { return RenderText(Summarize(run), options); }

// Lines break anywhere; sentences are compared without the breaks.
std::string Flat(const std::string& text) {
  std::string out;
  for (char c : text) {
    const bool space = c == ' ' || c == '\n';
    if (space && !out.empty() && out.back() == ' ') continue;
    out += space ? ' ' : c;
  }
  return out;
}

Run Unfinished(report::Run run) {
  ArmRun& arm = run.arms[3];
  arm.paths.resize(20);
  arm.completed = 20;
  arm.saturated_at = 0.65;
  return run;
}

Run NothingDone(report::Run run) {
  for (ArmRun& arm : run.arms) {
    arm.paths.clear();
    arm.completed = 0;
  }
  return run;
}

Run Invalid(report::Run run) {
  run.arms[1].verdict = {.valid = false,
                         .reasons = {"1.6 % of slots were sent over 5 ms late (limit 1 %)", "2 messages lost"}};
  run.arms[1].lost = 2;
  run.arms[1].reprocessed = 3;
  return run;
}

Run Simulated(report::Run run) {
  run.configuration.command = "simulate";
  run.configuration.simulated = true;
  return run;
}

Run EndedEarly(report::Run run) {
  run.ended_early = true;
  run.ended_early_why = "Ctrl-C";
  for (ArmRun& arm : run.arms) arm.sent = arm.completed + 1;
  return run;
}

Run Alone(report::Run run) {
  run.arms.erase(run.arms.begin() + 1, run.arms.end());
  return run;
}

Run Queued(report::Run run) {
  ArmRun& arm = run.arms[3];
  arm.paths.clear();
  arm.completed = 0;
  for (uint64_t slot = 0; slot < arm.planned; ++slot) {
    HopPlan plan = ReplayPlan(slot, 0, "eos");
    plan.stream_wait = milliseconds{100};
    plan.delivery_gap += plan.stream_wait;
    AddPath(arm, MakePath(arm.name, slot, Duration{0}, {plan, plan, plan}));
  }
  return run;
}

Run LongNames(report::Run run) {
  for (ArmRun& arm : run.arms) arm.name += "-with-sixteen-streams-and-more";
  run.saved_to = "runs/" + std::string(100, 'x');
  return run;
}

Run ManyHops(uint64_t messages, int hops) {
  report::Run run = DefaultRun(0);
  run.configuration.hops = hops;
  for (ArmRun& arm : run.arms) {
    for (uint64_t slot = 0; slot < messages; ++slot) {
      AddPath(arm, MakePath(arm.name, slot, Duration{0}, std::vector<HopPlan>(static_cast<size_t>(hops))));
    }
    arm.planned = arm.sent = messages;
  }
  return run;
}

Run Slow(report::Run run) {  // beyond ten seconds
  for (trace::Path& path : run.arms[3].paths) {
    trace::HopTimes hop = path.hops[0];
    hop.stages[3].length += seconds{3000};
    hop.received += seconds{3000};
    path.hops.Replace(0, hop);
    path.until_handled += seconds{3000};
  }
  return run;
}

TEST(RenderTextTest, EveryLineFits) {
  const std::vector<std::pair<const char*, report::Run>> runs = {
      {"default", DefaultRun()},
      {"one message", DefaultRun(1)},
      {"five", DefaultRun(5)},
      {"six", DefaultRun(6)},
      {"100", DefaultRun(100)},
      {"400", DefaultRun(400)},
      {"unfinished", Unfinished(DefaultRun())},
      {"unfinished, wide", Unfinished(DefaultRun(120))},
      {"nothing", NothingDone(DefaultRun())},
      {"no slots", DefaultRun(0)},
      {"invalid", Invalid(DefaultRun())},
      {"simulated", Simulated(DefaultRun())},
      {"early", EndedEarly(DefaultRun())},
      {"alone", Alone(DefaultRun())},
      {"queued", Queued(DefaultRun())},
      {"long names", LongNames(DefaultRun(40))},
      {"twelve hops", ManyHops(31, 12)},
      {"one hop", ManyHops(400, 1)},
      {"slow", Slow(DefaultRun())},
      {"slow, wide", Slow(DefaultRun(400))},
      {"no arms", report::Run{}},
  };
  for (const auto& [name, run] : runs) {
    for (int width : {0, 80, 120}) {
      SCOPED_TRACE(::testing::Message() << name << ", width " << width);
      const size_t limit = width == 120 ? 120 : 80;
      const std::string text = RenderHeader(run) + TextOf(run, {.per_hop = true, .width = width});
      ASSERT_EQ(text.back(), '\n');
      for (std::string_view line : Split(text, '\n')) EXPECT_LE(Columns(line), limit) << line;
      EXPECT_THAT(text, Not(HasSubstr("nan")));
      EXPECT_THAT(text, Not(HasSubstr("-0")));
    }
  }
}

TEST(RenderTextTest, SameRunSameBytes) { EXPECT_EQ(TextOf(DefaultRun()), TextOf(DefaultRun())); }

TEST(RenderTextTest, TheStageTableAddsUp) {
  report::Run run;
  run.configuration.hops = 1;
  run.configuration.work = milliseconds{200};
  run.configuration.rate_per_second = 1;
  for (const char* kind : {"std", "eos"}) {
    ArmRun arm = MakeArm("replay", kind, 2);
    HopPlan plan;
    plan.publish_rpc = plan.publish_added = milliseconds{27};
    plan.delivery_gap = plan.delivery_added = kind == std::string("std") ? -milliseconds{3} : milliseconds{120};
    plan.dispatch_gap = plan.dispatch_added = kind == std::string("std") ? milliseconds{0} : milliseconds{300};
    plan.dispatch_gap += milliseconds{1};
    plan.ack_tick = milliseconds{50};
    plan.ack_rpc = plan.ack_added = milliseconds{10};
    AddPath(arm, MakePath(arm.name, 0, milliseconds{2}, {plan}));
    AddPath(arm, MakePath(arm.name, 1, milliseconds{2}, {plan}));
    run.arms.push_back(std::move(arm));
  }
  EXPECT_THAT(TextOf(run), HasSubstr("Where it went (replay): sum of 1 hop, mean ms a message\n"
                                     "                     std     eos     eos    eos:\n"
                                     "                    mean    mean   − std   added  waited machine\n"
                                     "  n messages           2       2       2\n"
                                     "  send lateness      2.0     2.0       0       0       0     2.0\n"
                                     "  client publish    10.0    10.0       0       0    10.0       0\n"
                                     "  publish RPC       27.0    27.0       0    27.0       0       0\n"
                                     "  delivery gap      −3.0   120.0   123.0   120.0       0       0\n"
                                     "  dispatch gap       1.0   301.0   300.0   300.0       0     1.0\n"
                                     "  work − 200           0       0       0       0       0       0\n"
                                     "  remainder            0       0       0\n"
                                     "  until handled     37.0   460.0   423.0   447.0    10.0     3.0\n"
                                     "   of it added      24.0   447.0   423.0\n"
                                     "   waited           10.0    10.0       0\n"
                                     "   machine           3.0     3.0       0\n"
                                     "  ack, beside it    60.0    60.0       0    10.0    50.0       0\n"));
}

TEST(RenderTextTest, EndToEndSaysWhatSupportsEachNumber) {
  const std::string text = TextOf(DefaultRun());
  EXPECT_THAT(text, HasSubstr("n    p50        [95 %]    p90      ≥    p95      ≥    max\n"));
  EXPECT_THAT(Flat(text),
              HasSubstr("no upper one for p90, p95, p99 at n = 31. p99: n too small; the largest of 31 reaches "
                        "it with probability 0.27 (0.95 needs n = 299)."));
  // From 36 messages on p90 has two limits.
  EXPECT_THAT(TextOf(DefaultRun(35)), HasSubstr("p95      ≥    max\n"));
  EXPECT_THAT(TextOf(DefaultRun(36)), Not(HasSubstr("p95      ≥    max\n")));
  EXPECT_THAT(TextOf(DefaultRun(36)), HasSubstr("p50         p90         p95         p99   max\n"));
  EXPECT_THAT(TextOf(DefaultRun(5)), HasSubstr("n too small"));  // not even the median
}

TEST(RenderTextTest, UnfinishedMessagesPrintAsInfinity) {
  const std::string text = TextOf(Unfinished(DefaultRun()));
  EXPECT_THAT(text, HasSubstr("inf\n"));
  EXPECT_THAT(Flat(text), HasSubstr("inf: replay.eos left 11 of 31 messages unfinished; they count as +infinity."));
  EXPECT_THAT(Flat(text), HasSubstr("replay.eos could not keep up: saturated at 0.65/s."));
  EXPECT_THAT(text, HasSubstr("--streams 16"));
}

TEST(RenderTextTest, NegativeGapsAreCountedAndExplained) {
  EXPECT_THAT(
      Flat(TextOf(DefaultRun())),
      HasSubstr("replay.std 60 of 93: they overtook their publish's answer (the broker wrote the message before"));
  report::Run run = DefaultRun();
  for (trace::Path& path : run.arms[2].paths) {
    for (size_t i = 0; i < path.hops.size(); ++i) {
      trace::HopTimes hop = path.hops[i];
      hop.written.reset();
      path.hops.Replace(i, hop);
    }
  }
  EXPECT_THAT(Flat(TextOf(run)),
              HasSubstr("negative delivery gaps that no broker instant explains: replay.std 60 of 93"));
}

TEST(RenderTextTest, PublishedFiguresArePlacedWithTheirStanding) {
  const std::string text = Flat(TextOf(DefaultRun()));
  EXPECT_THAT(text,
              HasSubstr("published 3.212 s (until acked, work included): p84 of replay.eos, 26 of 31 at or below; "
                        "held out: inside, but the source says warm: about 1 s stays unexplained"));
  EXPECT_THAT(text,
              HasSubstr("published 764.9 ms (until acked, work included): p65 of replay.std, 20 of 31 at or below; "
                        "fitted, not held out: inside published"));
}

TEST(WordsTest, NameTheStageThatCarriesTheDifference) {
  const std::string text = Flat(TextOf(DefaultRun()));
  EXPECT_THAT(text, HasSubstr("30.3 ms (95 %) are the publisher's batching."));
  EXPECT_THAT(text, HasSubstr("In the replay eos is slower than std: median of 31 pairs +1926 ms"));
  EXPECT_THAT(
      text, HasSubstr("delivery gap +405 ms (21 %), slower delivery (put in, and nothing here explains it: 405 added"));
  EXPECT_THAT(text,
              HasSubstr("dispatch gap +1546 ms (79 %), the handler waiting for its lease (its delays were put in: "
                        "1545 added, 0 waited, 0.51 machine)"));
  EXPECT_THAT(text, HasSubstr("Handlers of eos wait 0.17 ms a hop for their lease"));
  EXPECT_THAT(text, HasSubstr("it is the waiting that costs 1546 ms, not the call."));
  EXPECT_THAT(text, HasSubstr("No message of replay.eos waited behind another on its stream (head-of-line wait 0 in 93 "
                              "deliveries): 4 streams do at 1/s."));
}

TEST(WordsTest, DoNotSeeADifferenceThatIsNone) {
  report::Run run = DefaultRun();
  run.arms[1].paths = run.arms[0].paths;
  const std::string text = Flat(TextOf(run));
  EXPECT_THAT(text,
              HasSubstr("Here no difference between eos and std can be resolved: median of 31 pairs 0 ms [0, 0]."));
  EXPECT_THAT(text, Not(HasSubstr("Here eos is")));
}

TEST(WordsTest, AFasterArmIsFaster) {
  report::Run run = DefaultRun();
  std::swap(run.arms[0].paths, run.arms[1].paths);
  EXPECT_THAT(Flat(TextOf(run)), HasSubstr("Here eos is faster than std: median of 31 pairs −0.49 ms"));
}

TEST(WordsTest, OverlapThatSavesNothingIsSaid) {
  report::Run run = DefaultRun();
  run.arms[4].paths = run.arms[3].paths;
  EXPECT_THAT(Flat(TextOf(run)), HasSubstr("n = 31 resolves no difference between the two."));
}

TEST(WordsTest, QueueingIsCountedAndNamed) {
  const std::string text = Flat(TextOf(Queued(DefaultRun())));
  EXPECT_THAT(text, HasSubstr("In replay.eos 93 of 93 deliveries waited on their stream"));
  EXPECT_THAT(text, HasSubstr("300 ms a message (mean), at most 100 ms: 4 streams are not enough"));
  EXPECT_THAT(text, HasSubstr("hopgap run --rate 1 --streams 16"));
}

TEST(WordsTest, ReservationsComeFirst) {
  EXPECT_THAT(Flat(TextOf(Invalid(DefaultRun()))), HasSubstr("In words This run is INVALID"));
  EXPECT_THAT(TextOf(Invalid(DefaultRun())), StartsWith("INVALID"));
  EXPECT_THAT(Flat(TextOf(Invalid(DefaultRun()))), HasSubstr("✗ eos: 2 messages lost"));
  EXPECT_THAT(Flat(TextOf(Simulated(DefaultRun()))), HasSubstr("In words SIMULATED: this is what the models predict"));
  EXPECT_THAT(Flat(TextOf(EndedEarly(DefaultRun()))), HasSubstr("In words It ended early (Ctrl-C)"));
  EXPECT_THAT(Flat(TextOf(Alone(DefaultRun()))), HasSubstr("In words One arm alone"));
  report::Run noted = DefaultRun();
  noted.notes = {"a process ended, and was started again"};
  EXPECT_THAT(Flat(TextOf(noted)), HasSubstr("In words Note: a process ended, and was started again."));
}

TEST(WordsTest, NothingCompletedGivesNoFigure) {
  const std::string text = Flat(TextOf(NothingDone(DefaultRun())));
  EXPECT_THAT(text, HasSubstr("Nothing completed in any arm: no figure can be given."));
  EXPECT_THAT(text, HasSubstr("31 nothing completed"));
  EXPECT_THAT(text, Not(HasSubstr("inf")));
  EXPECT_THAT(text, Not(HasSubstr("batching")));
  EXPECT_THAT(text, Not(HasSubstr("Where it went")));
}

TEST(WordsTest, AnArmThatCompletedNothingIsNamed) {
  report::Run run = DefaultRun();
  run.arms[3].paths.clear();
  run.arms[3].completed = 0;
  EXPECT_THAT(Flat(TextOf(run)), HasSubstr("Nothing completed in replay.eos: no figure can be given. "));
}

TEST(RenderHeaderTest, SaysWhatIsPutIn) {
  const std::string text = Flat(RenderHeader(DefaultRun()));
  EXPECT_THAT(text, StartsWith("hopgap 0.1.0 · 3 hops × 200 ms work · 1/s · 31 messages an arm · 4 streams"));
  EXPECT_THAT(text, HasSubstr("The delays are input, not measured."));
  EXPECT_THAT(text, HasSubstr("modack exactly-once 303 / 1130"));
  EXPECT_THAT(text, Not(HasSubstr("SIMULATED")));
  EXPECT_THAT(RenderHeader(Simulated(DefaultRun())), HasSubstr("SIMULATED"));
}

// 4 streams / 417 ms = 9.59/s.
TEST(RenderHeaderTest, WarnsAboveTheCapacityOfWaitingStreams) {
  report::Run run = DefaultRun();
  run.configuration.rate_per_second = 9.5;
  EXPECT_FALSE(CapacityWarning(run));
  run.configuration.rate_per_second = 9.6;
  ASSERT_TRUE(CapacityWarning(run));
  EXPECT_THAT(Flat(RenderHeader(run)), HasSubstr("WARNING: 9.60/s is more than 4 streams / 417 ms"));
  run.arms.erase(run.arms.begin() + 3);  // without the arm that waits
  EXPECT_FALSE(CapacityWarning(run));
}

// Of a ramp the header says the rates, and the warning looks at its highest.
TEST(RenderHeaderTest, NamesHowMessagesArrive) {
  report::Run run = DefaultRun();
  run.configuration.arrival = "ramp:1-18";
  run.configuration.rate_per_second = 9.5;
  run.configuration.rate_highest_per_second = 18;
  EXPECT_THAT(Flat(RenderHeader(run)), HasSubstr("9.50/s on average (ramp:1-18)"));
  EXPECT_THAT(Flat(RenderHeader(run)),
              HasSubstr("WARNING: 18/s, the highest rate of the ramp, is more than 4 streams"));
  run.configuration.arrival = "poisson";
  run.configuration.rate_highest_per_second = 9.5;
  EXPECT_THAT(Flat(RenderHeader(run)), HasSubstr("9.50/s (poisson)"));
  EXPECT_FALSE(CapacityWarning(run));
}

TEST(ProgressTest, OneLineThatFits) {
  Progress progress{.group = "replay", .late_p99 = microseconds{300}, .elapsed = milliseconds{34'600}};
  progress.arms = {{"std", 31, 31, 31}, {"eos", 31, 31, 30}};
  EXPECT_EQ(RenderProgressLine(progress),
            "  replay sent 62/62 done std 31 eos 30 late p99 0.3 ms lost 0 twice 0 34.6 s");
  progress.arms.push_back({"eos-overlap", 31, 31, 29});
  progress.ended = true;
  EXPECT_EQ(RenderProgressLine(progress),
            "  replay sent 93/93 done 31+30+29 late p99 0.3 ms lost 0 twice 0 34.6 s VALID");
  progress.valid = false;
  for (int i = 0; i < 40; ++i) progress.arms.push_back({"more", 100'000, 100'000, 100'000});
  for (int width : {1, 20, 80}) EXPECT_LE(Columns(RenderProgressLine(progress, width)), static_cast<size_t>(width));
}

TEST(ProgressTest, LiveLinesLoseColumnsWhereTheTerminalIsNarrow) {
  Progress progress{.group = "replay", .late_p99 = microseconds{300}, .elapsed = milliseconds{34'600}};
  progress.arms = {{"std", 31, 31, 31, 1.0, 31, milliseconds{612}, milliseconds{633}},
                   {"eos-overlap", 100'000, 90'000, 80'000, 1000, 200, milliseconds{1588}, milliseconds{12'300}},
                   {"eos", 31, 3, 0}};
  const LiveLines wide = RenderLive({progress}, {"replay.eos falls behind"}, 80, false);
  EXPECT_EQ(wide.text,
            "  replay      34.6 s  sent 90034/100062  late p99 0.30 ms  twice 0\n"
            "    std                31/31 done    1.0/s  p50   612 ms  max   633 ms of 31\n"
            "    eos-overlap  80000/100000 done 1000.0/s  p50  1588 ms  p99   12.3 s of 200\n"
            "    eos                 0/31 done    0.0/s\n"
            "  ! replay.eos falls behind\n");
  EXPECT_EQ(wide.lines, 5);
  const LiveLines narrow = RenderLive({progress}, {"replay.eos falls behind"}, 45, false);
  EXPECT_THAT(narrow.text, HasSubstr("    std                31/31 done    1.0/s\n"));
  for (const int width : {1, 20, 45, 60, 80}) {
    const std::string text = RenderLive({progress}, {"replay.eos falls behind"}, width, false).text;
    for (const std::string_view line : Split(text, '\n')) EXPECT_LE(Columns(line), static_cast<size_t>(width)) << line;
  }
  EXPECT_THAT(wide.text, ::testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(RenderLive({progress}, {"x"}, 80, true).text, HasSubstr("\x1b[33m  ! x\x1b[0m\n"));
}

TEST(ProgressTest, ALogGetsOneLineForAllGroups) {
  Progress here{.group = "here", .elapsed = milliseconds{3'000}},
      replay{.group = "replay", .elapsed = milliseconds{3'000}};
  here.arms = {{"std", 31, 3, 2, 1.0, 2, milliseconds{612}, milliseconds{633}},
               {"eos", 31, 3, 2, 1.0, 2, milliseconds{615}, milliseconds{633}}};
  replay.arms = {{"std", 31, 3, 1}};
  EXPECT_EQ(RenderProgressBrief({here, replay}),
            "  3.0 s  here 6/62 sent 4 done p50 612/615 ms  replay 3/31 sent 1 done");
  EXPECT_LE(Columns(RenderProgressBrief({here, replay}, 20)), 20u);
}

// One column is 10 ms: 710 ms over 71 columns.
TEST(WaterfallTest, DrawsTheMedianMessageToScale) {
  HopPlan plan;
  plan.client_publish = milliseconds{20};
  plan.publish_rpc = milliseconds{40};
  plan.delivery_gap = milliseconds{50};
  plan.dispatch_gap = milliseconds{70};
  plan.work = milliseconds{150};
  plan.ack_tick = milliseconds{30};
  plan.ack_rpc = milliseconds{20};
  report::Run run;
  run.configuration.hops = 2;
  ArmRun arm = MakeArm("replay", "eos", 1);
  AddPath(arm, MakePath(arm.name, 0, Duration{0}, {plan, plan}));
  run.arms.push_back(std::move(arm));
  EXPECT_THAT(TextOf(run),
              HasSubstr("The median message of replay.eos: slot 0, 660 ms until handled, 710 ms until\n"
                        "  acked, work included; a column is 10.0 ms\n"
                        "         ╷0 ms     ╷100      ╷200      ╷300      ╷400      ╷500      ╷600\n"
                        "  hop 1  pppppp░░░░░▓▓▓▓▓▓▓███████████████\n"
                        "  broker     c     w\n"
                        "  hop 2                                   pppppp░░░░░▓▓▓▓▓▓▓███████████████\n"
                        "  broker                                      c     w\n"
                        "  ack 1                                   ···══\n"
                        "  ack 2                                                                    ···══\n"));
  EXPECT_THAT(Flat(TextOf(run)), HasSubstr("░ 50.0 ms: 49.9 ms until the broker wrote it, 0.10 ms on the wire"));
}

TEST(WaterfallTest, TakesTheArmThatIsAskedFor) {
  EXPECT_THAT(TextOf(DefaultRun()), HasSubstr("The median message of replay.eos:"));
  EXPECT_THAT(TextOf(DefaultRun(), {.waterfall_arm = "replay.std"}), HasSubstr("The median message of replay.std:"));
  EXPECT_THAT(TextOf(DefaultRun(), {.waterfall_arm = "none"}), HasSubstr("The median message of replay.eos:"));
}

TEST(WaterfallTest, UsesTheWidth) {
  const std::string wide = TextOf(DefaultRun(), {.width = 160});
  size_t widest = 0;
  for (std::string_view line : Split(wide, '\n')) widest = std::max(widest, Columns(line));
  EXPECT_GT(widest, 140u);
  EXPECT_LE(widest, 160u);
}

}  // namespace
}  // namespace hopgap::report
