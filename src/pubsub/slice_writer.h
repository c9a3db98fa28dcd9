#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "pubsub/bytes.h"

namespace hopgap::pubsub {

// Builds a wire message whose bodies stay where they are: write headers to
// text(), hand over bodies with Append(), and Finish() gives the pieces in
// order. All headers share one allocation.
class SliceWriter {
 public:
  // Up to this size a body is cheaper to copy than to send as a slice.
  static constexpr size_t kInlineBytesMax = 64;

  std::string& text() { return text_; }

  void Append(const Bytes& body) {
    if (body.size() <= kInlineBytesMax) {
      text_.append(body.view());
    } else {
      bodies_.emplace_back(text_.size(), body);
    }
  }

  // Requires: called once; the writer is empty afterwards.
  Slices Finish();

 private:
  std::string text_;
  std::vector<std::pair<size_t, Bytes>> bodies_;  // and the offset in text_ where each belongs
};

}  // namespace hopgap::pubsub
