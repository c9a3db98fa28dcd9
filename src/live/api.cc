#include "live/api.h"

#include <future>
#include <map>
#include <random>

#include "base/system_clock.h"
#include "base/text.h"
#include "client/model.h"
#include "formats/json_text.h"
#include "live/place.h"
#include "pubsub/message.h"

namespace hopgap::live {
namespace {

constexpr Duration kReadyWait{std::chrono::seconds{2}};

server::HttpReply Error(int status, std::string_view text) {
  server::HttpReply reply{.status = status, .body = "{\"error\":", .headers = {}};
  formats::AppendJsonText(text, reply.body);
  reply.body += "}\n";
  return reply;
}

// The caller's trace, or a fresh one.
pubsub::TraceContext ContextOf(const server::HttpCall& call) {
  const pubsub::TraceContext given = pubsub::ParseTraceparent(call.Header(kTraceparentHeader));
  if (given.valid()) return given;
  thread_local std::mt19937_64 random{std::random_device{}()};
  return {random() | 1, random(), 0};
}

std::string Hex(const pubsub::TraceContext& context) {
  return pubsub::FormatTraceparent({context.trace_hi, context.trace_lo, 1}).substr(3, 32);
}

}  // namespace

// Who waits for which publish. On the strand, but for the futures.
class Api::Waiting {
 public:
  using Result = absl::StatusOr<std::string>;
  void Add(uint64_t send, std::promise<Result> promise) { promises_.emplace(send, std::move(promise)); }
  void Done(uint64_t send, const Result& result) {
    const auto found = promises_.find(send);
    if (found == promises_.end()) {
      early_.emplace(send, result);
      return;
    }
    found->second.set_value(result);
    promises_.erase(found);
  }
  // A publish that failed at once had its result before Send() returned.
  bool TakeEarly(uint64_t send, std::promise<Result>& promise) {
    const auto found = early_.find(send);
    if (found == early_.end()) return false;
    promise.set_value(found->second);
    early_.erase(found);
    return true;
  }
  // When nothing runs on the strand any more.
  void GiveUp() {
    for (auto& [send, promise] : promises_) promise.set_value(absl::UnavailableError("no result before the end"));
    promises_.clear();
  }

 private:
  std::map<uint64_t, std::promise<Result>> promises_;
  std::map<uint64_t, Result> early_;
};

Api::Api(Options options)
    : options_(std::move(options)),
      station_({.target = options_.target, .anchor = options_.anchor, .spans = options_.spans}),
      waiting_(std::make_unique<Waiting>()) {}

Api::~Api() { Stop(SteadyNow()); }

absl::StatusOr<std::unique_ptr<Api>> Api::Start(Options options) {
  absl::StatusOr<client::Model> model = client::FindModel(options.client);
  if (!model.ok()) return model.status();
  std::unique_ptr<Api> api(new Api(std::move(options)));
  Station& station = api->station_;
  const Options& chosen = api->options_;
  lab::Sender::Options sender;
  sender.publisher.topic = chosen.topic;
  sender.publisher.model = *model;
  sender.publisher.place = station.sink().AddPlace(ClientPlace(chosen.topic, chosen.arm, 1));
  sender.publisher.seed = chosen.seed;
  api->sender_ = std::make_unique<lab::Sender>(
      std::move(sender), station.sink(), station.next_rpc(),
      [waiting = api->waiting_.get()](uint64_t send, const Waiting::Result& result) { waiting->Done(send, result); });
  station.Start(*api->sender_);
  absl::StatusOr<std::unique_ptr<server::HttpServer>> http = server::HttpServer::Start(
      {.host = chosen.host, .port = chosen.port, .threads = kConnectionsMax, .body_bytes_max = kBodyBytesMax},
      [api = api.get()](const server::HttpCall& call) { return api->Answer(call); });
  if (!http.ok()) return http.status();
  api->http_ = *std::move(http);
  return api;
}

server::HttpReply Api::Answer(const server::HttpCall& call) {
  if (call.path == "/healthz") return {.body = "{\"status\":\"alive\"}\n", .headers = {}};
  if (call.path == "/readyz") return Ready();
  if (call.path != "/send") return Error(404, "no such path: POST /send, GET /healthz, GET /readyz");
  if (call.method != "POST") return Error(405, "use POST");
  return Send(call);
}

server::HttpReply Api::Ready() {
  if (stopping_) return Error(503, "stopping");
  const absl::StatusOr<pubsub::Bytes> found = station_.connection().CallAndWait(
      pubsub::Method::kGetTopic, {pubsub::Encode(pubsub::NameRequest{options_.topic})}, kReadyWait);
  if (!found.ok()) return Error(503, StrCat(options_.topic, ": ", MessageOf(found.status())));
  return {.body = "{\"status\":\"ready\"}\n", .headers = {}};
}

server::HttpReply Api::Send(const server::HttpCall& call) {
  if (stopping_ || in_flight_.fetch_add(1) >= kInFlightMax) {
    if (!stopping_) in_flight_.fetch_sub(1);
    ++refused_;
    return Error(503, stopping_ ? "stopping" : StrCat(kInFlightMax, " messages wait for their publish already"));
  }
  const std::string_view slot_text = call.Header(kSlotHeader), due_text = call.Header(kScheduledHeader);
  const std::optional<uint64_t> slot = slot_text.empty() ? next_slot_.fetch_add(1) : ParseNumber<uint64_t>(slot_text);
  const std::optional<int64_t> due = ParseNumber<int64_t>(due_text);
  if (!slot || (!due_text.empty() && !due)) {
    in_flight_.fetch_sub(1);
    ++refused_;
    return Error(400, StrCat(slot ? kScheduledHeader : kSlotHeader, ": not a number"));
  }
  const pubsub::TraceContext context = ContextOf(call);
  lab::Sender::Message message{.data = call.body,
                               .attributes = {{std::string(pubsub::kDrawAttribute), StrCat("1.", *slot)}},
                               .trace_hi = context.trace_hi,
                               .trace_lo = context.trace_lo,
                               .parent = context.span,
                               .scheduled = {},
                               .slot_label = *slot + 1};
  if (message.data.empty()) message.data = StrCat("1.", *slot);
  if (due) message.scheduled = options_.anchor.ToSteady(WallTime{Duration{*due}});
  std::promise<Waiting::Result> promise;
  std::future<Waiting::Result> future = promise.get_future();
  bool begun = false;  // not when the station has stopped meanwhile
  station_.driver().Run([&](Instant now, lab::Commands& out) {
    begun = true;
    const uint64_t send = sender_->Send(now, message, out);
    if (!waiting_->TakeEarly(send, promise)) waiting_->Add(send, std::move(promise));
  });
  if (!begun) promise.set_value(absl::UnavailableError("stopping"));
  const Waiting::Result id = future.get();
  in_flight_.fetch_sub(1);
  if (!id.ok()) {
    ++failed_;
    return Error(503, StrCat("the publish failed: ", MessageOf(id.status())));
  }
  ++published_;
  return {.body = StrCat("{\"trace_id\":\"", Hex(context), "\",\"message_id\":\"", *id, "\",\"slot\":", *slot, "}\n"),
          .headers = {}};
}

bool Api::Stop(Instant give_up) {
  stopping_ = true;
  const bool all = station_.Stop(give_up);
  waiting_->GiveUp();
  if (http_) http_->Stop();
  return all;
}

}  // namespace hopgap::live
