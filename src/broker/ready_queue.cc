#include "broker/ready_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace hopgap::broker {
namespace {

using State = Delivery::State;
using List = KeyLine::List;

// How many messages that came from a stream it is spared, per turn: enough to
// find another one, and a bound on the work.
constexpr size_t kPassedOverMax = 64;
// Up to so many finished sequences stay in front of a line.
constexpr size_t kLineSlack = 16;

// On its way out of the subscription, so that nothing of its key waits for it.
bool Finishing(State state) { return state == State::kAckPending || state == State::kDeadLettering; }

}  // namespace

size_t KeyLine::IndexOf(Sequence sequence) const {
  const auto first = sequences.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto found = std::lower_bound(first, sequences.end(), sequence);
  HOPGAP_CHECK(found != sequences.end() && *found == sequence, "a message is not in the line of its key");
  return static_cast<size_t>(found - first);
}

void KeyLine::Insert(Sequence sequence) {
  if (size() == 0 || sequences.back() < sequence) return sequences.push_back(sequence);
  const auto first = sequences.begin() + static_cast<std::ptrdiff_t>(begin);
  sequences.insert(std::lower_bound(first, sequences.end(), sequence), sequence);
}

void KeyLine::Erase(size_t index) {
  if (index > 0) {
    sequences.erase(sequences.begin() + static_cast<std::ptrdiff_t>(begin + index));
    return;
  }
  ++begin;
  if (begin <= kLineSlack || 2 * begin < sequences.size()) return;
  sequences.erase(sequences.begin(), sequences.begin() + static_cast<std::ptrdiff_t>(begin));
  begin = 0;
}

void ReadyQueue::Join(std::string_view key, Sequence sequence, Delivery& delivery) {
  std::unique_ptr<KeyLine>& line = lines_[std::string(key)];
  if (!line) line = std::make_unique<KeyLine>(key);
  line->Insert(sequence);
  // What comes in before a message that is out would be overtaken by it.
  HOPGAP_CHECK(line->IndexOf(sequence) >= line->out, "a message joined its key before one that is out");
  delivery.line = line.get();
  // It may stand before what was next so far (a seek brought it back), and is not ready yet.
  if (line->At(line->out) == sequence) Put(*line);
}

void ReadyQueue::Push(Sequence sequence, Delivery& delivery) {
  delivery.state = State::kReady;
  if (delivery.line != nullptr) return Put(*delivery.line);
  shared_.push_back(sequence);
  ++shared_count_;
}

void ReadyQueue::Withdraw(Delivery& delivery) {
  HOPGAP_CHECK(delivery.state == State::kReady, "withdrew what is not ready");
  delivery.state = State::kReturning;
  if (delivery.line != nullptr) return Put(*delivery.line);
  --shared_count_;
}

std::optional<Sequence> ReadyQueue::Leave(Sequence sequence, Delivery& delivery) {
  if (delivery.line == nullptr) {
    if (delivery.state == State::kReady) --shared_count_;
    return std::nullopt;
  }
  KeyLine& line = *std::exchange(delivery.line, nullptr);
  const size_t index = line.IndexOf(sequence);
  line.Erase(index);
  if (index < line.out) --line.out;
  if (line.size() == 0) {
    Unplace(line);
    lines_.erase(lines_.find(line.key));
    return std::nullopt;
  }
  Put(line);
  return index == 0 ? std::optional(line.At(0)) : std::nullopt;
}

std::vector<Sequence> ReadyQueue::TakeBack(Sequence sequence, const Delivery& delivery) {
  std::vector<Sequence> after;
  if (delivery.line == nullptr) return after;
  KeyLine& line = *delivery.line;
  const size_t index = line.IndexOf(sequence);
  for (size_t i = index + 1; i < line.out; ++i) {
    const State state = deliveries_.Find(line.At(i))->state;
    if (state == State::kLeased || state == State::kAckedEarly) after.push_back(line.At(i));
  }
  line.out = std::min(line.out, index);
  Put(line);
  return after;
}

bool ReadyQueue::Hold(Sequence sequence, Delivery& delivery) {
  if (delivery.line == nullptr) return true;
  KeyLine& line = *delivery.line;
  if (line.out >= line.size() || line.At(line.out) != sequence) return false;
  ++line.out;
  return true;
}

bool ReadyQueue::IsFirst(Sequence sequence, const Delivery& delivery) {
  if (delivery.line == nullptr) return true;
  const KeyLine& line = *delivery.line;
  // Acks are taken in order, so what is before a pending one is pending too.
  for (size_t i = line.IndexOf(sequence); i > 0; --i) {
    const State before = deliveries_.Find(line.At(i - 1))->state;
    if (before == State::kAckPending) return true;
    if (!Finishing(before)) return false;
  }
  return true;
}

