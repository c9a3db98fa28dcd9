// The admin API's calls: what comes in is "METHOD PATH\nBODY".
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/admin_json.h"
#include "fuzz/fuzz.h"

std::vector<std::string> hopgap::fuzz::Seeds() {
  return {
      "GET /admin/v1/projects/p/subscriptions/s:leases\n", "POST /admin/v1/clock:advance\n{\"seconds\": 61}",
      "POST /admin/v1/projects/p/subscriptions/s:failNext\n{\"call\": \"ack\", \"kind\": \"transient\", \"times\": 2}",
      "POST /admin/v1/projects/p/subscriptions/s:pauseStreams\n{\"seconds\": 5}"};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view line = text.substr(0, text.find('\n'));
  const std::string_view body = line.size() < text.size() ? text.substr(line.size() + 1) : std::string_view();
  const size_t space = line.find(' ');
  const std::string_view method = line.substr(0, space);
  const std::string_view path = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
  const auto call = hopgap::formats::ParseAdminCall(method, path, body);
  // An error is shown to its sender: that must work for whatever was sent.
  if (!call.ok()) hopgap::formats::ErrorJson(400, call.status());
  return 0;
}
