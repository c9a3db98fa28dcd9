#include "client/model.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <limits>
#include <utility>

// Sections are those of reference/client-behaviour.md. What is not set here is
// as in Go, or was not found and is taken to be.
namespace hopgap::client {
namespace {

using namespace std::chrono_literals;
using Code = absl::StatusCode;

constexpr int64_t kHundredMiB = 100 * 1024 * 1024;
constexpr int kNoCap = std::numeric_limits<int>::max();
constexpr Duration kNoEnd = std::chrono::hours{24 * 7};  // where the library sets none

// The v1 module: the same engine with ten streams.
void GoV1(Model& model) {
  model.streams = 10;         // §1.1: NumGoroutines
  model.ids_per_call = 2500;  // §1.1
  model.ids_per_ack_call = 2500;
}

void Java(Model& model) {
  model.streams = 1;  // §5.1: parallelPullCount
  // §5.1: a background job takes acks, nacks and receipts every 100 ms and
  // waits for none of its calls; the stream asks for the next response at once;
  // messages are released in order of receipt, up to the first unfinished one.
  model.exactly_once = {ReceiptSending::kWithTick, ReceiptWait::kInOrder};
  model.standard = {ReceiptSending::kWithTick, ReceiptWait::kNothing};
  model.sender_waits = false;
  model.ids_per_call = model.ids_per_ack_call = 1000;  // §5.1
  model.lease_percentile = 0.999;                      // §5.1
  model.reopens_after = {Code::kOk,      Code::kDeadlineExceeded,  Code::kInternal, Code::kCancelled,
                         Code::kAborted, Code::kResourceExhausted, Code::kUnknown,  Code::kUnavailable};  // §5.1
  model.reopen_initial = 100ms;  // §5.1: x2 up to 10 s
  model.reopen_max = 10s;
  model.retries_at_once = false;  // §5.1: 100 ms x2 up to 10 s, no cap seen
  model.retry_initial = 100ms;
  model.retry_max = 10s;
  model.ack_retry_total = kNoEnd;
  model.modack_retries = kNoCap;
  model.unlisted = UnlistedIds::kSucceeded;  // §5.1: when the error names others
  model.max_outstanding_bytes = kHundredMiB;
  model.credits_until = CreditsUntil::kSettled;  // §5.1
  model.callback_slots = 5;                      // §5.1: threads per puller
  model.slots_per_stream = true;
  model.loop_waits_for_slot = false;
  model.publish_delay = 1ms;  // §5.1
  model.publish_bytes = 1000;
}

void Python(Model& model) {
  model.streams = 1;  // §5.1: one per subscribe() call
  // §5.1, §5.2: the consumer thread sends the receipt modack and waits for it,
  // whatever the kind of subscription.
  model.exactly_once = {ReceiptSending::kAtOnce, ReceiptWait::kResponse};
  model.standard = {ReceiptSending::kAtOnce, ReceiptWait::kResponse};
  model.failed_receipt = FailedReceipt::kDroppedIfInvalid;  // §5.1
  // §5.1: up to 100 items or 10 ms, which its thread counts from when it begins
  // to wait for the first one (helper_threads.py, _get_many).
  model.batch_timer = BatchTimer::kFromFree;
  model.tick = 10ms;
  model.batch_ids_max = 100;
  model.ids_per_call = model.ids_per_ack_call = 1000;  // §5.1
  model.lease_timer = LeaseTimer::kRandom;             // §5.1
  model.pong_monitor = false;                          // §5.1
  model.reopens_after = {Code::kOk,      Code::kAborted,           Code::kDeadlineExceeded, Code::kInternal,
                         Code::kUnknown, Code::kResourceExhausted, Code::kUnavailable};  // §5.1
  model.shutdown_now_is_final = false;
  model.retries_at_once = false;  // §5.1: a thread of its own sleeps first; x2 up to 600 s, no cap
  model.retry_max = 600s;
  model.ack_retry_total = kNoEnd;
  model.modack_retries = kNoCap;
  model.max_outstanding_bytes = kHundredMiB;
  model.credits_until = CreditsUntil::kSettled;  // §5.1
  model.callback_slots = 10;                     // §5.1: thread pool of 10
  model.loop_waits_for_slot = false;
}

void Node(Model& model) {
  model.streams = 5;  // §5.1: maxStreams
  // §5.1: receipts wait for the modack queue's timer, which starts with its
  // first item; each message is released by its own. There is one queue of acks
  // and one of modacks to a subscriber (subscriber.ts, _acks and _modAcks).
  model.exactly_once = {ReceiptSending::kWithTick, ReceiptWait::kOwn};
  model.standard = {ReceiptSending::kWithTick, ReceiptWait::kNothing};
  model.batch_timer = BatchTimer::kFirstItem;
  model.batch_ids_max = 3000;  // §5.1
  model.sender_waits = false;
  model.shares_sender = true;
  model.ids_per_call = model.ids_per_ack_call = 3000;
  model.lease_timer = LeaseTimer::kRandom;  // §5.1
  model.stream_ack_deadline = 10s;          // §5.1: the present deadline; 60 is written to all streams at the change
  model.announces_at_once = true;
  model.pong_monitor = false;  // §5.1
  model.reopens_after = {Code::kOk,       Code::kDeadlineExceeded, Code::kResourceExhausted, Code::kAborted,
                         Code::kInternal, Code::kUnavailable,      Code::kCancelled};  // §5.1
  model.shutdown_now_is_final = false;
  model.reopen_initial = 100ms;  // §5.1: 100 ms up to 60 s
  model.reopen_max = 60s;
  model.resends_exactly_once = false;  // §5.1
  model.retries_at_once = false;       // §5.1: 1 s x2 up to 64 s; modacks fail after 3
  model.modack_retries = 3;
  model.max_outstanding_bytes = kHundredMiB;
  model.credits_until = CreditsUntil::kSettled;  // §5.1
  model.callback_slots = -1;                     // one event loop: a handler that awaits holds up nobody
  model.loop_waits_for_slot = false;
}

void Cpp(Model& model) {
  model.streams = 1;  // §5.1
  // §5.1: no receipt modack at all; the guarantee rests on the ack's result.
  model.exactly_once = {ReceiptSending::kNever, ReceiptWait::kNothing};
  model.standard = {ReceiptSending::kNever, ReceiptWait::kNothing};
  model.batch_timer = BatchTimer::kFirstItem;  // §5.1: not batched, one id per call
  model.tick = 0ms;
  model.sender_waits = false;
  model.ids_per_call = 2048;
  model.ids_per_ack_call = 1;
  model.lease_timer = LeaseTimer::kEachMessage;  // §5.1: 10 s, then the extension, 1 to 2 s early
  model.lease_grace = 2s;
  model.lease_min = model.lease_min_exactly_once = 600s;
  model.stream_ack_deadline = 10s;  // §5.1
  model.pong_monitor = false;
  model.reopens_after.push_back(Code::kResourceExhausted);
  model.shutdown_now_is_final = false;
  model.reopen_initial = 100ms;  // §5.1: up to 60 s
  model.reopen_max = 60s;
  model.retries_at_once = false;  // §5.1: 1 s x2 up to 10 min; 3 attempts of a modack
  model.retry_max = 600s;
  model.modack_retries = 2;
  model.max_outstanding_bytes = kHundredMiB;
  model.credits_until = CreditsUntil::kSettled;  // §5.1
  model.callback_slots = 4;                      // §5.1: hardware threads; of a machine of 4
}

// Ours. Both send what go sends, when go sends it, and differ in who waits.
void Pipelined(Model& model) { model.exactly_once.wait = ReceiptWait::kOwn; }
void Overlap(Model& model) { model.exactly_once.wait = ReceiptWait::kNothing; }

struct NamedModel {
  const char* name;
  void (*change)(Model&);
};
constexpr NamedModel kModels[] = {{"go", [](Model&) {}},    {"go-v1", GoV1},     {"java", Java},
                                  {"python", Python},       {"node", Node},      {"cpp", Cpp},
                                  {"pipelined", Pipelined}, {"overlap", Overlap}};

}  // namespace

const std::vector<std::string>& ModelNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const NamedModel& entry : kModels) all.emplace_back(entry.name);
    return all;
  }();
  return names;
}

absl::StatusOr<Model> FindModel(std::string_view name) {
  for (const NamedModel& entry : kModels) {
    if (name != entry.name) continue;
    Model model;
    model.name = entry.name;
    entry.change(model);
    return model;
  }
  return absl::NotFoundError(
      absl::StrCat("no client model '", std::string(name), "'; the models are: ", absl::StrJoin(ModelNames(), ", ")));
}

}  // namespace hopgap::client
