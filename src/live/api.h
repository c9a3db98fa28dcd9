#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/time.h"
#include "lab/sender.h"
#include "live/station.h"
#include "server/http_server.h"

namespace hopgap::live {

// Headers of `POST /send` beside the standard's traceparent; hopgap's own load
// sets them, others need not.
inline constexpr std::string_view kSlotHeader = "Hopgap-Slot";                      // names the message in its run
inline constexpr std::string_view kScheduledHeader = "Hopgap-Scheduled-Unix-Nano";  // when it was due
inline constexpr std::string_view kTraceparentHeader = "traceparent";

// The first process of a chain: `POST /send` publishes one message and answers
// once the publish has its result, `GET /healthz` says that the process lives,
// `GET /readyz` that the broker answers and the topic is there.
class Api {
 public:
  // Publishes without a result, at most; further calls are answered 503.
  static constexpr size_t kInFlightMax = 10'000;
  // Connections served at once; one more waits.
  static constexpr size_t kConnectionsMax = 128;
  // A message's body, at most; beyond: 413.
  static constexpr size_t kBodyBytesMax = 9 << 20;

  struct Options {
    remote::Target target;  // authorized
    std::string topic;      // full name
    std::string client = "go";
    std::string host = "127.0.0.1";
    uint16_t port = 8080;  // 0: any free one
    std::string arm;       // for spans; may be empty
    uint64_t seed = 0;
    ClockAnchor anchor;
    SpanMaker::Sink spans;
  };
  struct Figures {
    uint64_t published = 0, failed = 0, refused = 0;
  };

  // AlreadyExists if the port is in use, NotFound for an unknown client model.
  static absl::StatusOr<std::unique_ptr<Api>> Start(Options options);
  ~Api();

  uint16_t port() const { return http_->port(); }
  Figures figures() const { return {published_, failed_, refused_}; }

  // Refuses further messages, answers those that came, gives the last spans out.
  // False if some had no result at `give_up`.
  bool Stop(Instant give_up);

 private:
  class Waiting;
  explicit Api(Options options);
  server::HttpReply Answer(const server::HttpCall& call);
  server::HttpReply Send(const server::HttpCall& call);
  server::HttpReply Ready();

  const Options options_;
  Station station_;
  std::unique_ptr<lab::Sender> sender_;
  std::unique_ptr<Waiting> waiting_;
  std::atomic<uint64_t> next_slot_{0}, in_flight_{0}, published_{0}, failed_{0}, refused_{0};
  std::atomic<bool> stopping_{false};
  std::unique_ptr<server::HttpServer> http_;  // first to go: its threads use all of the above
};

}  // namespace hopgap::live
