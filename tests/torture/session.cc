#include "torture/session.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/draw.h"
#include "base/system_clock.h"
#include "base/text.h"
#include "pubsub/error_details.h"

namespace hopgap::torture {
namespace {

using pubsub::Method;
using namespace std::chrono_literals;

constexpr Duration kCallTimeout = 20s;
constexpr int32_t kStreamDeadlineS = 60;
constexpr int64_t kStreamMessagesMax = 100;
constexpr uint64_t kKeys = 12;
constexpr size_t kIdsPerCall = 8;  // so that no answer's details are cut short
constexpr size_t kEmptyPulls = 2;  // in a row, before there is nothing

Outcome OutcomeOf(const absl::Status& status, const std::map<std::string, std::string>& failures,
                  const std::string& id) {
  if (status.ok()) return Outcome::kOk;
  const auto found = failures.find(id);
  if (found == failures.end()) return failures.empty() ? Outcome::kUnknown : Outcome::kOk;
  if (found->second == pubsub::kPermanentInvalidAckId) return Outcome::kRefused;
  return found->second == pubsub::kTransientUnordered ? Outcome::kTemporary : Outcome::kUnknown;
}

}  // namespace

Session::Session(remote::Remote& remote, int port, uint64_t seed, uint64_t life, const std::vector<Rules>& rules,
                 Checker& checker, Kept& kept)
    : seed_(seed),
      dice_(seed, Mix(life, 0x736573)),
      rules_(rules),
      checker_(checker),
      kept_(kept),
      port_(port),
      connection_(remote.Connect(StrCat("127.0.0.1:", port))),
      consumers_(rules.size()) {}

Session::~Session() { HOPGAP_CHECK(pending_.empty() && streams_.empty(), "calls are under way: Settle() first"); }

void Session::OnResponse(uint64_t stream, Instant, Instant, pubsub::StreamingPullResponse response) {
  Event event{.id = stream, .response = true};
  event.messages = std::move(response.received_messages);
  Push(std::move(event));
}
void Session::OnStreamEnded(uint64_t stream, Instant, const absl::Status& status, const std::string& details) {
  Push({.id = stream, .ended = true, .status = status, .details = details});
}
void Session::OnCallDone(uint64_t call, Instant, const absl::Status& status, const std::string& details,
                         pubsub::Bytes response) {
  Push({.id = call, .status = status, .details = details, .payload = std::move(response)});
}
void Session::Push(Event event) {
  const std::lock_guard lock(mu_);
  inbox_.push_back(std::move(event));
  changed_.notify_all();
}

absl::Status Session::Make() {
  for (const char* topic : {kTopic, kFill, kLetters}) {
    if (absl::Status made = connection_->CreateTopic(topic, kCallTimeout); !made.ok()) return made;
  }
  for (const Rules& rules : rules_) {
    pubsub::Subscription subscription;
    subscription.name = SubscriptionName(rules.name);
    subscription.topic = rules.letters ? kLetters : kTopic;
    subscription.ack_deadline_seconds = static_cast<int32_t>(rules.lease / 1s);
    subscription.enable_exactly_once_delivery = rules.exactly_once;
    subscription.enable_message_ordering = rules.ordered;
    subscription.expiration_policy.emplace();  // never: the clock moves on by years
    subscription.message_retention_duration = std::chrono::hours{24 * 31};
    if (rules.forwards) subscription.dead_letter_policy = {.dead_letter_topic = kLetters, .max_delivery_attempts = 5};
    if (absl::Status made = connection_->CreateSubscription(subscription, kCallTimeout); !made.ok()) return made;
  }
  return absl::OkStatus();
}

absl::Status Session::Advance(Duration length) {
  checker_.AdvanceAsked(length);
  remote::HttpClient http({.origin = StrCat("http://127.0.0.1:", port_)});
  const absl::StatusOr<remote::HttpResponse> answer = http.Send({.method = "POST",
                                                                 .path = "/admin/v1/clock:advance",
                                                                 .headers = {},
                                                                 .body = StrCat("{\"seconds\": ", length / 1s, "}"),
                                                                 .content_type = "application/json"});
  if (!answer.ok()) return answer.status();
  if (answer->status != 200) return absl::InternalError(StrCat("answered ", answer->status, ": ", answer->body));
  checker_.AdvanceAnswered();
  return absl::OkStatus();
}

void Session::Consume(size_t subscription, bool stream, const Manners& manners) {
  Consumer& consumer = consumers_[subscription];
  consumer.manners = manners;
  consumer.pulls = !stream;
  if (!stream) return;
  pubsub::StreamingPullRequest first;
  first.subscription = SubscriptionName(rules_[subscription].name);
  first.stream_ack_deadline_seconds = kStreamDeadlineS;
  first.client_id = "torture";
  first.max_outstanding_messages = kStreamMessagesMax;
  consumer.lease_from = checker_.AtLeast(SteadyNow());
  consumer.stream_id = next_id_++;
  streams_[consumer.stream_id] = subscription;
  consumer.stream = connection_->OpenStream(*this, consumer.stream_id, {pubsub::Encode(first)});
  consumer.stream->Read();
}

void Session::Publish(size_t calls, size_t bytes_max) {
  calls_ = calls;
  bytes_max_ = bytes_max;
}

void Session::PublishMore() {
  for (; !gone_ && publishing_ < calls_ && checker_.backlog() < kBacklogMax; ++publishing_) {
    Pending pending{.kind = Pending::Kind::kPublish};
    pubsub::PublishRequest request;
    request.topic = kTopic;
    // All messages of a request have one key, or none.
    const std::string key = dice_.Chance(700) ? StrCat("k", dice_.Below(kKeys)) : "";
    for (uint64_t left = dice_.Between(1, 4); left > 0; --left) {
      const uint64_t number = kept_.next_number++;
      const std::string body =
          BodyOf(seed_, number, dice_.Chance(100) ? bytes_max_ : dice_.Between(kBodyBytesMin, 600));
      checker_.PublishAsked(number, body.size(), key);
      request.messages.push_back(pubsub::Message::Make(body, {{"number", StrCat(number)}}, key));
      pending.numbers.push_back(number);
    }
    Call(Method::kPublish, pubsub::Encode(request), std::move(pending));
  }
  if (fill_bytes_ == 0 || gone_) return;
  pubsub::PublishRequest request;
  request.topic = kFill;
  request.messages.push_back(pubsub::Message::Make(std::string(std::exchange(fill_bytes_, 0), '.'), {}));
  Call(Method::kPublish, pubsub::Encode(request), {.kind = Pending::Kind::kFiller, .seconds = 1});
}

void Session::Call(Method method, const pubsub::Slices& request, Pending pending) {
  const uint64_t id = next_id_++;
  pending_.emplace(id, std::move(pending));
  connection_->Call(*this, id, method, request, kCallTimeout);
}

void Session::Pull(size_t subscription) {
  pubsub::PullRequest request{.subscription = SubscriptionName(rules_[subscription].name),
                              .return_immediately = at_once_,
                              .max_messages = static_cast<int32_t>(dice_.Between(1, 50))};
  consumers_[subscription].pulling = true;
  Call(Method::kPull, {pubsub::Encode(request)},
       {.kind = Pending::Kind::kPull, .subscription = subscription, .lease_from = checker_.AtLeast(SteadyNow())});
}

void Session::Ack(size_t subscription, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) checker_.AckAsked(SteadyNow(), subscription, id);
  pubsub::AcknowledgeRequest request{.subscription = SubscriptionName(rules_[subscription].name), .ack_ids = ids};
  Call(Method::kAcknowledge, {pubsub::Encode(request)},
       {.kind = Pending::Kind::kAck, .subscription = subscription, .ack_ids = ids});
}

