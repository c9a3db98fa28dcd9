#include "lab/hop_ledger.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"

namespace hopgap::lab {
namespace {

constexpr size_t kExamplesMax = 10;

struct Message {
  uint64_t slot = 0, entered = 0, acked = 0;
  std::optional<WallTime> first_ack;
};

}  // namespace

HopFindings CheckHops(std::span<const HopLine> lines, int hops, uint64_t slots) {
  std::vector<const HopLine*> ordered;
  for (const HopLine& line : lines) ordered.push_back(&line);
  std::stable_sort(ordered.begin(), ordered.end(), [](const HopLine* a, const HopLine* b) { return a->at < b->at; });

  HopFindings findings;
  const auto broken = [&](uint64_t& count, const HopLine& line, std::string_view what) {
    ++count;
    if (findings.examples.size() >= kExamplesMax) return;
    findings.examples.push_back(
        StrCat("hop ", line.hop, " slot ", line.slot, " message ", line.message_id, ": ", what));
  };
  std::map<std::pair<int, std::string>, Message> messages;
  std::map<std::pair<int, uint64_t>, std::set<std::string>> ids;
  std::map<std::pair<int, uint64_t>, uint64_t> entries;
  std::map<uint64_t, int64_t> finished;  // slots at the last hop: handlings that did not end in a nack
  for (const HopLine* line : ordered) {
    Message& message = messages[{line->hop, line->message_id}];
    if (line->what == HopLine::What::kEntered) {
      ids[{line->hop, line->slot}].insert(line->message_id);
      ++entries[{line->hop, line->slot}];
      if (message.first_ack) {
        broken(findings.delivered_after_ack, *line, "delivered after its ack had succeeded");
      } else if (++message.entered > 1) {
        ++findings.redelivered;
      }
    } else if (line->what == HopLine::What::kReturned) {
      if (line->hop == hops && line->slot < slots) ++finished[line->slot];
    } else if (line->what == HopLine::What::kGivenBack) {
      ++findings.given_back;
      if (line->hop == hops && line->slot < slots) --finished[line->slot];
    } else if (line->what == HopLine::What::kAcked && line->ok) {
      if (++message.acked == 2) broken(findings.acked_twice, *line, "acked twice");
      if (!message.first_ack) message.first_ack = line->at;
    }
  }
  for (const auto& [place, different] : ids) {
    const auto& [hop, slot] = place;
    findings.reprocessed += different.size() - 1;
    // Each handler of the hop before publishes once.
    const auto before = entries.find({hop - 1, slot});
    const uint64_t may = hop == 1 ? 1 : before == entries.end() ? 0 : before->second;
    if (different.size() <= may) continue;
    findings.unexplained += different.size() - may;
    if (findings.examples.size() < kExamplesMax) {
      findings.examples.push_back(
          StrCat("hop ", hop, " slot ", slot, ": ", different.size(), " messages of ", may, " publishers"));
    }
  }
  const auto reached = static_cast<uint64_t>(
      std::count_if(finished.begin(), finished.end(), [](const auto& slot) { return slot.second > 0; }));
  findings.missing = slots - std::min(slots, reached);
  return findings;
}

}  // namespace hopgap::lab
