#pragma once

#include <absl/strings/str_cat.h>

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/draw.h"
#include "client/action.h"
#include "client/call_runner.h"
#include "client/delivery_table.h"
#include "client/flow_control.h"
#include "client/recorder.h"
#include "client/scheduler.h"
#include "client/subscriber.h"

namespace hopgap::client {

inline int64_t CallbackSlots(const Subscriber::Options& options) {
  const Model& model = options.model;
  if (model.callback_slots == 0) return model.max_outstanding_messages;
  if (model.callback_slots < 0) return model.callback_slots;
  return model.callback_slots * (model.slots_per_stream ? options.streams : 1);
}

// What the iterators of one subscriber share.
struct Core {
  Core(Subscriber::Options given, trace::EventSink& sink, uint64_t& next_rpc)
      : options(std::move(given)),
        recorder(sink, options.place),
        flow(options.model.max_outstanding_messages, options.model.max_outstanding_bytes),
        scheduler(CallbackSlots(options), options.model.loop_waits_for_slot),
        calls({options.subscription, options.model, options.seed}, recorder, next_rpc) {}

  const Model& model() const { return options.model; }

  // A worker took the message: its callback starts now, or after the planted delay.
  void Hand(Instant now, DeliveryEntry& entry, Actions& out) {
    if (options.planted.scheduler.count() > 0) {
      starting.emplace_back(now + options.planted.scheduler, entry.delivery.id);
    } else {
      StartCallback(entry, out);
    }
  }
  void StartCallback(DeliveryEntry& entry, Actions& out) {
    entry.phase = DeliveryEntry::Phase::kHanded;
    Action action;
    action.kind = Action::Kind::kStartCallback;
    action.stream = entry.stream;
    action.delivery = entry.delivery.id;
    out.push_back(std::move(action));
  }

  // The streams that get what it held go on at the end of the event.
  void ReleaseCredits(DeliveryEntry& entry) {
    if (std::exchange(entry.holds_credits, false)) flow.Release(entry.bytes(), admitted);
  }

  Subscriber::Options options;
  Recorder recorder;
  DeliveryTable deliveries;
  FlowControl flow;
  Scheduler scheduler;
  CallRunner calls;
  std::deque<std::pair<Instant, uint64_t>> starting;  // planted scheduler delay; in order of time
  std::vector<uint32_t> admitted;                     // streams whose present message just got its credits
  size_t outstanding = 0;                             // received, not yet returned or given up
  bool properties_seen = false;
};

}  // namespace hopgap::client
