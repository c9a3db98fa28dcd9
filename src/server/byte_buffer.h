#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "pubsub/bytes.h"

namespace hopgap::server {

// Pieces shorter than this are copied: cheaper than counting a reference.
inline constexpr size_t kCopyBelow = 512;

// The pieces as gRPC sends them. Message bodies are referenced, not copied; the
// transport drops them when it has written them.
grpc::ByteBuffer ToByteBuffer(const pubsub::Slices& pieces);

// A received message as one run of bytes. It is copied, once, into a block of
// its own size: a short request is a window into the transport's read block of
// 8 KiB and more, which a retained message would keep alive.
pubsub::Bytes ToBytes(const grpc::ByteBuffer& buffer);

}  // namespace hopgap::server
