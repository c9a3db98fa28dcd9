#include "client/model_words.h"

#include <absl/strings/str_cat.h>

#include "base/check.h"

namespace hopgap::client {
namespace {

struct NamedWords {
  std::string_view name;
  ModelWords words;
};

constexpr std::string_view kGoWaits =
    "A stream reads a response, sends the receipt modack of its messages at once, and does nothing else until the last "
    "id has its result. Each message pays a modack round trip; those behind it on the stream pay it, too, before they "
    "are even read (that part shows as delivery gap).";
constexpr std::string_view kGoGivesUp =
    "Throughput: streams x messages per response / modack round trip is all it can carry. One id that has to be tried "
    "again holds up its whole response and stream.";
constexpr std::string_view kGoDiffers =
    "Keep-alive at the level of connections, and the pool of up to four of them; hedged publishes.";

constexpr NamedWords kWords[] = {
    {"go",
     {.library = "Go, cloud.google.com/go/pubsub/v2 (2.7.0)",
      .waits_for = kGoWaits,
      .gives_up = kGoGivesUp,
      .settings = "ReceiveSettings: NumGoroutines (streams), MaxOutstandingMessages and -Bytes, "
                  "Min/MaxDurationPerAckExtension, EnablePerStreamFlowControl. PublishSettings: DelayThreshold, "
                  "CountThreshold, ByteThreshold. Not the 100 ms of acks, not the receipt modack.",
      .differs = kGoDiffers}},
    {"go-v1",
     {.library = "Go, cloud.google.com/go/pubsub (v1)",
      .waits_for = "What go waits for. Its ten streams (v2: one) carry ten times as much before messages queue; at an "
                   "equal number of streams there is no difference.",
      .gives_up = kGoGivesUp,
      .settings = "As go; NumGoroutines is 10 by default.",
      .differs = kGoDiffers}},
    {"java",
     {.library = "Java, google-cloud-pubsub (1.150)",
      .waits_for =
          "A background job sends receipt modacks every 100 ms, so a message waits for the next tick and then a "
          "modack round trip. Its stream reads on. Messages are released in order of receipt: one whose "
          "receipt has to be tried again holds up those behind it on its stream.",
      .gives_up = "50 ms more at the mean than a receipt sent at once, for fewer calls. Callbacks: five at once for "
                  "each stream, by default.",
      .settings = "parallelPullCount (streams), executorProvider (callbacks at once), FlowControlSettings, "
                  "Min/MaxDurationPerAckExtension, BatchingSettings of the publisher. Not the 100 ms.",
      .differs =
          "Credits are waited for by the stream's loop, not by the thread that released the message; retries have "
          "full jitter."}},
    {"python",
     {.library = "Python, google-cloud-pubsub (2.35)",
      .waits_for =
          "The consumer thread sends the receipt modack and waits for its result, on standard subscriptions as "
          "well: a round trip for each response, whatever the kind.",
      .gives_up =
          "There is one stream, so at most messages per response / modack round trip. Standard subscriptions "
          "pay for their receipts, too. A receipt that failed still lets its message through, unless its ack id "
          "is invalid.",
      .settings = "FlowControl (max_messages, max_bytes, min/max_duration_per_lease_extension), the scheduler's thread "
                  "pool (10 callbacks at once), BatchSettings of the publisher. More streams: more subscribe() calls.",
      .differs =
          "Extensions share the sender with acks; a keyed message starts when its predecessor returned, not when "
          "it was acked; flow control holds single messages instead of pausing at load 1.0."}},
    {"node",
     {.library = "Node.js, @google-cloud/pubsub (5.3)",
      .waits_for = "A receipt modack waits 100 ms for company, counted from the first that waits on any stream: a lone "
                   "message pays all of it, then the round trip. Streams read on, and each message waits for its own "
                   "receipt.",
      .gives_up = "The fixed 100 ms; order of arrival (a message without ordering key may overtake another).",
      .settings = "batching.maxMilliseconds (acks and modacks; 0 is possible), streamingOptions.maxStreams, "
                  "flowControl, minAckDeadline and maxAckDeadline, batching of the publisher.",
      .differs = "Handlers are taken to await: one that computes would hold up its event loop. Flow control holds "
                 "messages instead of pausing streams. Jitter of retries is full, not half a second."}},
    {"cpp",
     {.library = "C++, google-cloud-cpp (approximate: files of several versions)",
      .waits_for = "Nothing. It sends no receipt modack: a message goes to its callback at once.",
      .gives_up = "Early notice of a lost lease: exactly-once rests on the result of the ack alone. A crashed worker's "
                  "messages come back after up to ten minutes, the length of its extensions. Each ack is a call.",
      .settings =
          "MaxConcurrencyOption (callbacks at once; hardware threads, 4 here), MaxOutstandingMessagesOption and "
          "-Bytes, MaxDeadlineTimeOption, Min/MaxDeadlineExtensionOption, batching of the publisher.",
      .differs = "Extensions of messages due at different times leave in calls of their own."}},
    {"pipelined",
     {.library = "ours, on go's terms",
      .waits_for =
          "A message waits for its own receipt modack, sent at once: one round trip. Its stream reads on, so no "
          "message waits for another's; messages of an ordering key keep their order.",
      .gives_up = "Order of arrival for messages without a key, and memory: as many messages wait in a stream as flow "
                  "control allows to be outstanding.",
      .settings = "None: no library has it. hopgap: --streams, --max-outstanding-messages.",
      .differs = ""}},
    {"overlap",
     {.library = "ours, on go's terms",
      .waits_for = "Nothing: the callback starts while its receipt modack is in flight.",
      .gives_up = "A callback may run for a message whose lease is lost already. The ack's result still says so, so "
                  "work that counts only with its ack stays exactly-once; side effects before it may happen twice.",
      .settings = "None: no library has it. hopgap: --streams, --max-outstanding-messages.",
      .differs = ""}},
};

std::string Ms(Duration length) {
  return absl::StrCat(std::chrono::duration_cast<std::chrono::milliseconds>(length).count(), " ms");
}
std::string Seconds(Duration length) {
  return absl::StrCat(std::chrono::duration_cast<std::chrono::seconds>(length).count(), " s");
}

std::string BatchText(const Model& model) {
  if (model.tick == Duration{0}) return "at once";
  std::string text;
  switch (model.batch_timer) {
    case BatchTimer::kTicker: text = absl::StrCat("with a ticker of ", Ms(model.tick)); break;
    case BatchTimer::kFirstItem: text = absl::StrCat(Ms(model.tick), " after the first"); break;
    case BatchTimer::kFromFree: text = absl::StrCat("at once, but ", Ms(model.tick), " after the batch before"); break;
  }
  if (model.batch_ids_max > 0) absl::StrAppend(&text, " or at ", model.batch_ids_max);
  return text;
}

std::string ReceiptText(const Model& model, const Receipts& receipts) {
  std::string text;
  switch (receipts.sending) {
    case ReceiptSending::kNever: return "none";
    case ReceiptSending::kAtOnce: text = "at once"; break;
    case ReceiptSending::kWithTick: text = BatchText(model); break;
  }
  switch (receipts.wait) {
    case ReceiptWait::kNothing: return absl::StrCat(text, ", nobody waits");
    case ReceiptWait::kResponse: return absl::StrCat(text, ", the stream waits for the whole response");
    case ReceiptWait::kInOrder: return absl::StrCat(text, ", a message waits for its own and those before it");
    case ReceiptWait::kOwn: return absl::StrCat(text, ", a message waits for its own");
  }
  return text;
}

std::string CallbacksText(const Model& model) {
  if (model.callback_slots < 0) return "any number";
  if (model.callback_slots == 0) return absl::StrCat(model.max_outstanding_messages);
  return absl::StrCat(model.callback_slots, model.slots_per_stream ? " for each stream" : "");
}

std::string LeaseText(const Model& model) {
  return absl::StrCat(Seconds(model.lease_min), " or more, exactly-once ", Seconds(model.lease_min_exactly_once),
                      ", by the ", model.lease_percentile * 100, "th percentile of ack times");
}

std::string ExtendedText(const Model& model) {
  switch (model.lease_timer) {
    case LeaseTimer::kBeforeDeadline: return absl::StrCat("all of a stream, ", Seconds(model.lease_grace), " early");
    case LeaseTimer::kRandom: return "all of a stream, at a random part of 0.9 lengths";
    case LeaseTimer::kEachMessage: break;
  }
  return absl::StrCat("each by itself, ", Seconds(model.lease_grace), " early");
}

}  // namespace

const ModelWords& WordsOf(std::string_view name) {
  for (const NamedWords& entry : kWords) {
    if (entry.name == name) return entry.words;
  }
  HOPGAP_CHECK(false, "a model without words");
}

std::vector<ModelFact> FactsOf(const Model& model) {
  return {
      {"streams by default", absl::StrCat(model.streams)},
      {"receipt modack, exactly-once", ReceiptText(model, model.exactly_once)},
      {"receipt modack, standard", ReceiptText(model, model.standard)},
      {"acks and nacks leave", absl::StrCat(BatchText(model), model.sender_waits ? ", one batch at a time" : "")},
      {"ids in a call", model.ids_per_ack_call == model.ids_per_call
                            ? absl::StrCat(model.ids_per_call)
                            : absl::StrCat(model.ids_per_call, ", of an ack ", model.ids_per_ack_call)},
      {"leases last", LeaseText(model)},
      {"leases are extended", ExtendedText(model)},
      {"exactly-once retries", absl::StrCat(model.retries_at_once ? "at once, then after " : "after ",
                                            Ms(model.retry_initial), " x 2 up to ", Seconds(model.retry_max))},
      {"outstanding",
       absl::StrCat(model.max_outstanding_messages, " messages, ", model.max_outstanding_bytes / 1'000'000,
                    " MB, until the ", model.credits_until == CreditsUntil::kSettled ? "ack" : "callback returns")},
      {"callbacks at once", CallbacksText(model)},
      {"a publish leaves", absl::StrCat(Ms(model.publish_delay), " after the first, or at ", model.publish_count,
                                        " messages or ", model.publish_bytes, " bytes")},
  };
}

}  // namespace hopgap::client
