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

#include "client/subscriber.h"
#include "client/test_parts.h"
#include "pubsub/api.h"
#include "pubsub/error_details.h"

// A small world for the tests of this room: virtual time, a server that answers
// by script, handlers that work and then ack. No sockets.
namespace hopgap::client {

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
               const std::function<void(pubsub::StreamingPullResponse&)>& edit = nullptr);
  void EndStream(Instant at, absl::Status status, uint32_t stream = 0);
  pubsub::ReceivedMessage Received(const std::string& name);

  void Do(const std::function<void(Actions&)>& step) {
    Actions out;
    step(out);
    for (Action& action : out) Perform(std::move(action));
  }
  // All that happens up to and at `until`: events first, then deadlines.
  void RunUntil(Instant until);

  std::vector<std::string> AckIds() const { return Ids(-1); }
  std::vector<std::string> Ids(int seconds) const;
  std::vector<Instant> Seen(Action::Kind kind) const;

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
  void ReadNow(uint32_t stream);

  void Perform(Action action);
  void PerformCall(const Action& action);
  void RunCallback(uint64_t delivery);

  std::map<uint32_t, std::deque<pubsub::StreamingPullResponse>> transport;
  uint64_t messages = 0;
  int stuck = 0;
};

}  // namespace hopgap::client
