#include "report/from_spans.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "base/version.h"
#include "report/layout.h"

namespace hopgap::report {
namespace {

using trace::DeliveryView;
using trace::MessageView;
using trace::Path;
using trace::Seen;

constexpr std::string_view kReplay = "replay.";

WallTime HandledAt(const Path& path) { return path.scheduled + path.until_handled; }

// Publish, lease and ack calls root traces of their own, with links to messages.
bool IsRpc(const trace::Span& span) { return span.parent == 0 && !span.links.empty(); }

bool ExactlyOnce(const Path& path) {
  return std::any_of(path.hops.begin(), path.hops.end(), [](const trace::HopTimes& hop) { return hop.exactly_once; });
}

// What most have; of equals the larger, since spans get lost and do not appear.
size_t UsualHops(const std::vector<size_t>& counts) {
  std::map<size_t, size_t> times;
  for (const size_t hops : counts) ++times[hops];
  const auto usual = std::max_element(times.begin(), times.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second, a.first) < std::pair(b.second, b.first);
  });
  return usual == times.end() ? 0 : usual->first;
}

std::string LeafName(const trace::Span& span) {
  std::string_view name = span.Text("messaging.destination.name");
  if (name.empty()) name = std::string_view(span.name).substr(0, span.name.rfind(' '));
  return std::string(name.substr(name.rfind('/') + 1));
}

}  // namespace

// The furthest that any of its messages came is no help: what is missing is.
FromSpans::End FromSpans::EndOf(const trace::TraceView& view) {
  std::vector<bool> received(view.messages.size());
  bool handled = true, acked = true;
  for (const DeliveryView& delivery : view.deliveries) {
    received[delivery.message] = true;
    handled = handled && Seen(delivery.callback_start);
    acked = acked && Seen(delivery.ack_called);
  }
  if (std::find(received.begin(), received.end(), false) != received.end()) return End::kNotReceived;
  return !handled ? End::kNotHandled : !acked ? End::kNotAcked : End::kGap;
}

void FromSpans::AddTrace(std::span<const trace::Span> spans, const trace::TraceView& view) {
  if (view.messages.empty()) {
    if (!std::all_of(spans.begin(), spans.end(), IsRpc)) ++other_traces_;
    return;
  }
  if (std::all_of(view.messages.begin(), view.messages.end(),
                  [](const MessageView& message) { return message.span == nullptr; })) {
    ++unpublished_;
    return;
  }
  ++traces_;
  std::vector<uint64_t> callbacks;
  for (const DeliveryView& delivery : view.deliveries) callbacks.push_back(delivery.process_span);
  std::sort(callbacks.begin(), callbacks.end());
  for (const MessageView& message : view.messages) {
    if (message.parent != 0 && std::binary_search(callbacks.begin(), callbacks.end(), message.parent)) {
      inner_topics_.insert(NumberOf(message.topic));
    }
  }
  std::vector<Path> paths = builder_.Build(view, std::nullopt, nullptr);
  if (paths.empty()) {
    ++without_path_;
    ++ends_[static_cast<size_t>(EndOf(view))];
    return;
  }
  Index index;
  for (const MessageView& message : view.messages) index.publishes.emplace_back(message.create_span, &message);
  std::sort(index.publishes.begin(), index.publishes.end());
  index.spans.reserve(spans.size());
  for (const trace::Span& span : spans) index.spans.push_back(span.span);
  std::sort(index.spans.begin(), index.spans.end());
  // Of a message with several paths to one subscription the one that was handled first.
  std::vector<std::pair<std::string, Path*>> order;
  for (size_t i = 0; i < paths.size(); ++i) {
    const DeliveryView& leaf = view.deliveries[builder_.leaves()[i]];
    order.emplace_back(leaf.span == nullptr ? "" : LeafName(*leaf.span), &paths[i]);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.second->root_span, a.first, HandledAt(*a.second)) <
           std::tuple(b.second->root_span, b.first, HandledAt(*b.second));
  });
  const auto same = [](const auto& a, const auto& b) {
    return a.second->root_span == b.second->root_span && a.first == b.first;
  };
  order.erase(std::unique(order.begin(), order.end(), same), order.end());
  for (size_t i = 0; i < order.size(); ++i) {
    const auto of_same_message = [&](size_t other) {
      return other < order.size() && order[other].second->root_span == order[i].second->root_span;
    };
    const bool forked = of_same_message(i + 1) || (i > 0 && of_same_message(i - 1));
    const uint64_t root = order[i].second->root_span;
    AddPath(std::move(*order[i].second), order[i].first, index);
    order[i].second->root_span = root;  // the next one is compared with it
    found_.back().forked = forked;
  }
}

