#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "client/subscriber.h"
#include "pubsub/api.h"
#include "pubsub/error_details.h"

// A small world for the tests of this room: virtual time, a server that answers
// by script, handlers that work and then ack. No sockets.
namespace hopgap::client {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;
using std::chrono_literals::operator""ns;

inline constexpr Instant kStart{};

// Keeps every event.
class EventLog final : public trace::EventSink {
 public:
  void Record(const trace::Event& event) override { events.push_back(event); }
  uint16_t AddPlace(const trace::Place&) override { return 0; }

  std::vector<Instant> At(trace::What what) const {
    std::vector<Instant> at;
    for (const trace::Event& event : events) {
      if (event.what == what) at.push_back(event.at);
    }
    return at;
  }
  std::vector<trace::Event> Of(trace::What what) const {
    std::vector<trace::Event> found;
    std::copy_if(events.begin(), events.end(), std::back_inserter(found),
                 [what](const trace::Event& event) { return event.what == what; });
    return found;
  }
  std::vector<trace::Event> events;
};

// Later and later events, equal instants in order of posting.
class Agenda {
 public:
  void Post(Instant at, std::function<void()> what) { items_.emplace(std::pair{at, ++posted_}, std::move(what)); }
  Instant Next() const { return items_.empty() ? kNever : items_.begin()->first.first; }
  void RunFirst() {
    const auto what = std::move(items_.extract(items_.begin()).mapped());
    what();
  }

 private:
  std::map<std::pair<Instant, uint64_t>, std::function<void()>> items_;
  uint64_t posted_ = 0;
};

// Every trace context of a test: message n.
inline pubsub::TraceContext ContextOf(uint64_t n) { return {.trace_hi = 7, .trace_lo = n, .span = 100 + n}; }

class SubscriberWorld {
 public:
  // An Acknowledge or ModifyAckDeadline as the server saw it; -1: an ack.
  struct CallSeen {
    Instant at;
    int seconds = -1;
    std::vector<std::string> ids;
    Duration timeout{0};
    friend bool operator==(const CallSeen& a, const CallSeen& b) {
      return a.at == b.at && a.seconds == b.seconds && a.ids == b.ids;
    }
    friend void PrintTo(const CallSeen& call, std::ostream* os) {
      *os << call.at.time_since_epoch().count() << "ns " << (call.seconds < 0 ? "ack" : "modack ") << call.seconds;
      for (const auto& id : call.ids) *os << " " << id;
    }
  };
  struct Answer {
    Duration after{0};
    absl::Status status;
    pubsub::AckIdFailures failures;
  };
  static Answer Ok(Duration after) { return {.after = after, .status = {}, .failures = {}}; }
  static Answer Error(absl::Status status, pubsub::AckIdFailures failures = {}, Duration after = {}) {
    return {.after = after, .status = std::move(status), .failures = std::move(failures)};
  }
  struct Callback {
    Instant at;
    std::string data;
    friend bool operator==(const Callback&, const Callback&) = default;
    friend void PrintTo(const Callback& callback, std::ostream* os) {
      *os << callback.at.time_since_epoch().count() << "ns " << callback.data;
    }
  };
  struct StreamSeen {
    Instant at;
    Action::Kind kind;
    uint32_t stream;
    pubsub::StreamingPullRequest request;
  };
  struct Done {
    Instant at;
    uint64_t delivery;
    bool ok;
  };

  explicit SubscriberWorld(Subscriber::Options options = {}) : subscriber(Named(std::move(options)), log, next_rpc) {}

  static Subscriber::Options Streams(uint32_t streams) {
    Subscriber::Options options;
    options.streams = streams;
    return options;
  }
  static Subscriber::Options Named(Subscriber::Options options) {
    if (options.subscription.empty()) options.subscription = "projects/p/subscriptions/s-name";
    if (options.client_id.empty()) options.client_id = "client-1";
    return options;
  }

  void Start() {
    Do([this](Actions& out) { subscriber.Start(now, out); });
  }
  // The server writes a response at `at`; it is read when a read is posted.
  void Respond(Instant at, const std::vector<std::string>& names, bool exactly_once, uint32_t stream = 0,
               const std::function<void(pubsub::StreamingPullResponse&)>& edit = nullptr) {
    pubsub::StreamingPullResponse response;
    response.properties.exactly_once_delivery_enabled = exactly_once;
    for (const std::string& name : names) response.received_messages.push_back(Received(name));
    if (edit) edit(response);
    agenda.Post(at, [this, stream, response] {
      transport[stream].push_back(response);
      ReadNow(stream);
    });
  }
  void EndStream(Instant at, absl::Status status, uint32_t stream = 0) {
    agenda.Post(at, [this, status, stream] {
      read_posted.erase(stream);
      Do([&](Actions& out) { subscriber.OnStreamEnded(now, stream, status, out); });
    });
  }
  pubsub::ReceivedMessage Received(const std::string& name) {
    const uint64_t number = ++messages;
    pubsub::ReceivedMessage received;
    received.ack_id = "id-" + name;
    received.message = pubsub::Message::Make(
        name, {{std::string(pubsub::kTraceparentAttribute), pubsub::FormatTraceparent(ContextOf(number))}});
    return received;
  }

