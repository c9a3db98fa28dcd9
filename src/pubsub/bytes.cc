#include "pubsub/bytes.h"

namespace hopgap::pubsub {

size_t TotalSize(const Slices& slices) {
  size_t size = 0;
  for (const Bytes& slice : slices) size += slice.size();
  return size;
}

std::string Join(const Slices& slices) {
  std::string text;
  text.reserve(TotalSize(slices));
  for (const Bytes& slice : slices) text.append(slice.view());
  return text;
}

}  // namespace hopgap::pubsub
