#include "pubsub/slice_writer.h"

#include <string_view>

namespace hopgap::pubsub {

Slices SliceWriter::Finish() {
  const Bytes headers(std::move(text_));
  Slices slices;
  slices.reserve(2 * bodies_.size() + 1);
  size_t from = 0;
  const auto add_headers = [&](size_t to) {
    const std::string_view part = headers.view().substr(from, to - from);
    if (!part.empty()) slices.push_back(headers.Slice(part));
    from = to;
  };
  for (auto& [offset, body] : bodies_) {
    add_headers(offset);
    slices.push_back(std::move(body));
  }
  add_headers(headers.size());
  text_.clear();
  bodies_.clear();
  return slices;
}

}  // namespace hopgap::pubsub