void Session::Modack(size_t subscription, const std::vector<std::string>& ids, int32_t seconds) {
  for (const std::string& id : ids) {
    checker_.ModackAsked(SteadyNow(), subscription, id, std::chrono::seconds{seconds});
  }
  pubsub::ModifyAckDeadlineRequest request{
      .subscription = SubscriptionName(rules_[subscription].name), .ack_ids = ids, .ack_deadline_seconds = seconds};
  Call(Method::kModifyAckDeadline, {pubsub::Encode(request)},
       {.kind = Pending::Kind::kModack, .subscription = subscription, .ack_ids = ids, .seconds = seconds});
}

void Session::Keep(size_t subscription, const std::vector<std::string>& ids, bool stale) {
  std::vector<std::string>& kept = (stale ? kept_.stale : kept_.held)[subscription];
  kept.insert(kept.end(), ids.begin(), ids.end());
  if (kept.size() > kHeldMax) kept.erase(kept.begin(), kept.end() - kHeldMax);
}

void Session::UseOldIds() {
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (!rules_[i].exactly_once) {
      kept_.held[i].clear();
      continue;
    }
    std::vector<std::string> again, held = std::exchange(kept_.held[i], {});
    std::ranges::sort(held);
    held.erase(std::ranges::unique(held).begin(), held.end());
    for (std::string& id : held) {
      if (dice_.Chance(350)) {
        Ack(i, {id});
      } else if (dice_.Chance(80)) {
        Modack(i, {id}, 0);
      } else if (dice_.Chance(80)) {
        Modack(i, {id}, static_cast<int32_t>(dice_.Between(10, 120)));
        again.push_back(std::move(id));
      } else {
        again.push_back(std::move(id));
      }
    }
    Keep(i, again, false);
    for (std::string& id : std::exchange(kept_.stale[i], {})) {
      if (dice_.Chance(300)) Ack(i, {std::move(id)});
    }
  }
}

