#include "broker/stream_set.h"

#include <algorithm>

#include "base/check.h"

namespace hopgap::broker {

Stream& StreamSet::Open(StreamId id) {
  streams_.push_back(std::make_unique<Stream>());
  Stream& stream = *streams_.back();
  stream.id = id;
  stream.ordinal = ++opened_;  // wraps after 65,535 streams: a label, not an identity
  by_id_[id] = &stream;
  return stream;
}

size_t StreamSet::IndexOf(StreamId id) const {
  const auto found = std::find_if(streams_.begin(), streams_.end(), [id](const auto& s) { return s->id == id; });
  HOPGAP_CHECK(found != streams_.end(), "no such stream");
  return static_cast<size_t>(found - streams_.begin());
}

void StreamSet::Close(StreamId id) {
  const size_t index = IndexOf(id);
  by_id_.erase(id);
  streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(index));
  if (index < turn_) --turn_;
  if (turn_ >= streams_.size()) turn_ = 0;
}

Stream* StreamSet::Find(StreamId id) {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

std::vector<Stream*> StreamSet::Eligible(Duration ceiling) const {
  std::vector<Stream*> eligible;
  for (size_t i = 0; i < streams_.size(); ++i) {
    Stream* stream = streams_[(turn_ + i) % streams_.size()].get();
    if (stream->Wants() && !stream->write_in_flight && stream->gated_by == 0 && stream->lease <= ceiling) {
      eligible.push_back(stream);
    }
  }
  return eligible;
}

void StreamSet::Served(const Stream& stream) { turn_ = (IndexOf(stream.id) + 1) % streams_.size(); }

bool StreamSet::AnyWants(Duration ceiling) const {
  return std::any_of(streams_.begin(), streams_.end(),
                     [ceiling](const auto& s) { return s->Wants() && s->lease <= ceiling; });
}

void StreamSet::Free(StreamId id, size_t bytes) {
  Stream* stream = Find(id);
  if (stream == nullptr) return;
  --stream->messages;
  stream->bytes -= static_cast<int64_t>(bytes);
}

void StreamSet::OpenAllGates() {
  for (const auto& stream : streams_) stream->gated_by = 0;
}

void StreamSet::OpenGate(StreamId id, uint64_t response) {
  Stream* stream = Find(id);
  if (stream != nullptr && stream->gated_by == response) stream->gated_by = 0;
}

}  // namespace hopgap::broker
