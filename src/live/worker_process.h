#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/time.h"
#include "lab/hop_ledger.h"
#include "lab/options.h"
#include "lab/worker.h"
#include "live/append_file.h"
#include "live/station.h"

namespace hopgap::live {

// One hop in a process of its own, as docs/worker-contract.md says.
class WorkerProcess {
 public:
  struct Options {
    remote::Target target;                 // authorized
    std::string subscription, next_topic;  // full names; no next topic at the last hop
    std::string client = "go";             // of client::FindModel
    uint32_t streams = 4;
    int64_t max_outstanding_messages = 1000;
    WorkLaw work;
    lab::HandlerFailures failures;
    lab::PublishMode publish = lab::PublishMode::kAwait;
    std::string arm;  // for spans; may be empty
    int hop = 0;
    uint64_t seed = 0;  // of backoffs and tick phases
    ClockAnchor anchor;
    SpanMaker::Sink spans;    // none: no spans
    std::string ledger_file;  // appended to; empty: none
  };
  struct Figures {
    uint64_t handled = 0, acked = 0, ack_failures = 0, publish_failures = 0;
    uint64_t events_overflowed = 0;
  };

  // NotFound for an unknown client model, PermissionDenied if the ledger cannot
  // be written. The broker need not be there yet: streams are opened again until
  // it is.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(Options options);
  ~WorkerProcess();

  bool ready() const;           // every stream has answered
  std::string failure() const;  // why the subscriber stopped for good; empty while it works
  Figures figures() const;

  // Takes nothing more, lets handlers finish and their acks be answered, gives
  // the last spans out. False if something was still in flight at `give_up`.
  bool Stop(Instant give_up);

 private:
  class Book;
  explicit WorkerProcess(Options options);

  const Options options_;
  Station station_;
  std::unique_ptr<AppendFile> ledger_;
  std::unique_ptr<Book> book_;
  std::unique_ptr<lab::Worker> worker_;
};

}  // namespace hopgap::live
