#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hopgap::pubsub {

// A counted view of immutable bytes: what a message is from decode to delivery.
// The owner is shared because one body is at once in the topic's log, in
// several subscriptions' deliveries and in a transport's write buffer, and no
// one of them outlives the others. Copying copies a pointer.
//
// Thread-safe as a value: the bytes never change.
class Bytes {
 public:
  Bytes() = default;

  // Takes the text over.
  explicit Bytes(std::string text) {
    auto kept = std::make_shared<const std::string>(std::move(text));
    view_ = *kept;
    owner_ = std::move(kept);
  }

  // Borrows `view`, which lives as long as `owner` (a transport's buffer).
  Bytes(std::shared_ptr<const void> owner, std::string_view view) : owner_(std::move(owner)), view_(view) {}

  std::string_view view() const { return view_; }
  size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }

  // The part of these bytes that `part` looks at. Requires: `part` lies inside.
  Bytes Slice(std::string_view part) const { return Bytes(owner_, part); }

 private:
  std::shared_ptr<const void> owner_;
  std::string_view view_;
};

// A message on the wire in pieces, in order; a transport may send them as they
// are, without joining them.
using Slices = std::vector<Bytes>;

size_t TotalSize(const Slices& slices);
std::string Join(const Slices& slices);

}  // namespace hopgap::pubsub