// Acks, nacks and leaves, id by id; what is left goes on being held.
void Session::Decide(size_t subscription, const std::vector<std::string>& ids) {
  const Manners& manners = consumers_[subscription].manners;
  std::vector<std::string> acked, nacked, left;
  for (const std::string& id : ids) {
    const uint64_t drawn = dice_.Below(1000);
    (drawn < manners.ack ? acked : drawn < manners.ack + manners.nack ? nacked : left).push_back(id);
  }
  Keep(subscription, left, false);
  if (gone_) return;
  for (size_t at = 0; at < acked.size(); at += kIdsPerCall) {
    Ack(subscription, {acked.begin() + static_cast<ptrdiff_t>(at),
                       acked.begin() + static_cast<ptrdiff_t>(std::min(acked.size(), at + kIdsPerCall))});
  }
  if (!nacked.empty()) Modack(subscription, nacked, 0);
}

void Session::HandleMessages(size_t subscription, const std::vector<pubsub::ReceivedMessage>& messages,
                             Instant lease_from) {
  const Instant now = SteadyNow();
  std::vector<std::string> ids;
  for (const pubsub::ReceivedMessage& received : messages) {
    checker_.Received(now, {.subscription = subscription,
                            .ack_id = received.ack_id,
                            .message_id = std::string(received.message.message_id()),
                            .data = received.message.data(),
                            .key = received.message.ordering_key(),
                            .lease_from = lease_from});
    ids.push_back(received.ack_id);
  }
  // The receipt modack comes first, and what becomes of the message when that is answered.
  for (size_t at = 0; at < ids.size(); at += kIdsPerCall) {
    const std::vector<std::string> part(ids.begin() + static_cast<ptrdiff_t>(at),
                                        ids.begin() + static_cast<ptrdiff_t>(std::min(ids.size(), at + kIdsPerCall)));
    if (!gone_ && dice_.Chance(consumers_[subscription].manners.extend)) {
      Modack(subscription, part, static_cast<int32_t>(dice_.Between(60, 120)));
    } else {
      Decide(subscription, part);
    }
  }
}

