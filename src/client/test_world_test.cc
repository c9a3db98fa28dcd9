// No test: the code of test_world.h, under a name that keeps it out of the library.
#include "client/test_world.h"

namespace hopgap::client {

void SubscriberWorld::Respond(Instant at, const std::vector<std::string>& names, bool exactly_once, uint32_t stream,
                              const std::function<void(pubsub::StreamingPullResponse&)>& edit) {
  pubsub::StreamingPullResponse response;
  response.properties.exactly_once_delivery_enabled = exactly_once;
  for (const std::string& name : names) response.received_messages.push_back(Received(name));
  if (edit) edit(response);
  agenda.Post(at, [this, stream, response] {
    transport[stream].push_back(response);
    ReadNow(stream);
  });
}

void SubscriberWorld::EndStream(Instant at, absl::Status status, uint32_t stream) {
  agenda.Post(at, [this, status, stream] {
    read_posted.erase(stream);
    Do([&](Actions& out) { subscriber.OnStreamEnded(now, stream, status, out); });
  });
}

pubsub::ReceivedMessage SubscriberWorld::Received(const std::string& name) {
  const uint64_t number = ++messages;
  pubsub::ReceivedMessage received;
  received.ack_id = "id-" + name;
  received.message = pubsub::Message::Make(
      name, {{std::string(pubsub::kTraceparentAttribute), pubsub::FormatTraceparent(ContextOf(number))}});
  return received;
}

void SubscriberWorld::RunUntil(Instant until) {
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

std::vector<std::string> SubscriberWorld::Ids(int seconds) const {
  std::vector<std::string> ids;
  for (const CallSeen& call : calls) {
    if (call.seconds == seconds) ids.insert(ids.end(), call.ids.begin(), call.ids.end());
  }
  return ids;
}

std::vector<Instant> SubscriberWorld::Seen(Action::Kind kind) const {
  std::vector<Instant> at;
  for (const StreamSeen& seen : stream_actions) {
    if (seen.kind == kind) at.push_back(seen.at);
  }
  return at;
}

void SubscriberWorld::ReadNow(uint32_t stream) {
  if (!read_posted.contains(stream) || transport[stream].empty()) return;
  const Instant posted = read_posted[stream];
  read_posted.erase(stream);
  pubsub::StreamingPullResponse response = std::move(transport[stream].front());
  transport[stream].pop_front();
  Do([&](Actions& out) { subscriber.OnResponse(now, stream, now, posted, std::move(response), out); });
}

void SubscriberWorld::Perform(Action action) {
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

void SubscriberWorld::PerformCall(const Action& action) {
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

void SubscriberWorld::RunCallback(uint64_t delivery) {
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

}  // namespace hopgap::client
