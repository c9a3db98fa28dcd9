#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "pubsub/bytes.h"

namespace hopgap::remote {

// Pieces shorter than this are copied: cheaper than counting a reference.
inline constexpr size_t kCopyBelow = 512;

// The pieces as gRPC sends them. Message bodies are referenced, not copied; the
// transport drops them when it has written them. (The server has the same lines:
// the two rooms are on one level, and no room below them links gRPC.)
grpc::ByteBuffer ToByteBuffer(const pubsub::Slices& pieces);

// A received message as one run of bytes, without copying it when it came in
// one piece: what a client receives is not kept for long.
pubsub::Bytes ToBytes(const grpc::ByteBuffer& buffer);

}  // namespace hopgap::remote