// Messages that went to several last subscriptions: an arm for each of these.
void FromSpans::SplitForks() {
  std::set<uint32_t> forked;
  for (const Found& found : found_) {
    if (found.forked) forked.insert(found.arm);
  }
  if (forked.empty()) return;
  forked_ = std::all_of(found_.begin(), found_.end(), [&](const Found& found) { return forked.contains(found.arm); });
  // Paths of one message follow each other.
  uint64_t numbers = 0;
  const Path* last = nullptr;
  for (Found& found : found_) {
    if (!forked.contains(found.arm)) continue;
    found.arm = NumberOf(StrCat(names_[found.arm], " → ", names_[found.leaf]));
    if (found.slotted || !forked_) continue;
    const Path& path = found.path;
    const bool same = last != nullptr && std::tie(last->trace_hi, last->trace_lo, last->root_span) ==
                                             std::tie(path.trace_hi, path.trace_lo, path.root_span);
    numbers += same ? 0 : 1;
    found.path.slot = numbers - 1;
    last = &path;
  }
}

uint32_t FromSpans::NumberOf(std::string_view name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  names_.emplace_back(name);
  return numbers_.emplace(name, static_cast<uint32_t>(names_.size() - 1)).first->second;
}

void FromSpans::AddPath(Path path, std::string_view leaf, const Index& index) {
  const MessageView* root = std::lower_bound(index.publishes.begin(), index.publishes.end(),
                                             std::pair<uint64_t, const MessageView*>(path.root_span, nullptr))
                                ->second;
  Found& found = found_.emplace_back();
  found.topic = NumberOf(root->topic);
  found.leaf = NumberOf(leaf);
  found.due = Seen(root->scheduled);
  found.slotted = root->slot_label != 0;
  found.orphan = root->parent != 0 && !std::binary_search(index.spans.begin(), index.spans.end(), root->parent);
  found.arm = path.arm.empty() ? found.topic : NumberOf(path.arm);
  found.exactly_once = ExactlyOnce(path);
  path.arm = {};
  found.path = std::move(path);
}

// A path whose beginning is missing: its first publish has an unknown parent, and
// elsewhere a callback publishes to that topic. (An unknown parent alone may be a
// caller that is not traced.)
void FromSpans::DropFragments() {
  const size_t fragments =
      std::erase_if(found_, [this](const Found& found) { return found.orphan && inner_topics_.contains(found.topic); });
  if (fragments == 0) return;
  only_.notes.push_back(StrCat(Counted(fragments, "path"),
                               " left out: spans of the beginning are missing (the first publish that is "
                               "there was made by a callback that is not)"));
}

std::vector<FromSpans::Arm> FromSpans::Arms() {
  std::map<std::string, Arm> by_name;
  for (Found& found : found_) {
    Arm& arm = by_name[names_[found.arm]];
    arm.name = names_[found.arm];
    arm.found.push_back(&found);
  }
  std::vector<Arm> arms;
  for (auto& [name, arm] : by_name) arms.push_back(std::move(arm));
  std::stable_sort(arms.begin(), arms.end(),
                   [](const Arm& a, const Arm& b) { return a.found.size() > b.found.size(); });
  if (arms.size() > kArmsMax) {
    only_.notes.push_back(StrCat(arms.size() - kArmsMax, " of ", arms.size(),
                                 " arms left out: those with the fewest "
                                 "messages, because a report holds ",
                                 kArmsMax));
    arms.resize(kArmsMax);
  }
  // Standard ones first: what others are compared with. Else by name.
  const auto key = [](const Arm& arm) {
    const bool replay = arm.name.starts_with(kReplay);
    const bool eos = std::any_of(arm.found.begin(), arm.found.end(), [](Found* f) { return f->exactly_once; });
    return std::tuple(replay, eos, arm.name);
  };
  std::sort(arms.begin(), arms.end(), [&](const Arm& a, const Arm& b) { return key(a) < key(b); });
  return arms;
}

void FromSpans::ChooseHops(std::vector<Arm>& arms) {
  for (Arm& arm : arms) {
    std::vector<size_t> counts;
    for (const Found* found : arm.found) counts.push_back(found->path.hops.size());
    arm.hops = UsualHops(counts);
    const size_t all = arm.found.size();
    const size_t other = std::erase_if(arm.found, [&](Found* f) { return f->path.hops.size() != arm.hops; });
    if (other == 0) continue;
    only_.notes.push_back(StrCat(other, " of ", Counted(all, "path"), " of ", arm.name, " left out: they have not ",
                                 Counted(arm.hops, "hop"), ", as most do"));
  }
}

