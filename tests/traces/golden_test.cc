#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "formats/analysis_json.h"
#include "formats/scratch_file.h"
#include "formats/summary_json.h"
#include "formats/trace_file.h"
#include "report/foreign.h"
#include "report/from_spans.h"
#include "report/summary.h"
#include "report/text.h"
#include "trace/trace_set.h"

// What the official clients of four languages wrote, recorded against our broker
// (testdata/traces), and the same spans as others' converters put them into other
// forms (testdata/forms). Each form has to give the same stages.
namespace hopgap {
namespace {

using report::DeliveryRow;
using trace::Stage;

const std::string kData = std::string(HOPGAP_SOURCE) + "/testdata/";
constexpr const char* kLanguages[] = {"go", "java", "python", "node"};

struct Analysis {
  report::Foreign foreign;
  report::Run run;
  formats::TraceSource source;
  bool join_message_ids = false, spilled = false;
};

std::optional<Analysis> Explain(trace::TraceSet& set, Analysis out) {
  report::FromSpans from_spans;
  report::ForeignBuilder builder;
  const absl::Status status =
      set.Finish({.join_message_ids = out.join_message_ids}, [&](std::span<const trace::Span> spans) {
        from_spans.AddTrace(spans);
        builder.AddTrace(spans);
      });
  EXPECT_TRUE(status.ok()) << status;
  out.foreign = builder.Finish(set.quality());
  out.run = from_spans.Finish("golden", set.quality().spans);
  out.spilled = set.spilled();
  return out;
}

std::optional<Analysis> Read(const std::vector<std::string>& files) {
  trace::TraceSet set;
  Analysis out;
  for (const std::string& file : files) {
    const auto source =
        formats::ReadTraceFile(file, [&set](std::vector<trace::Span>& spans) { return set.Add(spans); });
    EXPECT_TRUE(source.ok()) << source.status();
    if (!source.ok()) return std::nullopt;
    EXPECT_FALSE(source->partial()) << file;
    out.source = *source;
  }
  return Explain(set, std::move(out));
}

using Key = std::tuple<uint64_t, uint64_t, uint64_t>;
std::map<Key, DeliveryRow> ByDelivery(const report::Foreign& foreign) {
  std::map<Key, DeliveryRow> rows;
  for (const DeliveryRow& row : foreign.rows) rows[{row.trace_hi, row.trace_lo, row.subscribe_span}] = row;
  return rows;
}

Duration LengthOf(const DeliveryRow& row, Stage stage) { return row.hop.stages[static_cast<size_t>(stage)].length; }

void ExpectSame(const report::Foreign& want, const report::Foreign& got, Duration within,
                std::initializer_list<Stage> stages) {
  const auto expected = ByDelivery(want), actual = ByDelivery(got);
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [key, row] : expected) {
    const auto found = actual.find(key);
    ASSERT_NE(found, actual.end());
    for (const Stage stage : stages) {
      EXPECT_EQ(found->second.hop.Has(stage), row.hop.Has(stage)) << trace::StageName(stage);
      EXPECT_LE(std::chrono::abs(LengthOf(found->second, stage) - LengthOf(row, stage)), within)
          << trace::StageName(stage);
    }
  }
}

constexpr std::initializer_list<Stage> kAllStages = {Stage::kClientPublish, Stage::kPublishRpc, Stage::kDeliveryGap,
                                                     Stage::kDispatchGap,   Stage::kWork,       Stage::kAck};

struct Form {
  std::string suffix;
  formats::SpanForm form;
};
const Form kForms[] = {{".framed.pb", formats::SpanForm::kCollectorFrames},
                       {".framed-zstd.pb", formats::SpanForm::kCollectorFrames},
                       {".framed-zstd.json", formats::SpanForm::kCollectorFrames},
                       {".jaeger.json.gz", formats::SpanForm::kJaeger},
                       {".zipkin.json.gz", formats::SpanForm::kZipkin}};

TEST(GoldenTest, EveryRecordingIsThirtyWholeDeliveriesOfItsClient) {
  for (const char* language : kLanguages) {
    for (const char* kind : {"std", "eos"}) {
      SCOPED_TRACE(StrCat(language, " ", kind));
      const auto analysis = Read({StrCat(kData, "traces/", language, "-", kind, ".otlp.jsonl")});
      ASSERT_TRUE(analysis);
      EXPECT_EQ(analysis->foreign.rows.size(), 30u);
      EXPECT_EQ(analysis->foreign.unknown_publishers, 0u);
      ASSERT_EQ(analysis->run.arms.size(), 1u);
      EXPECT_EQ(analysis->run.arms[0].paths.size(), 10u);
      for (const DeliveryRow& row : analysis->foreign.rows) {
        EXPECT_EQ(row.hop.missing, 0);
        EXPECT_EQ(row.hop.exactly_once, std::string(kind) == "eos");
        EXPECT_GE(LengthOf(row, Stage::kWork), std::chrono::milliseconds{45});  // of 50, less what timers round
        for (const Stage stage : {Stage::kClientPublish, Stage::kPublishRpc, Stage::kDispatchGap, Stage::kAck}) {
          EXPECT_GE(LengthOf(row, stage), Duration{0}) << trace::StageName(stage);
        }
      }
      const report::DeliveryGroup& group = analysis->foreign.groups.at(0);
      EXPECT_EQ(trace::ClientName(group.consumer), std::string(language) == "go"     ? "Go v2"
                                                   : std::string(language) == "node" ? "Node.js"
                                                   : std::string(language) == "java" ? "Java"
                                                                                     : "Python");
    }
  }
}

TEST(GoldenTest, EveryFormGivesTheSameStages) {
  for (const char* language : kLanguages) {
    for (const char* kind : {"std", "eos"}) {
      const std::string name = StrCat(language, "-", kind);
      const auto want = Read({StrCat(kData, "traces/", name, ".otlp.jsonl")});
      ASSERT_TRUE(want);
      for (const Form& form : kForms) {
        SCOPED_TRACE(name + form.suffix);
        const auto got = Read({StrCat(kData, "forms/", name, form.suffix)});
        ASSERT_TRUE(got);
        EXPECT_TRUE(got->source.forms.contains(form.form));
        // Each end of a stage is rounded by itself.
        const Duration within = 2 * formats::FactsOf(form.form).precision;
        ExpectSame(want->foreign, got->foreign, within, kAllStages);
      }
    }
  }
}

// The broker's own instants of the same messages, on the same clock: a publish
// was read after the client says that it sent it, and in the median soon after.
// What lies between is the client's own work: least in Go and Python; in Node.js
// its event loop; in Java (first calls of a JVM on a busy machine) a great deal.
TEST(GoldenTest, PublishStartsAreThoseThatTheBrokerSaw) {
  const std::map<std::string, Duration> within = {{"go", std::chrono::milliseconds{1}},
                                                  {"python", std::chrono::milliseconds{1}},
                                                  {"node", std::chrono::milliseconds{3}},
                                                  {"java", std::chrono::milliseconds{60}}};
  for (const auto& [language, most] : within) {
    for (const char* kind : {"std", "eos"}) {
      SCOPED_TRACE(StrCat(language, " ", kind));
      const std::string name = StrCat(kData, "traces/", language, "-", kind);
      const auto both = Read({name + ".otlp.jsonl", name + ".broker.otlp.jsonl"});
      ASSERT_TRUE(both);
      std::vector<Duration> sent;
      for (const DeliveryRow& row : both->foreign.rows) {
        ASSERT_TRUE(row.hop.accepted && row.hop.written);
        sent.push_back(*row.hop.accepted - row.hop.publish_start);
        EXPECT_GE(sent.back(), Duration{0});
        // Node.js reads a clock of whole milliseconds and a finer one, so it may seem early.
        EXPECT_LE(*row.hop.written - row.hop.received, std::chrono::milliseconds{1});
      }
      std::sort(sent.begin(), sent.end());
      EXPECT_LE(sent[sent.size() / 2], most);
    }
  }
}

// Everything that is said of an analysis.
std::string Said(const Analysis& analysis) {
  const report::Summary summary = report::Summarize(analysis.run);
  std::string out = formats::SummaryJson(summary, formats::AnalysisJson(analysis.foreign, {}, std::nullopt)) +
                    formats::DeliveriesCsv(analysis.foreign) + report::QualityText(analysis.foreign, {}) +
                    report::DeliveriesText(analysis.foreign) + report::FindingsText(analysis.foreign, std::nullopt);
  if (!analysis.run.arms.empty()) out += report::RenderText(summary, {.per_hop = true});
  return out;
}

// The same spans once more, and each in another trace than its publish, for what
// only a join of far traces brings together.
std::vector<trace::Span> Apart(std::vector<trace::Span> spans) {
  for (trace::Span& span : spans) {
    if (span.name.ends_with("subscribe") && span.parent != 0) {
      span.links.push_back({span.trace_hi, span.trace_lo, std::exchange(span.parent, 0), {}});
    }
    if (span.kind != trace::SpanKind::kProducer) span.trace_lo ^= 0x5555;
  }
  return spans;
}

std::string SaidOf(std::vector<trace::Span> spans, size_t memory_max, bool join_message_ids) {
  formats::FileScratch scratch("");
  trace::TraceSet set({.memory_max = memory_max, .scratch = &scratch});
  EXPECT_TRUE(set.Add(spans).ok());
  Analysis out;
  out.join_message_ids = join_message_ids;
  const auto analysis = Explain(set, std::move(out));
  EXPECT_EQ(analysis->spilled, memory_max < trace::TraceSet::kMemoryMax);
  return Said(*analysis);
}

TEST(GoldenTest, WhatGoesToTheDiskAndInWhichOrderItComesChangesNoByte) {
  for (const char* language : kLanguages) {
    for (const char* kind : {"std", "eos"}) {
      SCOPED_TRACE(StrCat(language, " ", kind));
      const std::string name = StrCat(kData, "traces/", language, "-", kind);
      std::vector<trace::Span> recorded;
      for (const char* file : {".otlp.jsonl", ".broker.otlp.jsonl"}) {
        const auto source = formats::ReadTraceFile(name + file, [&](std::vector<trace::Span>& some) {
          std::move(some.begin(), some.end(), std::back_inserter(recorded));
          some.clear();
          return absl::OkStatus();
        });
        ASSERT_TRUE(source.ok());
      }
      for (const bool apart : {false, true}) {
        std::vector<trace::Span> spans = apart ? Apart(recorded) : recorded;
        const std::string want = SaidOf(spans, trace::TraceSet::kMemoryMax, apart);
        for (const size_t memory_max : {size_t{1}, (size_t{1} << 20) + 2'000, (size_t{1} << 20) + 6'000}) {
          constexpr uint64_t kSeed = 20240611;
          std::mt19937_64 random(kSeed + memory_max);
          EXPECT_EQ(SaidOf(spans, memory_max, apart), want) << memory_max;
          std::shuffle(spans.begin(), spans.end(), random);
          EXPECT_EQ(SaidOf(spans, memory_max, apart), want) << memory_max << " shuffled, seed " << kSeed;
        }
      }
    }
  }
}

TEST(GoldenTest, TheCauseOfASlowExactlyOnceChainIsNamed) {
  const auto analysis = Read({kData + "traces/go-eos.otlp.jsonl"});
  ASSERT_TRUE(analysis);
  const std::vector<report::Finding> findings = report::FindingsOf(analysis->foreign);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].key, "exactly_once_gate");
  EXPECT_THAT(findings[0].trace, testing::SizeIs(32));
}

}  // namespace
}  // namespace hopgap
