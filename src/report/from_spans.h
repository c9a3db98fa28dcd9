#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/run.h"
#include "trace/path.h"
#include "trace/path_builder.h"
#include "trace/span.h"
#include "trace/trace_view.h"

namespace hopgap::report {

// Makes a run of spans alone: of traces that other people's services wrote, or
// that were collected from many processes. No plan comes with them, so there is
// no verdict, and nothing is called lost: a trace without a last handler is
// counted and said.
//
// An arm is what the root publish says in `hopgap.arm`, else its topic. Where
// messages went to several last subscriptions there is an arm for each, "topic →
// subscription", paired message by message. The number of hops of an arm is what
// most of its paths have.
class FromSpans {
 public:
  // Arms beyond these, the smallest, are left out and said.
  static constexpr size_t kArmsMax = 20;

  // All spans of one trace, in any order; with the view of them, where there is one already.
  void AddTrace(std::span<const trace::Span> spans) { AddTrace(spans, trace::ViewFromSpans(spans)); }
  void AddTrace(std::span<const trace::Span> spans, const trace::TraceView& view);

  // `source` is where they came from, for people; `spans` how many there were.
  // Once.
  Run Finish(const std::string& source, uint64_t spans);

 private:
  // Why a trace has no path.
  enum class End : uint8_t { kNotReceived, kNotHandled, kNotAcked, kGap };
  static constexpr size_t kEnds = 4;

  // There may be millions: names are numbers of names_.
  struct Found {
    trace::Path path;  // without the name of its arm
    uint32_t arm = 0;
    uint32_t topic = 0;  // of the first publish
    uint32_t leaf = 0;   // the last subscription
    bool due = false, slotted = false, exactly_once = false;
    bool orphan = false;  // the first publish has a parent that is not in its trace
    bool forked = false;  // the message went to several last subscriptions
  };
  static constexpr uint32_t kNoArm = UINT32_MAX;
  struct Arm {
    std::string name;
    std::vector<Found*> found;
    size_t hops = 0;
  };

  static End EndOf(const trace::TraceView& view);
  // What is looked up in one trace, sorted.
  struct Index {
    std::vector<std::pair<uint64_t, const trace::MessageView*>> publishes;  // by create span
    std::vector<uint64_t> spans;
  };
  void AddPath(trace::Path path, std::string_view leaf, const Index& index);
  void SplitForks();
  void DropFragments();
  std::vector<Arm> Arms();
  void ChooseHops(std::vector<Arm>& arms);
  void ChooseSlots(std::vector<Arm>& arms);
  static ArmRun ToRun(const Arm& arm);
  void MovePaths(Run& run);
  uint32_t NumberOf(std::string_view name);
  void NoteEnds();

  trace::PathBuilder builder_;
  std::deque<Found> found_;  // by trace
  std::map<std::string, uint32_t, std::less<>> numbers_;
  std::vector<std::string> names_;
  std::set<uint32_t> inner_topics_;  // published to by a callback
  uint64_t traces_ = 0, other_traces_ = 0, without_path_ = 0, unpublished_ = 0;
  bool forked_ = false;  // every arm is one of several subscriptions of the same messages
  std::array<uint64_t, kEnds> ends_{};
  SpansOnly only_;
};

}  // namespace hopgap::report
