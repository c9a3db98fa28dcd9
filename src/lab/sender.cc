#include "lab/sender.h"

#include "base/check.h"

namespace hopgap::lab {

Sender::Sender(Options options, trace::EventSink& sink, uint64_t& next_rpc, OnDone done)
    : endpoint_(options.endpoint), done_(std::move(done)), publisher_(std::move(options.publisher), sink, next_rpc) {}

uint64_t Sender::Send(Instant now, const Message& message, Commands& out) {
  const uint64_t publish = next_publish_++;
  client::Publisher::Call call;
  call.publish = publish;
  call.data = message.data;
  call.attributes = message.attributes;
  call.parent = message.parent;
  call.create = {message.trace_hi, message.trace_lo, 0};
  call.create.span =
      trace::SpanId(trace::SpanRole::kCreate, {message.trace_hi, message.trace_lo, message.parent}, publish);
  call.scheduled = message.scheduled;
  call.slot_label = message.slot_label;
  client::Actions actions;
  publisher_.Publish(now, std::move(call), actions);
  Take(actions, out);
  return publish;
}

void Sender::OnCallDone(Instant now, uint32_t, uint64_t call, const absl::Status& status, std::string_view,
                        const pubsub::Bytes& response, Commands& out) {
  client::Actions actions;
  publisher_.OnCallDone(now, call, status, response, actions);
  Take(actions, out);
}

void Sender::OnDeadline(Instant now, Commands& out) {
  if (next_ > now) return;
  client::Actions actions;
  publisher_.OnDeadline(now, actions);
  Take(actions, out);
}

std::optional<Instant> Sender::NextDeadline() const {
  if (next_ == kNever) return std::nullopt;
  return next_;
}

void Sender::Stop(Instant now, Commands& out) {
  client::Actions actions;
  publisher_.Flush(now, actions);
  Take(actions, out);
}

void Sender::Take(client::Actions& actions, Commands& out) {
  for (client::Action& action : actions) {
    if (action.kind == client::Action::Kind::kPublished) {
      if (action.ok) {
        done_(action.publish, action.message_id);
      } else {
        done_(action.publish, absl::UnavailableError(action.error));
      }
    } else {
      out.push_back({endpoint_, std::move(action)});
    }
  }
  next_ = publisher_.NextDeadline().value_or(kNever);
}

// A sender opens no stream and has no handler.
void Sender::OnResponse(Instant, uint32_t, uint32_t, Instant, Instant, pubsub::StreamingPullResponse, Commands&) {
  HOPGAP_CHECK(false, "a sender has no stream");
}
void Sender::OnStreamEnded(Instant, uint32_t, uint32_t, const absl::Status&, Commands&) {
  HOPGAP_CHECK(false, "a sender has no stream");
}
void Sender::OnHandlerEntered(Instant, uint32_t, uint64_t, Commands&) {
  HOPGAP_CHECK(false, "a sender has no handler");
}

}  // namespace hopgap::lab
