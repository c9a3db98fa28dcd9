// The journal on a disk (design §5, "restart" and "durable"): a start with many
// retained messages, with and without a checkpoint; what a commit costs at a
// fixed rate; and a backlog that memory could not hold.
//
//   bench_durable DIRECTORY [MESSAGES]     default 1,000,000 of 1 KiB
//   bench_durable --fill DIRECTORY         on a small disk: fills it, drains it, three times
//   bench_durable --tiny                   in a temporary directory, which it removes
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include "base/system_clock.h"
#include "base/text.h"
#include "broker/broker.h"
#include "loop/strand.h"
#include "store/disk_journal.h"
#include "store/memory_journal.h"

namespace hopgap {
namespace {

constexpr char kTopic[] = "projects/p/topics/top";
constexpr char kSubscription[] = "projects/p/subscriptions/sub";
constexpr size_t kBatch = 100;

double Milliseconds(Duration length) { return std::chrono::duration<double, std::milli>(length).count(); }

// Bytes of this process that are no file's: what "in memory" means.
double AnonymousMegabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == "RssAnon:" && status >> kilobytes) return kilobytes / 1000;
  }
  return 0;
}

// What this process used, all threads together.
double CpuMilliseconds() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// A broker behind a strand and a journal: what the server is, without sockets.
class Node {
 public:
  explicit Node(broker::Journal& journal, HashKey key) : journal_(journal), broker_(Options(key), sink_) {}

