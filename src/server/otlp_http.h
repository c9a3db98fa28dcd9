#pragma once

#include "base/time.h"
#include "server/http_server.h"
#include "server/otlp_intake.h"

namespace hopgap::server {

// Answers one request of OTLP over HTTP: POST /v1/traces with protobuf or JSON,
// packed or not (the server unpacks). Waits for the intake. 404, 405 and 415 for
// what is none, 429 with Retry-After when there is no room.
HttpReply AnswerOtlpHttp(const HttpCall& call, OtlpIntake& intake, Duration retry_after);

}  // namespace hopgap::server
