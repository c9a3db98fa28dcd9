#include "formats/otel_endpoint.h"

#include <optional>

#include "base/text.h"

namespace hopgap::formats {
namespace {

constexpr std::string_view kTracesPath = "v1/traces";
constexpr std::string_view kGrpcPort = "4317";

std::optional<unsigned> HexDigit(char digit) {
  if (digit >= '0' && digit <= '9') return static_cast<unsigned>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<unsigned>(digit - 'a' + 10);
  if (digit >= 'A' && digit <= 'F') return static_cast<unsigned>(digit - 'A' + 10);
  return std::nullopt;
}

std::optional<std::string> PercentDecoded(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    if (at + 2 >= text.size()) return std::nullopt;
    const std::optional<unsigned> high = HexDigit(text[at + 1]), low = HexDigit(text[at + 2]);
    if (!high || !low) return std::nullopt;
    out += static_cast<char>(*high << 4 | *low);
    at += 2;
  }
  return out;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

struct Parts {
  std::string_view scheme, authority, rest;  // rest begins with '/', '?', '#' or is empty
};

Parts PartsOf(std::string_view url) {
  Parts parts;
  if (const size_t end = url.find("://"); end != std::string_view::npos) {
    parts.scheme = url.substr(0, end);
    url.remove_prefix(end + 3);
  }
  const size_t rest = std::min(url.find_first_of("/?#"), url.size());
  parts.authority = url.substr(0, rest);
  parts.rest = url.substr(rest);
  return parts;
}

bool HasPort(std::string_view authority) {
  const size_t colon = authority.rfind(':');
  const size_t bracket = authority.rfind(']');
  return colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
}

bool GoodAuthority(std::string_view authority) {
  if (authority.find_first_of("@ ") != std::string_view::npos) return false;
  if (!HasPort(authority)) return !authority.empty();
  const size_t colon = authority.rfind(':');
  return colon > 0 && ParseNumber<uint16_t>(authority.substr(colon + 1)).value_or(0) != 0;
}

}  // namespace

absl::Status BadVariable(const OtelVariable& variable, std::string_view expected) {
  return absl::InvalidArgumentError(StrCat(variable.name, ": '", variable.value, "' is not ", expected));
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ReadPairs(const OtelVariable& variable) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string_view part : Split(variable.value, ',')) {
    const std::string_view member = Trimmed(part);
    if (member.empty()) continue;  // a comma at the end
    const size_t equals = member.find('=');
    const std::string_view key = Trimmed(member.substr(0, equals));
    if (equals == std::string_view::npos || key.empty()) {
      return BadVariable(variable, "a list of key=value with commas between");
    }
    std::optional<std::string> name = PercentDecoded(key);
    std::optional<std::string> value = PercentDecoded(Trimmed(member.substr(equals + 1)));
    if (!name || !value) return BadVariable(variable, "well encoded: '%' is written %25");
    if (value->find_first_of("\r\n") != std::string::npos) return BadVariable(variable, "free of line ends");
    pairs.emplace_back(*std::move(name), *std::move(value));
  }
  return pairs;
}

absl::Status SetEndpoint(const OtelVariable& variable, bool of_traces, bool insecure, OtelSettings& settings) {
  const Parts parts = PartsOf(variable.value);
  const bool grpc = settings.protocol == OtlpProtocol::kGrpc;
  const bool web = parts.scheme == "http" || parts.scheme == "https";
  if (!GoodAuthority(parts.authority) || (!web && (!grpc || !parts.scheme.empty()))) {
    return BadVariable(variable, grpc ? "http://HOST:PORT, https://HOST:PORT or HOST:PORT"
                                      : "http://HOST:PORT or https://HOST:PORT, maybe with a path");
  }
  if (grpc) {
    if (!parts.rest.empty() && parts.rest != "/") {
      return BadVariable(variable,
                         "an endpoint of gRPC, which has no path: HOST:PORT alone, or protocol http/protobuf");
    }
    settings.origin = HasPort(parts.authority) ? std::string(parts.authority) : StrCat(parts.authority, ":", kGrpcPort);
    settings.tls = parts.scheme == "https" || (parts.scheme.empty() && !insecure);
    return absl::OkStatus();
  }
  settings.origin = StrCat(parts.scheme, "://", parts.authority);
  settings.tls = parts.scheme == "https";
  if (of_traces) {
    settings.path = parts.rest.starts_with('/') ? std::string(parts.rest) : StrCat("/", parts.rest);
    return absl::OkStatus();
  }
  if (parts.rest.find_first_of("?#") != std::string_view::npos) {
    return BadVariable(variable, "a base URL: a query belongs into OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  }
  settings.path = StrCat(parts.rest, parts.rest.ends_with('/') ? "" : "/", kTracesPath);
  return absl::OkStatus();
}

}  // namespace hopgap::formats
