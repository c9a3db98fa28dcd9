// hopgap-torture [--kills N | --seconds S] [--seed N] [--folder DIR] [--progress 1] [--planted 1]: a real broker on a real
// disk, killed with SIGKILL again and again; docs/reliability.md says what is shown. Exit codes: 0 nothing was broken, 1 a
// promise was, or the broker did not come back (the folder is kept), 2 the command line. With --planted 1 the disk forgets
// the last group that it said to have synced, at every kill; then 0 says that this was found.
#include <signal.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/draw.h"
#include "base/system_clock.h"
#include "base/text.h"
#include "store/file.h"
#include "store/frame.h"
#include "store/journal_files.h"
#include "torture/broker.h"
#include "torture/checker.h"
#include "torture/session.h"

namespace hopgap::torture {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// Sixteen times smaller than the smallest that a broker chooses itself, so that
// segments are filled, emptied and used again every few lives.
constexpr uint64_t kSegmentBytes = 1 << 20;
constexpr uint64_t kSegmentsAtRestMax = 6;
constexpr size_t kBodyBytesMax = 100'000, kFillBytes = 300'000;
constexpr uint64_t kLivesPerDrain = 60;
constexpr Duration kReadyLimit = 60s, kPointLimit = 1500ms, kProofLimit = 30s, kSettleLimit = 60s, kRestLimit = 10s,
                   kDeathLimit = 2s;
// No lease, and so no hold, is longer than 600 s.
constexpr Duration kBeyondAnyLease = 601s;
// Still inside every lease, which nobody makes shorter than 60 s and no life lasts 10 s.
constexpr Duration kInsideLeases = 45s;
constexpr Duration kProgressEvery = 10s;
constexpr size_t kPasses = 20;
constexpr size_t kSegmentHeaderBytes = 64;
constexpr int kKilled = 128 + SIGKILL;

enum Subscriptions : size_t { kStandard, kEos, kOrdered, kDead, kLettersSub, kSubscriptions };
const std::vector<Rules> kRules = {{.name = "standard"},
                                   {.name = "eos", .exactly_once = true},
                                   {.name = "ordered", .exactly_once = true, .ordered = true},
                                   {.name = "dead", .exactly_once = true, .forwards = true},
                                   {.name = "letters", .letters = true}};
constexpr std::array<Manners, kSubscriptions> kManners = {{{.extend = 100, .ack = 850, .nack = 50},
                                                           {.extend = 600, .ack = 600, .nack = 100},
                                                           {.extend = 400, .ack = 880, .nack = 60},
                                                           {.extend = 300, .ack = 450, .nack = 450},
                                                           {.extend = 100, .ack = 950, .nack = 0}}};
constexpr Manners kLeaveAll = {.extend = 0, .ack = 0, .nack = 0}, kAckAll = {.extend = 0, .ack = 1000, .nack = 0};

struct Arguments {
  uint64_t kills = 500, seconds = 0, seed = 0;
  std::string folder;
  bool progress = false, planted = false;
};

struct Totals {
  uint64_t lives = 0, kills = 0, while_starting = 0, stops = 0, proofs = 0, drains = 0, not_reached = 0,
           files_bytes_max = 0;
  std::array<uint64_t, kPoints> at_point{};
};

// Overwrites the last group of the newest segment that holds any with zeros
// (docs/journal-format.md says how they lie there): the planted bug.
void ForgetLastGroup(const std::string& data) {
  std::vector<fs::path> segments;
  for (const fs::directory_entry& file : fs::directory_iterator(data)) {
    if (file.path().filename().string().starts_with("segment-")) segments.push_back(file.path());
  }
  std::ranges::sort(segments, std::greater{});
  for (const fs::path& path : segments) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    const std::string bytes = text.str();
    uint64_t at = kSegmentHeaderBytes, last = 0, mark = 0, group = 0;
    for (; at + store::kFrameHeaderBytes <= bytes.size(); at += store::FrameBytes(store::Load32(bytes, at + 4))) {
      if (mark == 0) mark = store::Load64(bytes, at + 8);
      if (mark == 0 || store::Load64(bytes, at + 8) != mark || !store::ReadFrame(bytes, at, mark)) break;
      if (const uint64_t of = store::Load64(bytes, at + 24) / 2; of != group) last = at, group = of;
    }
    if (last == 0) continue;
    file.seekp(static_cast<std::streamoff>(last));
    file << std::string(at - last, '\0');
    return;
  }
}

class Torture {
 public:
  explicit Torture(const Arguments& arguments)
      : arguments_(arguments), checker_(arguments.seed, kRules), kept_(kRules.size()) {}