  absl::Status Replay() {
    absl::Status status = journal_.Replay([this](const broker::StoredRecord& record, const broker::FindBody& find) {
      return broker_.Replay(record, find);
    });
    return status.ok() ? broker_.ReplayDone(SteadyNow()) : status;
  }
  // The answer's instant; returns when it is there.
  Duration Call(pubsub::Method method, pubsub::Request request) {
    const Instant begun = SteadyNow();
    answered_ = false;
    strand_.Run([&] {
      broker::Actions out;
      broker_.SetPublishRoom(journal_.PublishRoom());
      broker_.OnCall(SteadyNow(), broker::CallId{++calls_}, method, std::move(request), out);
      Perform(out);
    });
    std::unique_lock lock(mu_);
    changed_.wait(lock, [this] { return answered_; });
    return answered_at_ - begun;
  }
  const absl::Status& status() const { return status_; }
  void Make() {
    pubsub::Topic topic;
    topic.name = kTopic;
    Call(pubsub::Method::kCreateTopic, pubsub::CreateTopicRequest{topic});
    pubsub::Subscription subscription;
    subscription.name = kSubscription;
    subscription.topic = kTopic;
    subscription.enable_exactly_once_delivery = true;
    Call(pubsub::Method::kCreateSubscription, pubsub::CreateSubscriptionRequest{subscription});
  }
  Duration Publish(size_t count, size_t bytes) {
    pubsub::PublishRequest request;
    request.topic = kTopic;
    for (size_t i = 0; i < count; ++i) request.messages.push_back(pubsub::Message::Make(std::string(bytes, 'x'), {}));
    request.wire_size = count * (bytes + 8);
    return Call(pubsub::Method::kPublish, std::move(request));
  }
  // Takes up to 1000 and acknowledges them; how many there were.
  size_t Drain() {
    pubsub::PullRequest pull;
    pull.subscription = kSubscription;
    pull.max_messages = 1000;
    pull.return_immediately = true;
    Call(pubsub::Method::kPull, pull);
    const auto received = pubsub::DecodePullResponse(pubsub::Bytes(payload_));
    if (!received.ok() || received->empty()) return 0;
    pubsub::AcknowledgeRequest ack;
    ack.subscription = kSubscription;
    for (const pubsub::ReceivedMessage& message : *received) ack.ack_ids.push_back(message.ack_id);
    Call(pubsub::Method::kAcknowledge, ack);
    return status_.ok() ? received->size() : 0;
  }
  // Returns when a checkpoint that begins now is complete.
  void Checkpoint(Duration& longest) {
    strand_.Run([&] {
      broker::Actions out;
      if (!broker_.checkpointing()) broker_.StartCheckpoint({}, out);
      Perform(out);
    });
    bool busy = true;
    while (busy) {
      strand_.Run([&] { busy = broker_.checkpointing(); });
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    longest = strand_.figures().longest_task;
  }
  void ForgetLongest() { strand_.ForgetLongest(); }
  void Wait() { strand_.WaitIdle(); }

 private:
  static broker::Broker::Options Options(HashKey key) {
    broker::Broker::Options options;
    options.anchor = ReadAnchor();
    options.ack_id_key = key;
    return options;
  }
  void Perform(broker::Actions& out) {
    for (broker::Action& action : out) {
      if (action.kind == broker::Action::Kind::kReply) {
        const std::lock_guard lock(mu_);
        answered_ = true;
        answered_at_ = SteadyNow();
        status_ = action.status;
        payload_ = pubsub::Join(action.payload);
        changed_.notify_all();
      }
      if (action.kind != broker::Action::Kind::kPersist) continue;
      journal_.Append(action.token, std::move(action.records), action.awaited,
                      [this](broker::PersistToken token, std::vector<broker::StoredRecord> stored) {
                        strand_.Post([this, token, stored = std::move(stored)] { Persisted(token, stored); });
                      });
    }
  }
  void Persisted(broker::PersistToken token, const std::vector<broker::StoredRecord>& stored) {
    broker::Actions out;
    broker_.OnStored(stored);
    broker_.OnPersisted(SteadyNow(), token, out);
    if (!broker_.checkpointing()) {
      if (auto plan = journal_.NextCheckpoint(broker_.live_bytes())) broker_.StartCheckpoint(*plan, out);
    }
    Perform(out);
  }

  broker::Journal& journal_;
  trace::NullSink sink_;
  loop::Strand strand_;
  broker::Broker broker_;
  uint64_t calls_ = 0;
  std::mutex mu_;
  std::condition_variable changed_;
  bool answered_ = false;
  Instant answered_at_;
  absl::Status status_;
  std::string payload_;
};

std::unique_ptr<store::DiskJournal> OpenJournal(const std::string& path) {
  auto directory = store::OpenDirectory(path);
  if (!directory.ok()) std::fprintf(stderr, "%s\n", directory.status().ToString().c_str());
  auto journal = store::DiskJournal::Open(
      *std::move(directory),
      {.log = {.fresh_key = {1, 2}, .segment_bytes = 0}, .on_failure = [](const absl::Status& status) {
         std::fprintf(stderr, "%s\n", status.ToString().c_str());
         std::_Exit(1);
       }});
  if (!journal.ok()) std::fprintf(stderr, "%s\n", journal.status().ToString().c_str());
  return *std::move(journal);
}

Duration Restart(const std::string& path, const char* what, bool checkpoint) {
  const Instant begun = SteadyNow();
  const double cpu = CpuMilliseconds();
  const std::unique_ptr<store::DiskJournal> journal = OpenJournal(path);
  Node node(*journal, journal->key());
  const absl::Status replayed = node.Replay();
  const Duration length = SteadyNow() - begun;
  std::printf("  start %-24s %8.1f ms (%.0f ms of a processor)  %s, memory without files %.0f MB\n", what,
              Milliseconds(length), CpuMilliseconds() - cpu, replayed.ToString().c_str(), AnonymousMegabytes());
  if (checkpoint) {
    node.ForgetLongest();
    Duration longest{0};
    const Instant before = SteadyNow();
    node.Checkpoint(longest);
    std::printf("  checkpoint                     %8.1f ms  longest hold of the strand %.2f ms\n",
                Milliseconds(SteadyNow() - before), Milliseconds(longest));
  }
  journal->Close();
  node.Wait();
  return length;
}

void Fill(const std::string& path, size_t messages) {
  const std::unique_ptr<store::DiskJournal> journal = OpenJournal(path);
  Node node(*journal, journal->key());
  if (const absl::Status replayed = node.Replay(); !replayed.ok()) std::printf("%s\n", replayed.ToString().c_str());
  node.Make();
  const Instant begun = SteadyNow();
  for (size_t i = 0; i < messages; i += kBatch) node.Publish(kBatch, 1024);
  const double seconds = Milliseconds(SteadyNow() - begun) / 1000;
  const store::DiskJournal::Figures figures = journal->figures();
  std::printf(
      "  %zu messages of 1 KiB, one publish of %zu at a time: %.0f/s, %llu writes, longest %.1f ms, %llu files of %llu "
      "MiB\n",
      messages, kBatch, static_cast<double>(messages) / seconds, static_cast<unsigned long long>(figures.writes),
      Milliseconds(figures.longest_write), static_cast<unsigned long long>(figures.files),
      static_cast<unsigned long long>(figures.segment_bytes >> 20));
  std::printf("  memory without files %.0f MB\n", AnonymousMegabytes());
  journal->Close();
  node.Wait();
}

// 1 KiB at 1,000/s, each awaited: the time until it may be answered and sent.
void Commits(broker::Journal& journal, HashKey key, const char* what, size_t count) {
  Node node(journal, key);
  if (const absl::Status replayed = node.Replay(); !replayed.ok()) std::printf("%s\n", replayed.ToString().c_str());
  node.Make();
  std::vector<Duration> lengths;
  Instant due = SteadyNow();
  for (size_t i = 0; i < count; ++i, due += std::chrono::milliseconds{1}) {
    std::this_thread::sleep_for(due - SteadyNow());
    lengths.push_back(node.Publish(1, 1024));
  }
  std::sort(lengths.begin(), lengths.end());
  std::printf("  publish until committed, %s: p50 %.3f ms, p99 %.3f ms (n %zu, 1,000/s)\n", what,
              Milliseconds(lengths[count / 2]), Milliseconds(lengths[count * 99 / 100]), count);
  node.Wait();
}

int FillAndDrain(const std::string& path) {
  const std::unique_ptr<store::DiskJournal> journal = OpenJournal(path);
  Node node(*journal, journal->key());
  if (const absl::Status replayed = node.Replay(); !replayed.ok()) std::printf("%s\n", replayed.ToString().c_str());
  node.Make();
  bool good = true;
  for (int round = 1; round <= 3; ++round) {
    size_t published = 0, acked = 0;
    for (node.Publish(kBatch, 1024); node.status().ok(); node.Publish(kBatch, 1024)) published += kBatch;
    const std::string refused = node.status().ToString();
    for (size_t count = node.Drain(); count > 0; count = node.Drain()) acked += count;
    // The files that were emptied become ready beside this.
    Instant give_up = SteadyNow() + std::chrono::seconds{10};
    for (node.Publish(1, 10); !node.status().ok() && SteadyNow() < give_up; node.Publish(1, 10)) {
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    good = good && node.status().ok() && published == acked && node.Drain() == 1;
    std::printf(
        "  round %d: %zu KiB published, then %.60s…; %zu acknowledged; then publish: %s; %llu files of %llu MiB\n",
        round, published, refused.c_str(), acked, node.status().ToString().c_str(),
        static_cast<unsigned long long>(journal->figures().files),
        static_cast<unsigned long long>(journal->figures().segment_bytes >> 20));
  }
  journal->Close();
  node.Wait();
  return good ? 0 : 1;
}

int Run(const std::string& root, size_t messages) {
  const std::string path = root + "/restart", commits = root + "/commits";
  std::printf("durable, in %s\n", root.c_str());
  Fill(path, messages);
  Restart(path, "by the records", false);
  Restart(path, "by the records, warm", true);
  Restart(path, "by the checkpoint", false);
  const Duration warm = Restart(path, "by the checkpoint, warm", false);
  store::MemoryJournal memory;
  const size_t count = std::min<size_t>(messages / 100, 5000);
  Commits(memory, {1, 2}, "in memory", count);
  {
    const std::unique_ptr<store::DiskJournal> journal = OpenJournal(commits);
    Commits(*journal, journal->key(), "on the disk", count);
    journal->Close();
  }
  std::filesystem::remove_all(path);
  std::filesystem::remove_all(commits);
  const bool met = warm <= std::chrono::milliseconds{500};
  std::printf("restart with %zu retained messages, warm: %.0f ms (target 500): %s\n", messages, Milliseconds(warm),
              met ? "met" : "MISSED");
  return met ? 0 : 1;
}

}  // namespace
}  // namespace hopgap

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--tiny") {
    std::string folder = (std::filesystem::temp_directory_path() / "hopgap-bench-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return 2;
    const int code = hopgap::Run(folder, 2000);
    std::filesystem::remove_all(folder);
    return code;
  }
  if (argc == 3 && std::string_view(argv[1]) == "--fill") return hopgap::FillAndDrain(argv[2]);
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_durable DIRECTORY [MESSAGES] | --fill DIRECTORY | --tiny\n");
    return 2;
  }
  const size_t messages = argc > 2 ? hopgap::ParseNumber<size_t>(argv[2]).value_or(0) : 1'000'000;
  return hopgap::Run(argv[1], std::max<size_t>(messages, 100));
}