void Session::HandleDone(const Pending& pending, Event& event) {
  const Instant now = SteadyNow();
  gone_ |= event.status.code() == absl::StatusCode::kUnavailable;
  const bool broken = checker_.violation().has_value();
  switch (pending.kind) {
    case Pending::Kind::kPublish: {
      --publishing_;
      if (!event.status.ok() && !gone_) {
        return checker_.Break("a publish is taken", StrCat("it was refused: ", MessageOf(event.status)));
      }
      if (!event.status.ok()) break;
      const auto ids = pubsub::DecodePublishResponse(event.payload.view());
      if (!ids.ok() || ids->size() != pending.numbers.size()) {
        return checker_.Break("one answer", "a publish was answered without the ids of all messages");
      }
      for (size_t i = 0; i < ids->size(); ++i) checker_.PublishAnswered(pending.numbers[i], (*ids)[i]);
      break;
    }
    case Pending::Kind::kFiller: break;
    case Pending::Kind::kPull: {
      Consumer& consumer = consumers_[pending.subscription];
      consumer.pulling = false;
      if (event.status.code() == absl::StatusCode::kNotFound) {
        return checker_.Break("resources stay", std::string(MessageOf(event.status)));
      }
      if (!event.status.ok()) break;
      const auto messages = pubsub::DecodePullResponse(event.payload);
      if (!messages.ok()) return checker_.Break("one answer", "a pull's answer cannot be read");
      consumer.empty_in_a_row = messages->empty() ? consumer.empty_in_a_row + 1 : 0;
      HandleMessages(pending.subscription, *messages, pending.lease_from);
      break;
    }
    case Pending::Kind::kAck:
    case Pending::Kind::kModack: {
      consumers_[pending.subscription].empty_in_a_row = 0;  // it may have let something go
      const auto failures = pubsub::DecodeErrorMetadata(event.details);
      std::vector<std::string> good, again;
      for (const std::string& id : pending.ack_ids) {
        const Outcome outcome = OutcomeOf(event.status, failures, id);
        if (pending.kind == Pending::Kind::kAck) {
          checker_.AckAnswered(now, pending.subscription, id, outcome);
          if (outcome == Outcome::kOk) continue;
        } else {
          checker_.ModackAnswered(now, pending.subscription, id, outcome);
        }
        if (outcome == Outcome::kOk && pending.seconds > 0) good.push_back(id);
        if (outcome == Outcome::kTemporary && at_once_ && !gone_) {
          again.push_back(id);  // an ack overtook that of the message before it: its key goes on when it is acked
          continue;
        }
        if (outcome == Outcome::kUnknown || outcome == Outcome::kTemporary) Keep(pending.subscription, {id}, false);
        if (outcome == Outcome::kRefused || pending.seconds == 0) Keep(pending.subscription, {id}, true);
      }
      if (!broken && !event.status.ok()) checker_.Explain(MessageOf(event.status));
      if (!again.empty()) Ack(pending.subscription, again);
      if (pending.kind == Pending::Kind::kModack) Decide(pending.subscription, good);
      break;
    }
  }
}

void Session::Handle(Event& event) {
  if (const auto stream = streams_.find(event.id); stream != streams_.end()) {
    Consumer& consumer = consumers_[stream->second];
    if (event.ended) {
      gone_ = true;
      consumer.stream.reset();
      streams_.erase(stream);
      return;
    }
    HandleMessages(stream->second, event.messages, consumer.lease_from);
    consumer.stream->Read();
    return;
  }
  const auto pending = pending_.extract(event.id);
  if (!pending.empty()) HandleDone(pending.mapped(), event);
}

void Session::Turn(Duration wait) {
  std::vector<Event> events;
  {
    std::unique_lock lock(mu_);
    changed_.wait_for(lock, wait, [this] { return !inbox_.empty(); });
    events.swap(inbox_);
  }
  for (Event& event : events) Handle(event);
  if (gone_) return;
  PublishMore();
  for (size_t i = 0; i < consumers_.size(); ++i) {
    if (consumers_[i].pulls && !consumers_[i].pulling) Pull(i);
  }
}

bool Session::PullAll(const std::optional<Manners>& manners, Duration limit, const std::function<bool()>& dead) {
  for (size_t i = 0; i < consumers_.size(); ++i) {
    if (manners) Consume(i, false, *manners);
    consumers_[i].empty_in_a_row = 0;
  }
  at_once_ = true;
  const Instant until = SteadyNow() + limit;
  const auto done = [&] {
    return std::ranges::all_of(consumers_, [](const Consumer& c) { return c.empty_in_a_row >= kEmptyPulls; }) &&
           std::ranges::all_of(pending_, [](const auto& p) { return p.second.kind == Pending::Kind::kPull; });
  };
  while (!done()) {
    if (gone_ || dead() || SteadyNow() > until || checker_.violation()) return false;
    Turn(2ms);
  }
  at_once_ = false;
  return true;
}

bool Session::Settle(Duration limit) {
  gone_ = true;
  for (const auto& [id, subscription] : streams_) consumers_[subscription].stream->Cancel();
  for (const Instant until = SteadyNow() + limit; !pending_.empty() || !streams_.empty();) {
    if (SteadyNow() > until) return false;
    Turn(5ms);
  }
  return true;
}

}  // namespace hopgap::torture
