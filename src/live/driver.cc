#include "live/driver.h"

#include <set>
#include <utility>

#include "base/check.h"
#include "base/system_clock.h"
#include "base/text.h"

namespace hopgap::live {

// One publisher or subscriber of the experiment: its connection, its streams.
class Driver::Endpoint final : public remote::Handler {
 public:
  Endpoint(Driver& driver, uint32_t id, std::unique_ptr<remote::Connection> connection)
      : driver_(driver), id_(id), connection_(std::move(connection)) {}

  void Perform(client::Action& action) {
    switch (action.kind) {
      case client::Action::Kind::kOpenStream: return Open(action);
      case client::Action::Kind::kRead: return At(action.stream).stream->Read();
      case client::Action::Kind::kSend:
        // A refused request is a keep-alive that is not needed or a stream that
        // has ended, which the pending read reports.
        At(action.stream).stream->Send(action.payload).IgnoreError();
        return;
      case client::Action::Kind::kHalfCloseStream: return At(action.stream).stream->HalfClose();
      case client::Action::Kind::kCancelStream: return At(action.stream).stream->Cancel();
      case client::Action::Kind::kCall:
        return connection_->Call(*this, action.call, action.method, action.payload, action.timeout);
      default: HOPGAP_CHECK(false, "not an order to the driver");
    }
  }

  void ProbeAfter(uint64_t call) { probe_after_.insert(call); }

  void Probe() {
    connection_->Probe([this](const absl::Status& status, Duration round_trip) {
      if (!status.ok()) return;
      driver_.Post([this, round_trip](Instant, lab::Commands&) { driver_.probes_.push_back(round_trip); });
    });
  }

  void OnResponse(uint64_t stream, Instant received, Instant read_posted,
                  pubsub::StreamingPullResponse response) override {
    driver_.Post(
        [this, stream, received, read_posted, response = std::move(response)](Instant now, lab::Commands& out) mutable {
          driver_.failing_since_ = kNever;
          if (!Current(stream)) return;
          driver_.logic_->OnResponse(now, id_, IndexOf(stream), received, read_posted, std::move(response), out);
        });
  }

  void OnStreamEnded(uint64_t stream, Instant, const absl::Status& status, const std::string&) override {
    driver_.Post([this, stream, status](Instant now, lab::Commands& out) {
      driver_.NoteEnd(now, status);
      if (!Current(stream)) return;
      driver_.logic_->OnStreamEnded(now, id_, IndexOf(stream), status, out);
    });
  }

  absl::Status WaitReady(Duration timeout) { return connection_->WaitReady(timeout); }

  void OnCallDone(uint64_t call, Instant, const absl::Status& status, const std::string& details,
                  pubsub::Bytes response) override {
    driver_.Post([this, call, status, details, response = std::move(response)](Instant now, lab::Commands& out) {
      driver_.NoteEnd(now, status);
      if (probe_after_.erase(call) > 0) Probe();
      driver_.logic_->OnCallDone(now, id_, call, status, details, response, out);
    });
  }

 private:
  // A stream is named by how often its index was opened before, and its index,
  // so that the last words of an old one are not taken for the new one's.
  struct Opened {
    remote::StreamRef stream;
    uint64_t opened = 0;
  };
  static uint32_t IndexOf(uint64_t name) { return static_cast<uint32_t>(name); }
  bool Current(uint64_t name) const { return streams_[IndexOf(name)].opened == name >> 32; }
  Opened& At(uint32_t index) {
    HOPGAP_CHECK(index < streams_.size() && streams_[index].stream, "the stream was opened");
    return streams_[index];
  }

  void Open(client::Action& action) {
    if (streams_.size() <= action.stream) streams_.resize(action.stream + 1);
    Opened& opened = streams_[action.stream];
    ++opened.opened;
    opened.stream = connection_->OpenStream(*this, (opened.opened << 32) | action.stream, std::move(action.payload));
  }