  int Run() {
    if (!Prepare()) return 1;
    begun_ = next_line_ = SteadyNow();
    while (GoesOn() && !checker_.violation()) {
      ++totals_.lives;
      totals_.lives % kLivesPerDrain == 0 ? DrainLife() : Life();
      Progress();
    }
    if (!checker_.violation()) DrainLife();
    return Report();
  }

 private:
  bool GoesOn() const {
    if (arguments_.seconds > 0) return SteadyNow() - begun_ < std::chrono::seconds{arguments_.seconds};
    return totals_.kills < arguments_.kills;
  }

  // The journal is made with small segments, and a first life makes the resources.
  bool Prepare() {
    const std::string data = arguments_.folder + "/data";
    fs::create_directories(arguments_.folder);
    auto directory = store::OpenDirectory(data);
    const absl::Status written =
        directory.ok() ? store::ReplaceFile(
                             **directory, store::JournalFile::kName,
                             store::FormatJournalFile({.segment_bytes = kSegmentBytes, .key = {arguments_.seed, 1}}))
                       : directory.status();
    if (!written.ok()) return std::fprintf(stderr, "%s\n", std::string(written.message()).c_str()), false;
    *directory = nullptr;  // and its lock
    Broker broker(arguments_.folder, {});
    if (!broker.WaitReady(kReadyLimit)) return std::fprintf(stderr, "%s\n", broker.output().c_str()), false;
    Session session(remote_, broker.port(), arguments_.seed, 0, kRules, checker_, kept_);
    const absl::Status made = session.Make();
    if (!made.ok()) std::fprintf(stderr, "%s\n", std::string(made.message()).c_str());
    broker.Signal(SIGKILL);
    broker.Wait();
    return session.Settle(kSettleLimit) && made.ok();
  }

  Death DrawDeath(sim::Dice& dice) const {
    Death death;
    if (dice.Chance(torn_ ? 250 : 550)) return death;  // at an instant
    death.point = torn_ && dice.Chance(600) ? Point::kWipe : static_cast<Point>(dice.Below(kPoints));
    const bool often = *death.point <= Point::kAfterSync;
    death.skip = often ? dice.Below(uint64_t{1} << dice.Below(6)) : dice.Chance(250) ? 1 : 0;
    death.draw = dice.Next();
    return death;
  }

  void Life() {
    sim::Dice dice(arguments_.seed, Mix(totals_.lives, 0x6c6966));
    const Death death = DrawDeath(dice);
    const bool stop = !death.point && dice.Chance(60), proof = !stop && dice.Chance(180);
    const Duration until_death = dice.Between(Duration{1ms}, Duration{350ms});
    const bool at_instant = !death.point && !stop && !proof, early = at_instant && dice.Chance(200);
    Broker broker(arguments_.folder, death);
    if (early) broker.KillAt(SteadyNow() + until_death);
    if (!broker.WaitReady(kReadyLimit)) {
      ++totals_.while_starting;
      return End(broker, nullptr, death, kKilled);
    }
    Session session(remote_, broker.port(), arguments_.seed, totals_.lives, kRules, checker_, kept_);
    const auto dead = [&] { return broker.dead(); };
    if (proof) Prove(session, dead);
    if (!death.point && !stop && !early) broker.KillAt(SteadyNow() + until_death);
    if (dice.Chance(700)) session.UseOldIds();
    for (size_t i = 0; i < kSubscriptions; ++i) {
      if (dice.Chance(850)) session.Consume(i, dice.Chance(600), kManners[i]);
    }
    session.Publish(dice.Between(0, 12), dice.Between(600, kBodyBytesMax));
    const bool fills = death.point > Point::kAfterSync || dice.Chance(200);
    const Instant limit = SteadyNow() + (stop ? until_death : kPointLimit);
    while (!broker.dead() && !checker_.violation()) {
      if (SteadyNow() > limit && (stop || death.point)) {
        broker.Signal(stop ? SIGTERM : SIGKILL);
        totals_.not_reached += stop ? 0 : 1;
        break;
      }
      if (fills) session.Fill(dice.Between(1, kFillBytes));
      session.Turn(1ms);
    }
    End(broker, &session, death, stop ? 0 : kKilled);
  }

