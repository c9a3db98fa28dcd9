#include "cli/folder.h"

#include <absl/strings/str_format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/draw.h"
#include "base/text.h"
#include "formats/ledger_csv.h"
#include "formats/otlp_json.h"

namespace hopgap::cli {
namespace {

constexpr size_t kFlushAt = 1 << 20;
constexpr size_t kRpcSpansPerLine = 512;  // what an exporter would put into one batch

std::string FormatTime(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[64];
  std::strftime(text, sizeof text, format, &parts);
  return text;
}

std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::vector<std::string> CommandLine() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

uint64_t PerArm(const SpanChoice& choice, uint64_t slots, size_t arms) {
  switch (choice.kind) {
    case SpanChoice::Kind::kAll: return slots;
    case SpanChoice::Kind::kNone: return 0;
    case SpanChoice::Kind::kSampled: return std::min(slots, (choice.sample + arms - 1) / arms);
    case SpanChoice::Kind::kAuto: break;
  }
  return slots * arms <= kSpansAllMax ? slots : std::min(slots, kSpansSampled / arms + 1);
}

}  // namespace

std::string DefaultFolder() {
  const std::string second = "runs/" + FormatTime("%Y-%m-%dT%H-%M-%S");
  std::string folder = second;
  std::error_code ignored;
  for (int next = 2; std::filesystem::exists(folder, ignored); ++next) folder = StrCat(second, "-", next);
  return folder;
}

formats::Machine ReadMachine() {
  utsname name{};
  uname(&name);
  formats::Machine machine;
  machine.system = StrCat(name.sysname, " ", name.release, " ", name.machine);
  machine.cpu = CpuName();
  machine.cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  machine.memory_bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  machine.started = FormatTime("%Y-%m-%dT%H:%M:%SZ");
  machine.command_line = CommandLine();
  return machine;
}

SpanSample::SpanSample(const SpanChoice& choice, uint64_t seed, uint64_t slots, size_t arms)
    : seed_(Mix(seed, HashName("span sample"))), slots_(slots), arms_(arms), per_arm_(PerArm(choice, slots, arms)) {}

bool SpanSample::Takes(uint64_t slot) const { return all() || Permute(seed_, slots_, slot) < per_arm_; }

absl::StatusOr<Folder> Folder::Create(const RunOptions& options) {
  Folder folder;
  if (options.no_out) return folder;
  absl::StatusOr<formats::RunFolder> made =
      formats::RunFolder::Create(options.out.empty() ? DefaultFolder() : options.out);
  if (!made.ok()) return made.status();
  folder.folder_.emplace(*std::move(made));
  return folder;
}

void Folder::AddSpans(std::vector<trace::Span>& spans) {
  if (!folder_) return;
  formats::AppendOtlpLine(spans, buffer_);
  Flush(false);
}

void Folder::AddRpcSpans(std::span<const trace::Event> events, const trace::SpanContext& context) {
  if (!folder_) return;
  const std::vector<trace::Span> spans = trace::RpcSpans(events, context);
  for (size_t at = 0; at < spans.size(); at += kRpcSpansPerLine) {
    const size_t count = std::min(kRpcSpansPerLine, spans.size() - at);
    formats::AppendOtlpLine(std::span(spans).subspan(at, count), buffer_);
    Flush(false);
  }
}

void Folder::Flush(bool all) {
  if (buffer_.empty() || (!all && buffer_.size() < kFlushAt)) return;
  if (status_.ok()) status_ = folder_->Append(formats::kSpansFile, buffer_);
  buffer_.clear();
}

void Folder::AddLedger(const lab::Outcome& outcome) {
  if (!folder_) return;
  std::string text = formats::LedgerHeader();
  const lab::Ledger& ledger = outcome.ledger;
  for (size_t arm = 0; arm < outcome.options.arms.size(); ++arm) {
    // Slots are sent in order: of those beyond, in a run that was ended early, nothing happened.
    const uint64_t slots = outcome.ended_early ? outcome.arms[arm].counts.sent : ledger.slots();
    for (uint64_t slot = 0; slot < slots; ++slot) {
      for (int hop = 1; hop <= ledger.hops(); ++hop) {
        const lab::LedgerRow& row = ledger.At(arm, slot, hop);
        formats::AppendLedgerLine({.arm = outcome.options.arms[arm].name,
                                   .slot = slot,
                                   .hop = hop,
                                   .due = row.due,
                                   .publish_call = row.publish_call,
                                   .handler_entry = row.handler_entry,
                                   .handler_return = row.handler_return},
                                  text);
      }
    }
  }
  Add("ledger.csv", text);
}

void Folder::Add(std::string_view file, std::string_view text) {
  if (folder_ && status_.ok()) status_ = folder_->Append(file, text);
}

absl::StatusOr<std::vector<std::pair<std::string, uint64_t>>> Folder::Commit() {
  Flush(true);
  if (!status_.ok()) return status_;
  return folder_->Commit();
}

}  // namespace hopgap::cli
