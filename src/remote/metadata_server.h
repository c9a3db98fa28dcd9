#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "remote/credentials.h"
#include "remote/http_client.h"

namespace hopgap::remote {

// The host of Google's metadata server: GCE_METADATA_HOST, or where it usually is.
std::string MetadataHost(const Credentials::Environment& environment);

// What it answers to a path such as "instance/zone". Unavailable if nobody is
// there: this is no machine of Google's, then. Blocks, 3 s for the connection.
absl::StatusOr<HttpResponse> AskMetadataServer(const std::string& host, const std::string& path);

// "europe-west1" where this machine stands; Unavailable if that is not known.
absl::StatusOr<std::string> MachineRegion(
    const Credentials::Environment& environment = Credentials::ProcessEnvironment);

}  // namespace hopgap::remote
