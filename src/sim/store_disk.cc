// The real journal of store/ in the fault world, over files that lose bytes.

#include <utility>
#include <vector>

#include "sim/disk.h"
#include "sim/fault_files.h"
#include "store/disk_journal.h"

namespace hopgap::sim {
namespace {

// Enough for any one of the journal's steps.
constexpr uint64_t kOperationsPerStep = 8;
constexpr uint64_t kExtraCheckpoints = 50;  // of 1,000 groups

class StoreDisk final : public Disk {
 public:
  StoreDisk(uint64_t seed, const StorePlan& plan, HashKey key)
      : plan_(plan), key_(key), dice_(seed, 79), files_(seed, plan.bytes_max) {}

  absl::Status Replay(broker::Broker& broker) override {
    failure_ = absl::OkStatus();
    auto opened = store::DiskJournal::Open(
        files_.Open(), {.log = {.fresh_key = key_, .segment_bytes = plan_.segment_bytes, .planted = plan_.planted},
                        .threads = false,
                        .on_failure = [this](const absl::Status& status) { failure_ = status; }});
    if (!opened.ok()) return opened.status();
    journal_ = *std::move(opened);
    return journal_->Replay(
        [&](const broker::StoredRecord& record, const broker::FindBody& find) { return broker.Replay(record, find); });
  }

  void Append(broker::Action& action) override {
    awaited_ += action.awaited ? 1 : 0;
    journal_->Append(action.token, std::move(action.records), action.awaited,
                     [this](broker::PersistToken token, std::vector<broker::StoredRecord> stored) {
                       durable_.emplace_back(token, std::move(stored));
                     });
  }

  bool wants_sync() const override { return !syncing() && awaited_ > 0; }

  bool FinishSync(Instant now, bool fails, broker::Broker& broker, broker::Actions& out) override {
    syncing_ = false;
    awaited_ = 0;
    if (fails) files_.DieAfter(dice_.Below(kOperationsPerStep));
    // Segments are made ready beside the writing: now and then it is late with that.
    journal_->Step();
    while (failure_.ok() && !dice_.Chance(200) && journal_->Step()) continue;
    if (fails || !failure_.ok()) return false;
    for (auto& [token, stored] : std::exchange(durable_, {})) {
      broker.OnStored(stored);
      broker.OnPersisted(now, token, out);
      if (broker.checkpointing()) continue;
      std::optional<broker::CheckpointPlan> plan = journal_->NextCheckpoint(broker.live_bytes());
      // One more than are due does no harm, where there is room.
      if (!plan && journal_->PublishRoom() == broker::Journal::kUnlimited && dice_.Chance(kExtraCheckpoints))
        plan.emplace();
      if (plan) broker.StartCheckpoint(*std::move(plan), out);
    }
    return true;
  }

  uint64_t PublishRoom() const override { return journal_->PublishRoom(); }

  // What is being written then gets some way.
  void Crash() override {
    if (journal_ != nullptr && syncing_ && dice_.Chance(500)) {
      files_.DieAfter(dice_.Below(kOperationsPerStep));
      journal_->Step();
    }
    journal_.reset();
    durable_.clear();
    awaited_ = 0;
    syncing_ = false;
    files_.Crash();
  }
  void StartFaults() override { files_.StartFaults(plan_.dies); }
  void CalmDown() override { files_.CalmDown(); }
  bool died() const override { return files_.dead(); }
  // A reserve as small as this world's may be written full in the end; there has to be one.
  absl::Status failure() const override {
    return files_.written_since_full() < plan_.segment_bytes / 2 ? failure_ : absl::OkStatus();
  }

 private:
  const StorePlan plan_;
  const HashKey key_;
  Dice dice_;
  FaultFiles files_;
  std::unique_ptr<store::DiskJournal> journal_;
  std::vector<std::pair<broker::PersistToken, std::vector<broker::StoredRecord>>> durable_;
  uint64_t awaited_ = 0;
  absl::Status failure_;
};

}  // namespace

std::unique_ptr<Disk> MakeStoreDisk(uint64_t seed, const StorePlan& plan, HashKey key) {
  return std::make_unique<StoreDisk>(seed, plan, key);
}

}  // namespace hopgap::sim
