#pragma once

#include <absl/status/status.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "formats/otlp_proto.h"
#include "trace/span.h"

namespace hopgap::server {

enum class OtlpEncoding : uint8_t { kProtobuf, kJson };

// What a sender of spans is told.
struct OtlpAnswer {
  absl::Status status;
  formats::OtlpPartialSuccess partial;  // of an OK
};

// Decodes OTLP requests and hands their spans on, one request at a time, on a
// thread of its own: behind every transport of a receiver. Requests wait in a
// queue that is bounded by their bytes.
//
// Thread-safe, but Stop() and the destructor are for one thread.
class OtlpIntake {
 public:
  // Takes (and may move from) the spans. What it returns is what the sender is told, so
  // OK means: they are where they should be.
  using Take = std::function<absl::Status(std::vector<trace::Span>&)>;
  using Done = std::function<void(const OtlpAnswer&)>;

  OtlpIntake(size_t queued_bytes_max, Take take);
  ~OtlpIntake();

  // `done` is called once, on the intake's thread. False if there is no room, or
  // after Stop(): then it is not called. A request alone always has room.
  [[nodiscard]] bool Post(std::string body, OtlpEncoding encoding, Done done);

  // Answers what waits, then ends. Idempotent, implied by the destructor.
  void Stop();

  struct Figures {
    uint64_t requests = 0;     // taken
    uint64_t spans = 0;        // in them
    uint64_t rejected = 0;     // spans that are none
    uint64_t malformed = 0;    // requests that are none
    uint64_t failed = 0;       // requests that `take` refused
    uint64_t turned_away = 0;  // no room
    size_t queued_bytes = 0;   // now
  };
  Figures figures() const;

 private:
  struct Request {
    std::string body;
    OtlpEncoding encoding = OtlpEncoding::kProtobuf;
    Done done;
  };
  void Run();
  OtlpAnswer Handle(const Request& request);

  const size_t queued_bytes_max_;
  const Take take_;
  mutable std::mutex mu_;
  std::condition_variable wake_;
  std::deque<Request> queue_;  // mu_, like all below
  bool stopping_ = false;
  Figures figures_;
  std::thread thread_;
};

}  // namespace hopgap::server
