#include "server/otlp_intake.h"

#include <utility>

#include "base/text.h"
#include "formats/otlp_json.h"

namespace hopgap::server {
namespace {

absl::StatusOr<formats::OtlpTaken> Decode(std::string_view body, OtlpEncoding encoding, std::vector<trace::Span>& out) {
  if (encoding == OtlpEncoding::kProtobuf) return formats::DecodeOtlpRequest(body, out);
  if (absl::Status status = formats::OtlpLineReader().Read(body, out); !status.ok()) return status;
  return formats::OtlpTaken{.taken = out.size()};
}

}  // namespace

OtlpIntake::OtlpIntake(size_t queued_bytes_max, Take take)
    : queued_bytes_max_(queued_bytes_max), take_(std::move(take)), thread_([this] { Run(); }) {}

OtlpIntake::~OtlpIntake() { Stop(); }

bool OtlpIntake::Post(std::string body, OtlpEncoding encoding, Done done) {
  {
    const std::lock_guard lock(mu_);
    const bool fits = figures_.queued_bytes == 0 ||
                      (body.size() <= queued_bytes_max_ && figures_.queued_bytes <= queued_bytes_max_ - body.size());
    if (stopping_ || !fits) {
      ++figures_.turned_away;
      return false;
    }
    figures_.queued_bytes += body.size();
    queue_.push_back({std::move(body), encoding, std::move(done)});
  }
  wake_.notify_one();
  return true;
}

void OtlpIntake::Stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mu_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

OtlpIntake::Figures OtlpIntake::figures() const {
  const std::lock_guard lock(mu_);
  return figures_;
}

void OtlpIntake::Run() {
  std::unique_lock lock(mu_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Request request = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    const size_t bytes = request.body.size();
    const OtlpAnswer answer = Handle(request);
    lock.lock();
    figures_.queued_bytes -= bytes;  // before the answer: who is answered finds room
    lock.unlock();
    request.done(answer);
    lock.lock();
  }
}

OtlpAnswer OtlpIntake::Handle(const Request& request) {
  std::vector<trace::Span> spans;
  OtlpAnswer answer;
  const absl::StatusOr<formats::OtlpTaken> decoded = Decode(request.body, request.encoding, spans);
  const size_t count = spans.size();
  answer.status = decoded.status();
  if (decoded.ok() && count > 0) answer.status = take_(spans);
  const std::lock_guard lock(mu_);
  if (!decoded.ok()) {
    ++figures_.malformed;
  } else if (!answer.status.ok()) {
    ++figures_.failed;
  } else {
    ++figures_.requests;
    figures_.spans += count;
    figures_.rejected += decoded->rejected;
    answer.partial = {static_cast<int64_t>(decoded->rejected), decoded->rejected_why};
  }
  return answer;
}

}  // namespace hopgap::server