  void End(Broker& broker, Session* session, const Death& death, int expected) {
    const bool at_point = death.point && broker.dead();
    if (checker_.violation()) broker.Signal(SIGKILL);
    const int code = broker.Wait();
    if (code != expected && !checker_.violation()) {
      checker_.Break("restart", StrCat("life ", totals_.lives, ": the process ended with code ", code, " instead of ",
                                       expected, ": ", broker.output()));
    }
    if (session != nullptr && !session->Settle(kSettleLimit)) checker_.Break("one answer", "a call was never answered");
    checker_.Ended();
    torn_ = at_point && (death.point == Point::kTornWrite || death.point == Point::kTornCopy ||
                         death.point == Point::kTornCheckpoint || death.point == Point::kWipe);
    if (arguments_.planted && code == kKilled) ForgetLastGroup(arguments_.folder + "/data");
    if (code == kKilled) ++totals_.kills;
    if (code == kKilled && at_point) ++totals_.at_point[static_cast<size_t>(*death.point)];
    if (code == 0) ++totals_.stops;
  }

  bool PullAll(Session& session, const std::optional<Manners>& manners, const std::function<bool()>& dead) {
    if (session.PullAll(manners, kProofLimit, dead)) return true;
    if (!dead() && session.connected()) checker_.Break("delivered until acknowledged", "pulls never came back empty");
    return false;
  }

  // False if it ended first. A broker that lives moves its clock when it is asked.
  bool Advance(Session& session, Duration length, const std::function<bool()>& dead) {
    const absl::Status moved = session.Advance(length);
    if (moved.ok()) return true;
    for (const Instant until = SteadyNow() + kDeathLimit; !dead() && SteadyNow() < until;) session.Turn(5ms);
    if (!dead()) checker_.Break("the clock moves", std::string(MessageOf(moved)));
    return false;
  }

  // What may be with somebody is not delivered, also when time passes; and it is when no lease can run any more.
  void Prove(Session& session, const std::function<bool()>& dead) {
    if (!PullAll(session, kLeaveAll, dead) || !Advance(session, kInsideLeases, dead)) return;
    if (!PullAll(session, kLeaveAll, dead) || !Advance(session, kBeyondAnyLease, dead)) return;
    const Instant since = checker_.AtLeast(SteadyNow());
    Manners some = kAckAll;
    some.ack = 500;
    for (size_t i = 0; i < kSubscriptions; ++i) session.Consume(i, false, i == kOrdered ? kAckAll : some);
    if (!PullAll(session, std::nullopt, dead)) return;
    for (size_t i = 0; i < kSubscriptions; ++i) checker_.ExpectArrived(since, i);
    ++totals_.proofs;
  }

  // Nobody kills, everything is acknowledged: what was promised must all have come by the end.
  void DrainLife() {
    Broker broker(arguments_.folder, {});
    if (!broker.WaitReady(kReadyLimit)) return End(broker, nullptr, {}, kKilled);
    Session session(remote_, broker.port(), arguments_.seed, totals_.lives, kRules, checker_, kept_);
    const auto dead = [&] { return broker.dead(); };
    uint64_t before = 0;
    size_t passes = 0;
    do {
      before = checker_.tally().deliveries;
      if (Advance(session, kBeyondAnyLease, dead)) PullAll(session, kAckAll, dead);
    } while (before != checker_.tally().deliveries && ++passes < kPasses && !checker_.violation());
    if (passes == kPasses) checker_.Break("delivered until acknowledged", "what was acknowledged went on coming");
    if (!checker_.violation()) checker_.ExpectDrained();
    for (auto* ids : {&kept_.held, &kept_.stale}) {
      for (auto& of_one : *ids) of_one.clear();
    }
    ++totals_.drains;
    CheckFolder(session);
    broker.Signal(SIGKILL);
    End(broker, &session, {}, kKilled);
  }

  uint64_t BytesInFolder() const {
    uint64_t bytes = 0;
    for (const fs::directory_entry& file : fs::directory_iterator(arguments_.folder + "/data")) {
      std::error_code gone;  // segments come and go
      const uint64_t size = file.file_size(gone);
      bytes += gone ? 0 : size;
    }
    return bytes;
  }

  // What is done after a commit needs one: some small ones are made.
  void CheckFolder(Session& session) {
    const uint64_t bytes_max = kSegmentsAtRestMax * kSegmentBytes;
    for (const Instant until = SteadyNow() + kRestLimit; BytesInFolder() > bytes_max && SteadyNow() < until;) {
      session.Fill(1);
      session.Turn(5ms);
    }
    totals_.files_bytes_max = std::max(totals_.files_bytes_max, BytesInFolder());
    if (BytesInFolder() <= bytes_max) return;
    checker_.Break("disk use", StrCat("all is acknowledged, and the folder holds ", BytesInFolder(), " bytes"));
  }

