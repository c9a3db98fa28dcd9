#include "client/publisher.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/draw.h"
#include "client/backoff.h"
#include "client/bundler.h"
#include "client/ordered_bundles.h"
#include "client/recorder.h"
#include "client/retry.h"
#include "pubsub/api.h"

namespace hopgap::client {
namespace {

size_t VarintSize(size_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}
// A length-delimited field with a one-byte tag.
size_t FieldSize(size_t length) { return 1 + VarintSize(length) + length; }

// What the library counts against its thresholds: the encoded message as the
// caller gave it, before the trace context is added.
size_t SizeWithoutContext(const Publisher::Call& call) {
  size_t size = call.data.empty() ? 0 : FieldSize(call.data.size());
  if (!call.ordering_key.empty()) size += FieldSize(call.ordering_key.size());
  for (const auto& [key, value] : call.attributes) {
    size += FieldSize(FieldSize(key.size()) + FieldSize(value.size()));
  }
  return size;
}

void SetTraceparent(Publisher::Call& call) {
  if (!call.create.valid()) return;
  const auto same = [](const auto& attribute) { return attribute.first == pubsub::kTraceparentAttribute; };
  std::erase_if(call.attributes, same);
  call.attributes.emplace_back(pubsub::kTraceparentAttribute, pubsub::FormatTraceparent(call.create));
}

uint64_t IdNumber(const std::string& message_id) {
  uint64_t number = 0;
  return absl::SimpleAtoi(message_id, &number) ? number : 0;
}

}  // namespace

class Publisher::Impl {
 public:
  Impl(Options options, trace::EventSink& sink, uint64_t& next_rpc)
      : options_(std::move(options)),
        recorder_(sink, options_.place),
        next_rpc_(next_rpc),
        bundler_(options_.model, BundlerOptions()),
        ordered_(options_.model, {.bundler = BundlerOptions(), .keys_max = options_.ordering_keys_max}) {}

  void Publish(Instant now, Call call, Actions& out);
  void OnCallDone(Instant now, uint64_t id, const absl::Status& status, const pubsub::Bytes& response, Actions& out);
  void OnDeadline(Instant now, Actions& out);
  std::optional<Instant> NextDeadline() const;
  void Flush(Instant now, Actions& out) {
    bundler_.Close(now);
    ordered_.Close(now);
    SendReady(now, out);
  }
  size_t in_flight() const { return in_flight_; }
  const OrderedBundles& ordered() const { return ordered_; }
  absl::Status ResumeKey(std::string_view key) { return ordered_.Resume(key); }

 private:
  struct Waiting {  // a message whose bundle is with the server
    uint64_t publish = 0;
    trace::MessageKey key;
  };
  struct Rpc {
    std::string ordering_key;
    std::vector<Waiting> messages;
    pubsub::Slices payload;
    uint64_t number = 0;
    Instant ends;  // of the publish with all its retries
    Backoff backoff;
    std::string last_error;  // of an attempt that is tried again
  };

  // 5 bytes: tag and length of the messages field, as the library reckons.
  Bundler::Options BundlerOptions() const {
    return {.bytes_max = kPublishBytesMax - FieldSize(options_.topic.size()) - 5, .planted = options_.planted.batching};
  }
  absl::Status Enqueue(Instant now, Call call);
  void FailWaiting(Instant now, Bundle waiting, const absl::Status& status, Actions& out);

  bool WorkerFree() const { return workers_busy_ < options_.model.publish_calls_max; }
  void SendReady(Instant now, Actions& out);
  void SendBundle(Instant now, Bundle bundle, std::string ordering_key, Actions& out);
  void Issue(Instant now, Rpc rpc, Actions& out);
  void Finish(Instant now, const Rpc& rpc, absl::Status status, const std::vector<std::string>& ids, Actions& out);
  static void Answer(uint64_t publish, const absl::Status& status, const std::string& message_id, Actions& out);

