#pragma once

#include <grpc/grpc.h>

namespace hopgap::remote {

// A server that starts a moment after its client is found soon.
inline constexpr int kReconnectFirstMs = 100;

// gRPC's last user would shut the library down and wait for its threads, one of
// which may sit in a poll of 10 s (after a write that filled its socket). So the
// process stays a user of it until it ends. From any thread.
inline void KeepGrpc() {
  static const bool kept = [] {
    grpc_init();
    return true;
  }();
  static_cast<void>(kept);
}

}  // namespace hopgap::remote
