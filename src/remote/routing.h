#pragma once

#include <string>

#include "pubsub/api.h"
#include "pubsub/bytes.h"

namespace hopgap::remote {

inline constexpr char kRoutingHeader[] = "x-goog-request-params";

// The value of the routing header, "subscription=projects%2Fp%2Fsubscriptions%2Fs":
// the service routes by it, and official clients send it. Read from field 1 of
// the request, which names the resource in every method, or is the resource; empty
// if it is not there.
std::string RoutingParams(pubsub::Method method, const pubsub::Slices& request);

}  // namespace hopgap::remote
