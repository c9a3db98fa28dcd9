#include "remote/byte_buffer.h"

#include <grpcpp/support/slice.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace hopgap::remote {
namespace {

grpc::Slice ToSlice(const pubsub::Bytes& piece) {
  if (piece.size() < kCopyBelow) return grpc::Slice(piece.view().data(), piece.size());
  auto* held = new pubsub::Bytes(piece);
  // gRPC takes a mutable pointer but never writes through it.
  return grpc::Slice(
      const_cast<char*>(held->view().data()), held->size(),
      [](void* bytes) { delete static_cast<pubsub::Bytes*>(bytes); }, held);
}

}  // namespace

grpc::ByteBuffer ToByteBuffer(const pubsub::Slices& pieces) {
  std::vector<grpc::Slice> slices;
  slices.reserve(pieces.size());
  for (const pubsub::Bytes& piece : pieces) {
    if (!piece.empty()) slices.push_back(ToSlice(piece));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

pubsub::Bytes ToBytes(const grpc::ByteBuffer& buffer) {
  // Shared by all views into the message, the last of which drops it.
  auto slice = std::make_shared<grpc::Slice>();
  if (!buffer.TrySingleSlice(slice.get()).ok() && !buffer.DumpToSingleSlice(slice.get()).ok()) return {};
  const std::string_view view(reinterpret_cast<const char*>(slice->begin()), slice->size());
  return pubsub::Bytes(std::move(slice), view);
}

}  // namespace hopgap::remote