  Options options_;
  Recorder recorder_;
  uint64_t& next_rpc_;
  Bundler bundler_;
  OrderedBundles ordered_;
  size_t in_flight_ = 0;
  size_t workers_busy_ = 0;  // a worker stays with its bundle through the retries
  uint64_t last_call_ = 0, last_retry_ = 0;
  absl::flat_hash_map<uint64_t, Rpc> calls_;  // looked up only
  std::map<std::pair<Instant, uint64_t>, Rpc> retries_;
};

void Publisher::Impl::Publish(Instant now, Call call, Actions& out) {
  const trace::MessageKey key = KeyOf(call.create);
  recorder_.Record(
      now, trace::What::kPublishCall, key,
      {.delivery = call.slot_label, .rpc = call.parent, .value = call.scheduled ? ToNanos(*call.scheduled) : 0});
  if (in_flight_ >= options_.buffered_messages_max) {
    return Answer(
        call.publish,
        absl::ResourceExhaustedError(absl::StrCat(
            "publisher: ", in_flight_, " messages have no result yet, the limit is ", options_.buffered_messages_max)),
        {}, out);
  }
  const uint64_t publish = call.publish;
  if (absl::Status status = Enqueue(now, std::move(call)); !status.ok()) return Answer(publish, status, {}, out);
  ++in_flight_;
  recorder_.Record(now, trace::What::kPublisherAdmitted, key, {});
  SendReady(now, out);
}

absl::Status Publisher::Impl::Enqueue(Instant now, Call call) {
  const size_t size = SizeWithoutContext(call);
  SetTraceparent(call);
  BundledMessage message{call.publish, KeyOf(call.create),
                         pubsub::Message::Make(call.data, call.attributes, std::string(call.ordering_key))};
  if (!call.ordering_key.empty()) return ordered_.Add(now, call.ordering_key, std::move(message), size);
  if (bundler_.Add(now, std::move(message), size)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("publisher: a message of ", size, " bytes does not fit into one request of ", kPublishBytesMax));
}

void Publisher::Impl::SendReady(Instant now, Actions& out) {
  while (WorkerFree()) {
    if (std::optional<Bundle> bundle = bundler_.TakeReady(now)) {
      SendBundle(now, *std::move(bundle), "", out);
    } else if (std::optional<OrderedBundles::Ready> next = ordered_.TakeReady(now)) {
      SendBundle(now, std::move(next->bundle), std::move(next->key), out);
    } else {
      return;
    }
  }
}

void Publisher::Impl::SendBundle(Instant now, Bundle bundle, std::string ordering_key, Actions& out) {
  ++workers_busy_;
  Rpc rpc;
  rpc.ordering_key = std::move(ordering_key);
  rpc.number = next_rpc_++;
  rpc.ends = now + options_.model.publish_timeout;
  rpc.backoff = Backoff(kPublishRetry, Mix(options_.seed, bundle.front().publish));
  pubsub::PublishRequest request;
  request.topic = options_.topic;
  request.messages.reserve(bundle.size());
  rpc.messages.reserve(bundle.size());
  for (const BundledMessage& item : bundle) recorder_.Record(now, trace::What::kBatchingEnd, item.key, {});
  for (BundledMessage& item : bundle) {
    recorder_.Record(now, trace::What::kPublishStart, item.key,
                     {.rpc = rpc.number, .count = EventCount(bundle.size())});
    rpc.messages.push_back({item.publish, item.key});
    request.messages.push_back(std::move(item.message));
  }
  rpc.payload = pubsub::Encode(request);
  Issue(now, std::move(rpc), out);
}

void Publisher::Impl::Issue(Instant now, Rpc rpc, Actions& out) {
  Action action;
  action.kind = Action::Kind::kCall;
  action.call = ++last_call_;
  action.method = pubsub::Method::kPublish;
  action.payload = rpc.payload;
  action.timeout = rpc.ends - now;
  calls_.emplace(action.call, std::move(rpc));
  out.push_back(std::move(action));
}

void Publisher::Impl::OnCallDone(Instant now, uint64_t id, const absl::Status& status, const pubsub::Bytes& response,
                                 Actions& out) {
  const auto found = calls_.find(id);
  HOPGAP_CHECK(found != calls_.end(), "an answer to a publish that is not running");
  Rpc rpc = std::move(found->second);
  calls_.erase(found);
  if (RetriesPublish(status) && now < rpc.ends) {
    const Instant wake = std::min(now + rpc.backoff.Pause(), rpc.ends);
    rpc.last_error = status.ToString();
    retries_.emplace(std::pair{wake, ++last_retry_}, std::move(rpc));
    return;
  }
  absl::Status result = status;
  std::vector<std::string> ids;
  if (status.ok()) {
    absl::StatusOr<std::vector<std::string>> decoded = pubsub::DecodePublishResponse(response.view());
    if (!decoded.ok()) {
      result = decoded.status();
    } else if (decoded->size() != rpc.messages.size()) {
      result = absl::InternalError(
          absl::StrCat("PublishResponse: ", decoded->size(), " message ids for ", rpc.messages.size(), " messages"));
    } else {
      ids = *std::move(decoded);
    }
  }
  Finish(now, rpc, std::move(result), ids, out);
}

void Publisher::Impl::Finish(Instant now, const Rpc& rpc, absl::Status status, const std::vector<std::string>& ids,
                             Actions& out) {
  for (size_t i = 0; i < rpc.messages.size(); ++i) {
    const Waiting& message = rpc.messages[i];
    const std::string id = status.ok() ? ids[i] : std::string();
    recorder_.Record(now, trace::What::kPublishEnd, message.key,
                     {.delivery = IdNumber(id), .rpc = rpc.number, .value = status.raw_code()});
    --in_flight_;
    Answer(message.publish, status, id, out);
  }
  --workers_busy_;
  if (!rpc.ordering_key.empty()) {
    Bundle waiting = ordered_.Done(rpc.ordering_key, status);
    if (!waiting.empty()) FailWaiting(now, std::move(waiting), ordered_.PausedStatus(rpc.ordering_key), out);
  }
  SendReady(now, out);
}

void Publisher::Impl::FailWaiting(Instant now, Bundle waiting, const absl::Status& status, Actions& out) {
  for (const BundledMessage& message : waiting) {
    recorder_.Record(now, trace::What::kPublishEnd, message.key, {.value = status.raw_code()});
    --in_flight_;
    Answer(message.publish, status, {}, out);
  }
}

void Publisher::Impl::Answer(uint64_t publish, const absl::Status& status, const std::string& message_id,
                             Actions& out) {
  Action action;
  action.kind = Action::Kind::kPublished;
  action.publish = publish;
  action.ok = status.ok();
  action.message_id = message_id;
  if (!status.ok()) action.error = status.ToString();
  out.push_back(std::move(action));
}

void Publisher::Impl::OnDeadline(Instant now, Actions& out) {
  while (!retries_.empty() && retries_.begin()->first.first <= now) {
    Rpc rpc = std::move(retries_.extract(retries_.begin()).mapped());
    if (now < rpc.ends) {
      Issue(now, std::move(rpc), out);
    } else {
      Finish(now, rpc,
             absl::DeadlineExceededError(absl::StrCat("no attempt succeeded in time; the last: ", rpc.last_error)), {},
             out);
    }
  }
  bundler_.OnDeadline(now);
  SendReady(now, out);
}

std::optional<Instant> Publisher::Impl::NextDeadline() const {
  std::optional<Instant> next = bundler_.NextDeadline(WorkerFree());
  const std::optional<Instant> ordered = WorkerFree() ? ordered_.NextDeadline() : std::nullopt;
  if (ordered && (!next || *ordered < *next)) next = ordered;
  if (!retries_.empty() && (!next || retries_.begin()->first.first < *next)) next = retries_.begin()->first.first;
  return next;
}

Publisher::Publisher(Options options, trace::EventSink& sink, uint64_t& next_rpc)
    : impl_(std::make_unique<Impl>(std::move(options), sink, next_rpc)) {}
Publisher::~Publisher() = default;

void Publisher::Publish(Instant now, Call call, Actions& out) { impl_->Publish(now, std::move(call), out); }
void Publisher::OnCallDone(Instant now, uint64_t call, const absl::Status& status, const pubsub::Bytes& response,
                           Actions& out) {
  impl_->OnCallDone(now, call, status, response, out);
}
void Publisher::OnDeadline(Instant now, Actions& out) { impl_->OnDeadline(now, out); }
std::optional<Instant> Publisher::NextDeadline() const { return impl_->NextDeadline(); }
void Publisher::Flush(Instant now, Actions& out) { impl_->Flush(now, out); }
size_t Publisher::in_flight() const { return impl_->in_flight(); }
std::vector<std::string> Publisher::PausedKeys() const { return impl_->ordered().PausedKeys(); }
absl::Status Publisher::ResumeKey(std::string_view key) { return impl_->ResumeKey(key); }

}  // namespace hopgap::client
