#include "embedded/broker.h"

#include <random>
#include <utility>

#include "base/system_clock.h"
#include "formats/seed_file.h"
#include "loop/timer.h"
#include "server/grpc_server.h"
#include "server/seeding.h"
#include "store/memory_journal.h"
#include "trace/event.h"

namespace hopgap::embedded {
namespace {

HashKey RandomKey() {
  std::random_device device;
  const auto word = [&] { return (static_cast<uint64_t>(device()) << 32) | device(); };
  return {word(), word()};
}

}  // namespace

class Broker::Impl {
 public:
  absl::Status Start(const Options& options) {
    server::GrpcServer::Options server;
    server.port = options.port;
    server.broker.anchor = ReadAnchor();
    server.broker.ack_id_key = RandomKey();
    server.admin = options.admin || options.test_clock;
    server.test_clock = options.test_clock;
    if (!options.seed.empty()) {
      absl::StatusOr<formats::Seed> seed = formats::ParseSeed(options.seed);
      if (!seed.ok()) return seed.status();
      server.prepare = [seed = *std::move(seed)](server::LocalCalls& broker) {
        return server::ApplySeed(seed, broker).status();
      };
    }
    absl::StatusOr<std::unique_ptr<server::GrpcServer>> started =
        server::GrpcServer::Start(std::move(server), journal_, sink_, timer_);
    if (!started.ok()) return started.status();
    server_ = *std::move(started);
    return absl::OkStatus();
  }

  server::GrpcServer& server() { return *server_; }

 private:
  loop::Timer timer_;
  store::MemoryJournal journal_;
  trace::NullSink sink_;
  std::unique_ptr<server::GrpcServer> server_;  // last: it uses all of the above
};

Broker::Broker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Broker::~Broker() = default;

absl::StatusOr<std::unique_ptr<Broker>> Broker::Start(const Options& options) {
  auto impl = std::make_unique<Impl>();
  if (absl::Status status = impl->Start(options); !status.ok()) return status;
  return std::unique_ptr<Broker>(new Broker(std::move(impl)));
}

std::string Broker::endpoint() const { return impl_->server().target(); }

absl::Status Broker::AdvanceClock(std::chrono::nanoseconds length) { return impl_->server().AdvanceClock(length); }

}  // namespace hopgap::embedded