  Driver& driver_;
  const uint32_t id_;
  std::unique_ptr<remote::Connection> connection_;
  // On the strand:
  std::vector<Opened> streams_;     // by index
  std::set<uint64_t> probe_after_;  // receipt modacks whose answer an empty call follows
};

Driver::Driver(Options options, remote::Remote& remote, loop::Timer& timer)
    : options_(std::move(options)), remote_(remote), timer_(timer) {}

Driver::~Driver() { strand_.WaitIdle(); }

Instant Driver::Stamp() { return SteadyNow(); }

void Driver::Adopt(lab::Logic& logic) {
  logic_ = &logic;
  for (uint32_t id = 0; id < logic_->EndpointCount(); ++id) {
    endpoints_.push_back(std::make_unique<Endpoint>(*this, id, remote_.Connect(options_.target)));
  }
}

absl::Status Driver::ConnectAll(Duration timeout) {
  for (const auto& endpoint : endpoints_) {
    if (absl::Status status = endpoint->WaitReady(timeout); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void Driver::NoteEnd(Instant now, const absl::Status& status) {
  if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) {
    failing_since_ = kNever;
  } else if (failing_since_.load() == kNever) {
    failing_since_ = now;
  }
  if (failed_ || !remote::EndsARun(status, options_.target)) return;
  failure_ = remote::Explain(status, options_.target);
  failed_ = true;
}

absl::Status Driver::failure() {
  absl::Status failure;
  if (failed_) strand_.Run([&] { failure = failure_; });
  return failure;
}

void Driver::Release() {
  strand_.Run([&] { logic_ = nullptr; });
}

void Driver::Run(const Task& task) {
  strand_.Run([&] { Step(task); });
}

void Driver::Post(Task task) {
  strand_.Post([this, task = std::move(task)] { Step(task); });
}

void Driver::Step(const Task& task) {
  if (logic_ == nullptr) return;  // released: the run is over
  lab::Commands commands;
  task(SteadyNow(), commands);
  Perform(commands);
  ready_ = logic_->Ready();
  finished_ = logic_->Finished();
  stopped_ = logic_->Stopped();
  Arm();
}

void Driver::Perform(lab::Commands& commands) {
  for (lab::Command& command : commands) {
    Endpoint& endpoint = *endpoints_[command.endpoint];
    if (command.action.kind == client::Action::Kind::kStartCallback) {
      lab::Commands entered;
      logic_->OnHandlerEntered(SteadyNow(), command.endpoint, command.action.delivery, entered);
      Perform(entered);
      continue;
    }
    const bool modack = command.action.kind == client::Action::Kind::kCall &&
                        command.action.method == pubsub::Method::kModifyAckDeadline;
    if (modack && options_.probe && ++receipt_calls_ % 2 == 0) endpoint.ProbeAfter(command.action.call);
    endpoint.Perform(command.action);
  }
}

// Timers are only ever added: one that was overtaken by an earlier deadline
// fires and finds nothing to do.
void Driver::Arm() {
  const std::optional<Instant> next = logic_->NextDeadline();
  if (!next || *next >= armed_) return;
  armed_ = *next;
  timer_.Set(armed_, [this, at = armed_] { OnTimer(at); });
}

void Driver::OnTimer(Instant at) {
  Post([this, at](Instant now, lab::Commands& out) {
    if (armed_ == at) armed_ = kNever;
    logic_->OnDeadline(now, out);
    // What else is due gets a clock reading of its own.
    for (Instant next = SteadyNow(); logic_->NextDeadline().value_or(kNever) <= next; next = SteadyNow()) {
      Perform(out);
      out.clear();
      logic_->OnDeadline(next, out);
    }
  });
}

std::vector<Duration> Driver::TakeProbes() {
  std::vector<Duration> probes;
  strand_.Run([&] { probes = std::move(probes_); });
  return probes;
}

}  // namespace hopgap::live
