// A journal that anything may have happened to: opening it ends in a state or in
// an error, never in a crash; and what could be opened goes on and opens again.
//
// Byte 0 of the input says how the rest is read: even, as what stands behind the
// header of the first segment; odd, as records (u16 length and bytes each) in
// sound frames, so that the records are reached and not only the sums.
#include <algorithm>

#include "base/check.h"
#include "broker/broker.h"
#include "broker/checkpoint_record.h"
#include "broker/journal_record.h"
#include "fuzz/fuzz.h"
#include "store/disk_journal.h"
#include "store/memory_directory.h"

namespace hopgap::fuzz {
namespace {

using store::MemoryDirectory;

constexpr HashKey kKey{1, 2};
constexpr uint64_t kSegmentBytes = 16 << 10;
// A sum keeps sequences like these out of a real journal; here they would only use up the memory.
constexpr uint64_t kSequenceMax = 10'000;

std::shared_ptr<MemoryDirectory::Contents> Journal(std::string_view frames) {
  auto contents = std::make_shared<MemoryDirectory::Contents>();
  const auto put = [&](const char* name, std::string text) {
    contents->files[name] = std::make_shared<std::string>(std::move(text));
  };
  put(store::JournalFile::kName, store::FormatJournalFile({.segment_bytes = kSegmentBytes, .key = kKey}));
  put(store::CheckpointFile::kName, std::string(8192, '\0'));
  std::string segment = store::Segment::HeaderOf(1, kSegmentBytes);
  segment += frames.substr(0, kSegmentBytes - segment.size());
  segment.resize(kSegmentBytes, '\0');
  put(store::Segment::NameOf(1).c_str(), std::move(segment));
  return contents;
}

std::vector<std::string_view> Records(std::string_view text) {
  std::vector<std::string_view> records;
  while (text.size() >= 2) {
    const size_t size =
        std::min<size_t>(static_cast<uint8_t>(text[0]) + 256u * static_cast<uint8_t>(text[1]), text.size() - 2);
    records.push_back(text.substr(2, size));
    text.remove_prefix(2 + size);
  }
  return records;
}

bool Huge(const broker::StoredRecord& record) {
  if (broker::KindOf(record.bytes.view()) == broker::RecordKind::kPublished ||
      broker::KindOf(record.bytes.view()) == broker::RecordKind::kOrdinary) {
    return false;
  }
  const auto decoded = broker::DecodeCheckpointRecord(record.bytes);
  if (!decoded.ok()) return false;
  if (const auto* topic = std::get_if<broker::TopicPart>(&*decoded)) return topic->next > kSequenceMax;
  return false;
}

bool Open(const std::shared_ptr<MemoryDirectory::Contents>& contents) {
  auto opened =
      store::DiskJournal::Open(std::make_unique<MemoryDirectory>(contents),
                               {.log = {.fresh_key = kKey, .segment_bytes = kSegmentBytes},
                                .threads = false,
                                .on_failure = [](const absl::Status&) { HOPGAP_CHECK(false, "memory failed"); }});
  if (!opened.ok()) return false;
  trace::NullSink sink;
  broker::Broker::Options options;
  options.ack_id_key = kKey;
  broker::Broker broker(std::move(options), sink);
  bool skip = false;
  absl::Status status = (*opened)->Replay([&](const broker::StoredRecord& record, const broker::FindBody& find) {
    skip = skip || Huge(record);
    return skip ? absl::OkStatus() : broker.Replay(record, find);
  });
  if (!status.ok() || skip || !broker.ReplayDone(InstantFromNanos(1)).ok()) return false;
  broker::Actions out;
  broker.StartCheckpoint({}, out);
  for (size_t i = 0; i < out.size(); ++i) {
    (*opened)->Append(out[i].token, std::move(out[i].records), true,
                      [&](broker::PersistToken token, const auto& stored) {
                        broker.OnStored(stored);
                        broker.OnPersisted(InstantFromNanos(2), token, out);
                      });
    while ((*opened)->Step()) {
    }
  }
  HOPGAP_CHECK(!broker.checkpointing(), "a checkpoint was not completed");
  return true;
}

}  // namespace

std::vector<std::string> Seeds() {
  pubsub::Topic topic;
  topic.name = "projects/p/topics/top";
  topic.message_retention_duration = std::chrono::hours{1};
  pubsub::Snapshot snapshot;
  snapshot.name = "projects/p/snapshots/snap";
  snapshot.topic = topic.name;
  pubsub::Subscription subscription;
  subscription.name = "projects/p/subscriptions/sub";
  subscription.topic = topic.name;
  subscription.enable_exactly_once_delivery = true;
  subscription.retain_acked_messages = true;
  const pubsub::Message message = pubsub::Message::Make("body", {{"key", "value"}}).Accepted("17", WallTime{});
  using broker::EncodeCheckpointRecord;
  using broker::EncodeRecord;
  using Which = broker::SequenceSet::Which;
  const std::vector<std::vector<pubsub::Slices>> journals = {
      {EncodeRecord(broker::TopicCreated{1, topic}),
       EncodeRecord(broker::SubscriptionCreated{2, 1, 0, 0, std::chrono::seconds{60}, subscription}),
       EncodeRecord(broker::Published{1, 0, {message, message}}), EncodeRecord(broker::SendBoundRaised{2, 1}),
       EncodeRecord(broker::Redelivered{2, {{0, 2}}}), EncodeRecord(broker::Nacked{2, {{0, 2}}}),
       EncodeRecord(broker::LeaseCeilingRaised{2, std::chrono::seconds{90}}), EncodeRecord(broker::Acked{2, {{1, 1}}}),
       EncodeRecord(broker::CleanStop{{{2, {0, 2}, std::chrono::seconds{5}}}, false})},
      {EncodeCheckpointRecord(broker::CheckpointBegan{2, 18}),
       EncodeCheckpointRecord(broker::TopicPart{1, 9, false, 4, topic}),
       EncodeCheckpointRecord(broker::SubscriptionPart{2, 1, 0, 3, std::chrono::seconds{60}, subscription}),
       EncodeCheckpointRecord(broker::SequenceSet{2, Which::kFinished, 0, 9, {{1, 5}, {6, 8}}}),
       EncodeCheckpointRecord(broker::SequenceSet{2, Which::kEnded, 0, 9, {{6, 7}}}),
       EncodeCheckpointRecord(broker::SequenceSet{2, Which::kKept, 0, 9, {{6, 8}}}),
       EncodeCheckpointRecord(broker::SnapshotPart{3, 1, 8, {{0, 1}, {4, 6}}, snapshot}),
       EncodeCheckpointRecord(broker::BodiesCopied{
           1, {{0, message}, {4, message}, {5, message}, {6, message}, {7, message}, {8, message}}}),
       EncodeCheckpointRecord(broker::BodiesStored{1, {{0, {1, 64, 2}, 9}}}),
       EncodeCheckpointRecord(broker::DeliveryStates{2, 0, 9, {{0, 2, 1, 4}, {1, 3, 0, 0}}}),
       EncodeCheckpointRecord(broker::CheckpointEnded{{1}})}};
  std::vector<std::string> seeds;
  for (const auto& journal : journals) {
    std::string records(1, '\1'), frames;
    uint64_t sequence = 0;
    for (const pubsub::Slices& record : journal) {
      const std::string text = pubsub::Join(record);
      records += static_cast<char>(text.size() % 256);
      records += static_cast<char>(text.size() / 256);
      records += text;
      ++sequence;
      store::AppendFrame(frames, store::Segment::MarkOf(kKey, 1), sequence, sequence, true, record);
    }
    seeds.push_back(records);
    seeds.push_back(std::string(1, '\0') + frames);
  }
  return seeds;
}

}  // namespace hopgap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hopgap;  // NOLINT: the name is libFuzzer's
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string frames;
  if (data[0] % 2 == 0) {
    frames = rest;
  } else {
    uint64_t sequence = 0;
    for (const std::string_view record : fuzz::Records(rest)) {
      ++sequence;
      store::AppendFrame(frames, store::Segment::MarkOf(fuzz::kKey, 1), sequence, sequence, true,
                         {pubsub::Bytes(std::string(record))});
    }
  }
  const auto contents = fuzz::Journal(frames);
  if (!fuzz::Open(contents)) return 0;
  HOPGAP_CHECK(fuzz::Open(contents), "what was opened and written does not open again");
  return 0;
}
