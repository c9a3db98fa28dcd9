#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "broker/broker.h"
#include "broker/journal.h"
#include "loop/strand.h"
#include "loop/timer.h"
#include "pubsub/bytes.h"
#include "server/admission.h"
#include "server/local_calls.h"
#include "trace/event.h"

namespace hopgap::server {

// A broker behind a real socket: google.pubsub.v1 over gRPC.
//
// In plaintext it owns the listening socket and hands HTTP/2 connections to
// gRPC. HTTP/1.1 gets health, the admin API where it is asked for, and 501 for
// the rest until the REST interface comes. Under TLS gRPC listens itself, and
// its port serves nothing else. One thread polls gRPC's completion queue, one
// accepts (plaintext); the broker runs on a strand, mostly on the polling
// thread. HTTP/1.1 has threads of its own, from the first such connection on.
//
// Thread-safe after Start(), but Stop() and the destructor are for one thread.
class GrpcServer {
 public:
  // Messages a client may send; Publish itself is limited to 10,485,760 bytes,
  // by the broker and with the service's words.
  static constexpr int kReceivedBytesMax = 16 << 20;
  static constexpr int kMetadataBytesMax = 1 << 20;

  // PEM texts; the key is not encrypted.
  struct Tls {
    std::string certificate, key;
    std::string client_ca;  // whose certificates clients must show; empty: none
  };

  struct Options {
    std::string host = "127.0.0.1";  // 0.0.0.0 is for who asks for it
    uint16_t port = 0;               // 0: any free one
    std::optional<Tls> tls;
    Admission admission = nullptr;  // who is served; null: everybody
    broker::Broker::Options broker;
    // What the journal kept, oldest first.
    std::vector<pubsub::Bytes> journal_records;
    // Runs after the replay and before the first client is answered; if it fails,
    // Start() does, with what it said.
    std::function<absl::Status(LocalCalls& broker)> prepare = nullptr;
    // Answers docs/admin.md's calls over HTTP/1.1, to this machine. Not under TLS.
    bool admin = false;
    bool test_clock = false;  // ... that the broker's clock may be moved on, too
    // Called, on the strand, with one line for each failed ack or modack.
    std::function<void(const std::string&)> failure_line = nullptr;
    // Test-only: a stream's response is handed to the transport this much after
    // the broker's write.
    Duration planted_wire_delay{0};
    // Requests decoded and not yet taken by the broker; beyond: RESOURCE_EXHAUSTED.
    size_t queued_requests_max = loop::Strand::kQueuedMax;
    // How long Stop() waits for clients to take their last answers.
    Duration stop_wait = std::chrono::seconds{1};
  };

  // The references outlive the server. What `prepare` says if it fails, and AlreadyExists if the port is in use,
  // InvalidArgument if certificate and key are no pair in PEM; the messages say
  // what to do. Clients can connect when it returns.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(Options options, broker::Journal& journal,
                                                           trace::EventSink& sink, loop::Timer& timer);
  ~GrpcServer();

  uint16_t port() const;
  std::string target() const;  // "127.0.0.1:8085", for clients on this machine

  // Closes streams with UNAVAILABLE, answers what waits, journals the leases and
  // returns when nothing of the server runs any more. Idempotent, implied by the
  // destructor. Requires: not called on the broker's strand.
  void Stop();

  // Runs `task` between two events of the broker, returns when it has run: for
  // what belongs to the strand, like the recorder behind `sink`. Requires: not
  // called on the strand.
  void RunOnStrand(const std::function<void()>& task);
  broker::Counters counters();
  // Requires: options.test_clock; not called on the strand. Returns when all that
  // is due by then has fired.
  absl::Status AdvanceClock(Duration length);

  // What the server measured on itself.
  struct Figures {
    Duration longest_poll_cycle{0};  // the polling thread, away from its queue
    loop::Strand::Figures strand;
    size_t open_rpcs = 0;        // begun, and not forgotten by the broker yet
    uint64_t connections = 0;    // handed to gRPC; 0 under TLS, like the next two
    uint64_t http1_refused = 0;  // requests answered 501
    uint64_t dropped = 0;        // connections that were neither
  };
  Figures figures() const;
  // Starts the longest figures anew.
  void ForgetLongest();

 private:
  class Impl;
  explicit GrpcServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hopgap::server
