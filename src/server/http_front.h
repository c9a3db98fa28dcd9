#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "server/admission.h"
#include "server/dispatcher.h"
#include "server/http_server.h"

namespace hopgap::server {

// What the broker's port answers to HTTP/1.1: `GET /` "Ok" as the official
// emulator does, `GET /healthz`, the admin API where it is asked for, and 501 for
// all else until the REST interface comes. Thread-safe.
class HttpFront {
 public:
  // `admin` outlives it; null: no admin API.
  HttpFront(Dispatcher* admin, Admission admission) : admin_(admin), admission_(std::move(admission)) {}

  HttpReply Answer(const HttpCall& call);

  uint64_t refused() const { return refused_; }  // answered 501

 private:
  HttpReply AnswerAdminCall(const HttpCall& call) const;

  Dispatcher* const admin_;
  const Admission admission_;
  std::atomic<uint64_t> refused_{0};
};

}  // namespace hopgap::server