// Its next message stands in the list where it belongs now, and in no other.
void ReadyQueue::Put(KeyLine& line) {
  List place = List::kNowhere;
  const Sequence next = line.out < line.size() ? line.At(line.out) : Sequence{0};
  if (line.out < line.size() && deliveries_.Find(next)->state == State::kReady) {
    if (line.out == 0) {
      place = List::kShared;
    } else if (line.holder && streams_.Find(*line.holder) != nullptr) {
      place = List::kHolder;
    }
  }
  if (place == line.place && (place == List::kNowhere || next == line.queued)) return;
  Unplace(line);
  line.place = place;
  line.queued = next;
  if (place == List::kShared) {
    shared_.push_back(next);
    ++shared_count_;
  } else if (place == List::kHolder) {
    held_[*line.holder].push_back(next);
    ++held_count_;
  }
}

void ReadyQueue::Unplace(KeyLine& line) {
  if (line.place == List::kShared) --shared_count_;
  if (line.place == List::kHolder) --held_count_;
  line.place = List::kNowhere;
}

bool ReadyQueue::Stands(Sequence sequence, List place) const {
  const Delivery* delivery = deliveries_.Find(sequence);
  if (delivery == nullptr || delivery->state != State::kReady) return false;
  if (delivery->line == nullptr) return place == List::kShared;
  return delivery->line->place == place && delivery->line->queued == sequence;
}

void ReadyQueue::OnStreamClosed(StreamId stream) {
  const auto found = held_.find(stream);
  if (found == held_.end()) return;
  for (Sequence sequence : found->second) {
    if (!Stands(sequence, List::kHolder)) continue;
    KeyLine& line = *deliveries_.Find(sequence)->line;
    if (line.holder == stream) Unplace(line);
  }
  held_.erase(found);
}

void ReadyQueue::Sweep() {
  std::erase_if(shared_, [this](Sequence sequence) { return !Stands(sequence, List::kShared); });
  for (auto& [stream, list] : held_) {
    std::erase_if(list, [this](Sequence sequence) { return !Stands(sequence, List::kHolder); });
  }
}

struct ReadyQueue::Taking {
  std::vector<Sequence> taken;
  int64_t bytes = 0;

  bool Fits(const TakeLimits& limits, const Delivery& delivery) const {
    if (taken.empty()) return limits.messages_max > 0;
    return taken.size() < limits.messages_max && bytes < limits.bytes_max &&
           static_cast<size_t>(bytes) + delivery.bytes <= limits.response_bytes_max;
  }
  void Add(Sequence sequence, const Delivery& delivery) {
    taken.push_back(sequence);
    bytes += delivery.bytes;
  }
};

std::vector<Sequence> ReadyQueue::Take(const TakeLimits& limits) {
  Taking taking;
  if (held_count_ > 0 && limits.stream) TakeHeld(limits, taking);
  std::vector<Sequence> passed_over;
  for (size_t count = 0; count < limits.count && shared_count_ > passed_over.size();) {
    const Sequence sequence = shared_.front();
    if (!Stands(sequence, List::kShared)) {
      shared_.pop_front();
      continue;
    }
    Delivery& delivery = *deliveries_.Find(sequence);
    const bool avoid = limits.spare && delivery.stream == limits.stream && passed_over.size() < kPassedOverMax;
    if (!avoid && !taking.Fits(limits, delivery)) break;
    shared_.pop_front();
    if (avoid) {
      passed_over.push_back(sequence);
      continue;
    }
    ++count;
    if (delivery.line != nullptr) {
      TakeRun(*delivery.line, limits, taking);
    } else {
      taking.Add(sequence, delivery);
      --shared_count_;
    }
  }
  shared_.insert(shared_.begin(), passed_over.begin(), passed_over.end());
  return std::move(taking.taken);
}

void ReadyQueue::TakeHeld(const TakeLimits& limits, Taking& taking) {
  const auto found = held_.find(*limits.stream);
  if (found == held_.end()) return;
  // A line whose run does not fit goes to the end of the list: not again in this turn.
  for (size_t count = found->second.size(); count > 0; --count) {
    const Sequence sequence = found->second.front();
    Delivery* delivery = deliveries_.Find(sequence);
    const bool stands = Stands(sequence, List::kHolder) && delivery->line->holder == limits.stream;
    if (stands && !taking.Fits(limits, *delivery)) return;
    found->second.pop_front();
    if (stands) TakeRun(*delivery->line, limits, taking);
  }
  if (found->second.empty()) held_.erase(found);
}

// As many messages of a key as fit, from its next one on.
void ReadyQueue::TakeRun(KeyLine& line, const TakeLimits& limits, Taking& taking) {
  Unplace(line);
  line.holder = limits.stream;
  const Delivery* next = deliveries_.Find(line.At(line.out));
  do {
    taking.Add(line.At(line.out), *next);
    if (++line.out == line.size()) break;
    next = deliveries_.Find(line.At(line.out));
  } while (next->state == State::kReady && taking.Fits(limits, *next));
  Put(line);
}

}  // namespace hopgap::broker
