#include "live/process_books.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "formats/hop_ledger_csv.h"
#include "lab/hop_ledger.h"
#include "trace/build.h"
#include "trace/collector.h"
#include "trace/vocabulary.h"

namespace hopgap::live {
namespace {

namespace words = trace::words;

// What an arm's spans say beside its paths.
struct SpanCounts {
  uint64_t handled_again = 0;  // callbacks of a message beyond its first
  uint64_t copies = 0;         // messages of one slot at one hop beyond the first
  bool exactly_once = true;    // every subscribe span says so
  uint64_t messages = 0;
  std::set<std::tuple<std::string, int64_t, int64_t>> responses;  // subscription, stream, number
};

void Count(const std::vector<trace::Span>& spans, SpanCounts& counts) {
  std::map<uint64_t, uint64_t> subscribe_of;  // subscribe span -> create span
  std::map<uint64_t, uint64_t> callbacks;     // by create span
  std::map<std::string, std::set<uint64_t>> messages;
  for (const trace::Span& span : spans) {
    if (!span.name.ends_with(words::kSubscribe)) continue;
    subscribe_of[span.span] = span.parent;
    messages[span.name].insert(span.parent);
    ++counts.messages;
    const trace::AttributeValue* flag = span.Find(words::kExactlyOnce);
    const bool* exactly_once = flag == nullptr ? nullptr : std::get_if<bool>(flag);
    counts.exactly_once = counts.exactly_once && exactly_once != nullptr && *exactly_once;
    if (span.Find(words::kResponse) != nullptr) {
      counts.responses.insert({span.name, span.Int(words::kStream), span.Int(words::kResponse)});
    }
  }
  for (const trace::Span& span : spans) {
    const auto subscribe = span.name.ends_with(words::kProcess) ? subscribe_of.find(span.parent) : subscribe_of.end();
    if (subscribe != subscribe_of.end() && ++callbacks[subscribe->second] > 1) ++counts.handled_again;
  }
  for (const auto& [hop, different] : messages) counts.copies += different.size() - 1;
}

class Filler {
 public:
  Filler(const ProcessBooks& books, Result& result)
      : books_(books), lab_(books.options), outcome_(result.outcome), broker_(result.anchor) {
    for (const trace::Place& place : result.places->Snapshot()) broker_.AddPlace(place);
    for (const trace::Event& event : result.broker_events->events()) broker_.Record(event);
    outcome_.ledger = lab::Ledger(lab_.arms.size(), lab_.slots, lab_.hops);
    outcome_.arms.resize(lab_.arms.size());
    outcome_.paths.assign(lab_.arms.size(), {});
  }

  absl::Status FillArm(size_t arm, const std::function<void(uint64_t, std::vector<trace::Span>&)>& message_spans) {
    TakeLoad(arm);
    const SpanCounts counts = Fold(arm, message_spans);
    lab::ArmCounts& out = outcome_.arms[arm].counts;
    outcome_.arms[arm].exactly_once_seen = counts.messages > 0 && counts.exactly_once;
    out.completed = outcome_.paths[arm].size();
    out.responses = counts.responses.size();
    out.messages_received = counts.responses.empty() ? 0 : counts.messages;
    if (lab_.arms[arm].worker.empty()) return TakeLedgers(arm);
    out.duplicates = counts.handled_again;
    out.reprocessed = counts.copies;
    return absl::OkStatus();
  }

 private:
  void TakeLoad(size_t arm) {
    if (books_.load == nullptr) return;
    lab::ArmCounts& counts = outcome_.arms[arm].counts;
    const std::vector<Load::Row>& rows = books_.load->rows(arm);
    for (uint64_t slot = 0; slot < rows.size(); ++slot) {
      if (rows[slot].sent == kNever) continue;
      ++counts.sent;
      counts.publish_failures += rows[slot].error.empty() ? 0 : 1;
      outcome_.ledger.At(arm, slot, 1).due = rows[slot].due;
      outcome_.ledger.At(arm, slot, 1).publish_call = rows[slot].sent;
    }
  }

  SpanCounts Fold(size_t arm, const std::function<void(uint64_t, std::vector<trace::Span>&)>& message_spans) {
    SpanCounts counts;
    for (uint64_t slot = 0; slot < lab_.slots; ++slot) {
      const auto [hi, lo] = lab::TraceIdOf(lab_, arm, slot);
      std::vector<trace::Span> spans = books_.spans.Take({hi, lo});
      Count(spans, counts);
      broker_.Fold(hi, lo, lab_.hops, [&](std::vector<trace::Span>& more) {
        spans.insert(spans.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
      });
      std::vector<trace::Path> paths = trace::BuildPaths(spans, lab_.hops);
      if (!paths.empty()) outcome_.paths[arm].push_back(std::move(paths.front()));
      if (message_spans && !spans.empty()) message_spans(slot, spans);
    }
    return counts;
  }

  absl::Status TakeLedgers(size_t arm) {
    std::vector<lab::HopLine> lines;
    for (int hop = 1; hop <= lab_.hops; ++hop) {
      const std::string file = LedgerFile(books_.folder, lab_.arms[arm].name, hop);
      std::error_code ignored;
      if (!std::filesystem::exists(file, ignored)) continue;
      absl::StatusOr<std::vector<lab::HopLine>> read = formats::ReadHopLedger(file);
      if (!read.ok()) return read.status();
      lines.insert(lines.end(), read->begin(), read->end());
    }
    for (const lab::HopLine& line : lines) {
      if (line.slot >= lab_.slots || line.hop < 1 || line.hop > lab_.hops) continue;
      lab::LedgerRow& row = outcome_.ledger.At(arm, line.slot, line.hop);
      Instant* at = line.what == lab::HopLine::What::kEntered    ? &row.handler_entry
                    : line.what == lab::HopLine::What::kReturned ? &row.handler_return
                                                                 : nullptr;
      if (at != nullptr) *at = std::min(*at, books_.anchor.ToSteady(line.at));
    }
    const lab::HopFindings findings = lab::CheckHops(lines, lab_.hops, lab_.slots);
    lab::ArmCounts& counts = outcome_.arms[arm].counts;
    counts.duplicates = findings.acked_twice + findings.delivered_after_ack + findings.unexplained;
    counts.reprocessed = findings.reprocessed;
    counts.redelivered = findings.redelivered;
    if (lab_.failures.share > 0) counts.handler_failures = findings.given_back;
    if (!findings.examples.empty()) counts.failure = findings.examples.front();
    // A worker that was killed took its last spans along; its book says what arrived.
    counts.completed = std::max(counts.completed, lab_.slots - findings.missing);
    return absl::OkStatus();
  }

  const ProcessBooks& books_;
  const lab::Options& lab_;
  lab::Outcome& outcome_;
  trace::Collector broker_;
};

}  // namespace

std::string LedgerFile(const std::string& folder, const std::string& arm, int hop) {
  return StrCat(folder, "/", arm, "-hop", hop, ".ledger.csv");
}

absl::Status FillOutcome(const ProcessBooks& books, Result& result,
                         const std::function<void(uint64_t slot, std::vector<trace::Span>&)>& message_spans) {
  Filler filler(books, result);
  for (size_t arm = 0; arm < books.options.arms.size(); ++arm) {
    if (absl::Status status = filler.FillArm(arm, message_spans); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace hopgap::live