  void Do(const std::function<void(Actions&)>& step) {
    Actions out;
    step(out);
    for (Action& action : out) Perform(std::move(action));
  }
  // All that happens up to and at `until`: events first, then deadlines.
  void RunUntil(Instant until) {
    for (;;) {
      const Instant deadline = subscriber.NextDeadline().value_or(kNever);
      const Instant next = std::min(agenda.Next(), deadline);
      if (next > until) break;
      now = std::max(now, next);
      if (agenda.Next() <= now) {
        agenda.RunFirst();
      } else {
        ++wakeups;
        Do([this](Actions& out) { subscriber.OnDeadline(now, out); });
        ASSERT_TRUE(subscriber.NextDeadline().value_or(kNever) > now || agenda.Next() <= now || ++stuck < 1000)
            << "a deadline that never passes";
      }
    }
    now = until;
  }

  std::vector<std::string> AckIds() const { return Ids(-1); }
  std::vector<std::string> Ids(int seconds) const {
    std::vector<std::string> ids;
    for (const CallSeen& call : calls) {
      if (call.seconds == seconds) ids.insert(ids.end(), call.ids.begin(), call.ids.end());
    }
    return ids;
  }
  std::vector<Instant> Seen(Action::Kind kind) const {
    std::vector<Instant> at;
    for (const StreamSeen& seen : stream_actions) {
      if (seen.kind == kind) at.push_back(seen.at);
    }
    return at;
  }

  Instant now = kStart;
  EventLog log;
  uint64_t next_rpc = 1;
  Subscriber subscriber;
  Agenda agenda;

  // Script. By default the server answers at once, and a callback works for
  // `work`, then acks and returns (or only holds the message).
  std::function<Answer(const CallSeen&)> server = [](const CallSeen&) { return Answer{}; };
  Duration work{0};
  bool hold = false;  // callbacks neither ack nor return by themselves
  bool nack = false;

  // What was seen.
  std::vector<CallSeen> calls;
  std::vector<Callback> callbacks;
  std::vector<uint64_t> handed;  // delivery numbers
  std::vector<StreamSeen> stream_actions;
  std::vector<Done> done;
  std::vector<std::pair<Instant, std::string>> failures;
  std::map<uint32_t, Instant> read_posted;
  int wakeups = 0;

 private:
  void ReadNow(uint32_t stream) {
    if (!read_posted.contains(stream) || transport[stream].empty()) return;
    const Instant posted = read_posted[stream];
    read_posted.erase(stream);
    pubsub::StreamingPullResponse response = std::move(transport[stream].front());
    transport[stream].pop_front();
    Do([&](Actions& out) { subscriber.OnResponse(now, stream, now, posted, std::move(response), out); });
  }

  void Perform(Action action) {
    switch (action.kind) {
      case Action::Kind::kOpenStream:
      case Action::Kind::kSend:
      case Action::Kind::kHalfCloseStream:
      case Action::Kind::kCancelStream: {
        auto request = pubsub::DecodeStreamingPullRequest(pubsub::Join(action.payload));
        ASSERT_TRUE(request.ok()) << request.status();
        stream_actions.push_back({now, action.kind, action.stream, *request});
        break;
      }
      case Action::Kind::kRead:
        ASSERT_FALSE(read_posted.contains(action.stream)) << "two reads on one stream";
        read_posted[action.stream] = now;
        stream_actions.push_back({now, action.kind, action.stream, {}});
        agenda.Post(now, [this, stream = action.stream] { ReadNow(stream); });
        break;
      case Action::Kind::kCall: PerformCall(action); break;
      case Action::Kind::kStartCallback: RunCallback(action.delivery); break;
      case Action::Kind::kAckDone: done.push_back({now, action.delivery, action.ok}); break;
      case Action::Kind::kFailed: failures.emplace_back(now, action.error); break;
      case Action::Kind::kPublished: FAIL() << "a subscriber does not publish";
    }
  }
  void PerformCall(const Action& action) {
    const std::string wire = pubsub::Join(action.payload);
    auto request = pubsub::DecodeRequest(action.method, pubsub::Bytes(wire));
    ASSERT_TRUE(request.ok()) << request.status();
    CallSeen seen{.at = now, .ids = {}, .timeout = action.timeout};
    if (action.method == pubsub::Method::kAcknowledge) {
      seen.ids = std::get<pubsub::AcknowledgeRequest>(*request).ack_ids;
    } else {
      const auto& modack = std::get<pubsub::ModifyAckDeadlineRequest>(*request);
      seen.ids = modack.ack_ids;
      seen.seconds = modack.ack_deadline_seconds;
    }
    calls.push_back(seen);
    const Answer answer = server(seen);
    agenda.Post(now + answer.after, [this, answer, call = action.call] {
      const std::string details =
          answer.failures.empty() ? "" : pubsub::EncodeAckFailures(answer.status, answer.failures);
      Do([&](Actions& out) { subscriber.OnCallDone(now, call, answer.status, details, out); });
    });
  }
  void RunCallback(uint64_t delivery) {
    callbacks.push_back({now, std::string(subscriber.Get(delivery).message.data())});
    handed.push_back(delivery);
    subscriber.OnCallbackStarted(now, delivery);
    if (hold) return;
    agenda.Post(now + work, [this, delivery] {
      Do([&](Actions& out) {
        if (nack) {
          subscriber.Nack(now, delivery, out);
        } else {
          subscriber.Ack(now, delivery, out);
        }
        subscriber.OnCallbackReturned(now, delivery, out);
      });
    });
  }

  std::map<uint32_t, std::deque<pubsub::StreamingPullResponse>> transport;
  uint64_t messages = 0;
  int stuck = 0;
};

}  // namespace hopgap::client