  void Progress() {
    if (!arguments_.progress || SteadyNow() < next_line_ + kProgressEvery) return;
    next_line_ = SteadyNow();
    std::fprintf(stderr, "%llu kills in %.0f s, %llu publishes, %llu deliveries, backlog %zu\n",
                 static_cast<unsigned long long>(totals_.kills), ToMillis(SteadyNow() - begun_) / 1e3,
                 static_cast<unsigned long long>(checker_.tally().publishes),
                 static_cast<unsigned long long>(checker_.tally().deliveries), checker_.backlog());
  }

  int Report() {
    const auto n = [](uint64_t number) { return static_cast<unsigned long long>(number); };
    const Checker::Tally& tally = checker_.tally();
    std::printf(
        "seed %llu: %llu kills (%llu while it started, at %zu of %zu named points) and %llu clean stops in %.0f s; "
        "%llu "
        "publishes answered, %llu deliveries (%llu again), %llu acks OK (%llu ids of earlier lives), %llu refused, "
        "%llu "
        "leases extended, %llu dead letters; %llu proofs that what was held comes (%llu messages), %llu drains, at "
        "most "
        "%.1f MB of files then\n",
        n(arguments_.seed), n(totals_.kills), n(totals_.while_starting),
        kPoints - static_cast<size_t>(std::ranges::count(totals_.at_point, 0u)), kPoints, n(totals_.stops),
        ToMillis(SteadyNow() - begun_) / 1e3, n(tally.publishes), n(tally.deliveries), n(tally.again), n(tally.acks),
        n(tally.old_ids), n(tally.refused), n(tally.modacks), n(tally.letters), n(totals_.proofs), n(tally.held),
        n(totals_.drains), static_cast<double>(totals_.files_bytes_max) / 1e6);
    for (size_t i = 0; i < kPoints; ++i)
      std::printf("%s%s %llu", i == 0 ? "at " : ", ", kPointNames[i], n(totals_.at_point[i]));
    std::printf("; not reached in time %llu\n", n(totals_.not_reached));
    if (arguments_.planted || !checker_.violation()) fs::remove_all(arguments_.folder);
    if (arguments_.planted) {
      std::printf("what was planted was %s\n",
                  checker_.violation() ? ("found: " + checker_.violation()->promise).c_str() : "not found");
      return checker_.violation() ? 0 : 1;
    }
    if (!checker_.violation()) return 0;
    std::printf("broken: %s: %s\nthe data is in %s\nrepeat with: ./dev torture --seed %llu --kills %llu\n",
                checker_.violation()->promise.c_str(), checker_.violation()->what.c_str(), arguments_.folder.c_str(),
                n(arguments_.seed), n(std::max(arguments_.kills, totals_.kills + 1)));
    return 1;
  }

  const Arguments arguments_;
  Checker checker_;
  Session::Kept kept_;
  remote::Remote remote_;
  Totals totals_;
  Instant begun_, next_line_;
  bool torn_ = false;  // the last life left a group in part
};

std::optional<Arguments> Parse(int argc, char** argv) {
  Arguments arguments;
  if (getrandom(&arguments.seed, sizeof arguments.seed, 0) < 0) return std::nullopt;
  arguments.seed %= 1'000'000'000;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const auto value = ParseNumber<uint64_t>(argv[i + 1]);
    if (name == "--folder") {
      arguments.folder = argv[i + 1];
    } else if (!value) {
      return std::nullopt;
    } else if (name == "--kills") {
      arguments.kills = *value;
    } else if (name == "--seconds") {
      arguments.seconds = *value;
    } else if (name == "--seed") {
      arguments.seed = *value;
    } else if (name == "--progress") {
      arguments.progress = *value != 0;
    } else if (name == "--planted") {
      arguments.planted = *value != 0;
    } else {
      return std::nullopt;
    }
  }
  if (argc % 2 == 0) return std::nullopt;
  if (arguments.folder.empty()) {
    arguments.folder = (fs::temp_directory_path() / StrCat("hopgap-torture-", arguments.seed)).string();
  }
  if (!fs::exists(arguments.folder)) return arguments;
  std::fprintf(stderr, "%s: exists; remove it, or give another --folder\n", arguments.folder.c_str());
  return std::nullopt;
}

int Main(int argc, char** argv) {
  const std::optional<Arguments> arguments = Parse(argc, argv);
  if (!arguments) {
    std::fputs(
        "usage: hopgap-torture [--kills N | --seconds S] [--seed N] [--folder DIR] [--progress 1] [--planted 1]\n",
        stderr);
    return 2;
  }
  EndBrokerWhenStopped();
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  return Torture(*arguments).Run();
}

}  // namespace
}  // namespace hopgap::torture

int main(int argc, char** argv) { return hopgap::torture::Main(argc, argv); }