// Pairs need slots: arrival numbers that the arms share. Without them messages
// are numbered by time, for order alone.
void FromSpans::ChooseSlots(std::vector<Arm>& arms) {
  bool slotted = true, unique = true, alike = true;
  for (const Arm& arm : arms) {
    std::vector<uint64_t> slots;
    slots.reserve(arm.found.size());
    for (const Found* found : arm.found) {
      slotted = slotted && (found->slotted || forked_);  // the same message is as good as a slot
      slots.push_back(found->path.slot);
    }
    std::sort(slots.begin(), slots.end());
    unique = unique && std::adjacent_find(slots.begin(), slots.end()) == slots.end();
    alike = alike && arm.hops == arms.front().hops;
  }
  only_.paired = slotted && unique && alike;
  if (!alike) {
    std::string each;
    for (const Arm& arm : arms) each += StrCat(each.empty() ? "" : ", ", arm.name, " ", arm.hops);
    only_.notes.push_back(StrCat("the arms have different numbers of hops: ", each));
  }
  if (only_.paired || arms.empty()) return;
  if (arms.size() > 1) {
    only_.notes.push_back(StrCat("arms are not compared pair by pair: ",
                                 !slotted  ? "these spans carry no arrival slots"
                                 : !unique ? "several messages of an arm have the same arrival slot (two runs?)"
                                           : "they have not the same number of hops"));
  }
  for (Arm& arm : arms) {
    std::stable_sort(arm.found.begin(), arm.found.end(), [](const Found* a, const Found* b) {
      return std::tuple(a->path.scheduled, a->path.trace_hi, a->path.trace_lo, a->path.root_span) <
             std::tuple(b->path.scheduled, b->path.trace_hi, b->path.trace_lo, b->path.root_span);
    });
    for (size_t i = 0; i < arm.found.size(); ++i) arm.found[i]->path.slot = i;
  }
}

ArmRun FromSpans::ToRun(const Arm& arm) {
  ArmRun run;
  run.group = arm.name.starts_with(kReplay) ? "replay" : "spans";
  run.name = arm.name;
  run.sent = run.completed = run.planned = arm.found.size();  // of what is known; the rest is said, not counted
  run.exactly_once_seen =
      std::any_of(arm.found.begin(), arm.found.end(), [](const Found* found) { return found->exactly_once; });
  run.kind = run.exactly_once_seen ? "eos" : "std";
  run.paths.reserve(arm.found.size());
  return run;
}

// Lets go of each as it moves, so that they are never in memory twice.
void FromSpans::MovePaths(Run& run) {
  WallTime first = WallTime::max(), last = WallTime::min();
  std::pair<uint64_t, uint64_t> trace_before;
  for (; !found_.empty(); found_.pop_front()) {
    Found& found = found_.front();
    if (found.arm == kNoArm) continue;
    only_.due_times = only_.due_times && found.due;
    const std::pair trace{found.path.trace_hi, found.path.trace_lo};
    if (only_.explained == 0 || trace != trace_before) ++only_.explained;
    trace_before = trace;
    first = std::min(first, found.path.scheduled);
    last = std::max(last, HandledAt(found.path));
    run.arms[found.arm].paths.push_back(std::move(found.path));
  }
  if (only_.explained > 0) run.elapsed = last - first;
  for (ArmRun& arm : run.arms) {
    std::sort(arm.paths.begin(), arm.paths.end(), [](const Path& a, const Path& b) { return a.slot < b.slot; });
  }
}

void FromSpans::NoteEnds() {
  if (other_traces_ > 0) {
    only_.notes.push_back(StrCat(Counted(other_traces_, "trace"), " without a Pub/Sub publish left out"));
  }
  if (unpublished_ > 0) {
    only_.notes.push_back(StrCat(Counted(unpublished_, "trace"),
                                 " with a delivery and without its publish: no path, but "
                                 "counted by subscription"));
  }
  if (without_path_ == 0) return;
  constexpr std::array<std::string_view, kEnds> kWhy = {"published and not received here", "received and not handled",
                                                        "handled and not acked",
                                                        "handled, but spans between are missing"};
  std::string why;
  for (size_t i = 0; i < kEnds; ++i) {
    if (ends_[i] > 0) why += StrCat(why.empty() ? "" : ", ", ends_[i], " ", kWhy[i]);
  }
  only_.notes.push_back(StrCat(without_path_, " of ", Counted(traces_, "trace"), " have no last handler: ", why,
                               ". They may be lost, on their way, or without their spans; they are in no figure"));
}

Run FromSpans::Finish(const std::string& source, uint64_t spans) {
  NoteEnds();
  DropFragments();
  SplitForks();
  std::vector<Arm> arms = Arms();
  ChooseHops(arms);
  ChooseSlots(arms);
  Run run;
  run.version = std::string(kVersion);
  run.configuration.command = "analyze";
  run.configuration.hops = 0;
  only_.due_times = !arms.empty();
  for (Found& found : found_) found.arm = kNoArm;
  for (const Arm& arm : arms) {
    for (Found* found : arm.found) found->arm = static_cast<uint32_t>(run.arms.size());
    run.configuration.hops = std::max(run.configuration.hops, static_cast<int>(arm.hops));
    run.arms.push_back(ToRun(arm));
  }
  arms = {};
  MovePaths(run);
  only_.source = source;
  only_.spans = spans;
  only_.traces = traces_;
  run.spans_only = std::move(only_);
  return run;
}

}  // namespace hopgap::report
