#include "broker/errors.h"

#include <chrono>
#include <cstdlib>

#include "base/text.h"
#include "pubsub/limits.h"
#include "pubsub/names.h"

namespace hopgap::broker {

using absl::InvalidArgumentError;

absl::Status ResourceNotFound(std::string_view name) {
  return absl::NotFoundError(StrCat("Resource not found (resource=", pubsub::ShortName(name), ")."));
}

absl::Status ResourceExists(std::string_view name) {
  return absl::AlreadyExistsError(
      StrCat("Resource already exists in the project (resource=", pubsub::ShortName(name), ")."));
}

absl::Status TooSmall(std::string_view what, int64_t value, int64_t minimum) {
  return InvalidArgumentError(StrCat("The value for ", what, " is too small. You passed ", value,
                                     " in the request, but the minimum value is ", minimum, "."));
}

absl::Status TooLarge(std::string_view what, uint64_t value, uint64_t maximum) {
  return InvalidArgumentError(StrCat("The value for ", what, " is too large. You passed ", value,
                                     " in the request, but the maximum value is ", maximum, "."));
}

std::string DurationText(Duration length) {
  using namespace std::chrono;
  const auto hours_ = duration_cast<hours>(length);
  const auto minutes_ = duration_cast<minutes>(length - hours_);
  const auto seconds_ = duration_cast<seconds>(length - hours_ - minutes_);
  const int64_t nanos = std::abs((length - hours_ - minutes_ - seconds_).count());
  std::string text = length < Duration{0} ? "-" : "";
  if (hours_.count() != 0) text += StrCat(std::abs(hours_.count()), "h");
  if (minutes_.count() != 0) text += StrCat(std::abs(minutes_.count()), "m");
  if (seconds_.count() == 0 && nanos == 0) return length == Duration{0} ? "0s" : text;
  text += StrCat(std::abs(seconds_.count()));
  if (nanos != 0) {
    std::string fraction = std::to_string(1'000'000'000 + nanos);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += "." + fraction.substr(1);
  }
  return text + "s";
}

absl::Status OutOfBounds(std::string_view what, Duration value, Duration minimum, Duration maximum) {
  return InvalidArgumentError(StrCat("The value for ", what, " is out of bounds. You passed ", DurationText(value),
                                     " in the request, but the value must be between ", DurationText(minimum), " and ",
                                     DurationText(maximum), "."));
}

absl::Status TooShort(std::string_view what, Duration value, Duration minimum) {
  return InvalidArgumentError(StrCat("The value for ", what, " is too small. You passed ", DurationText(value),
                                     " in the request, but the minimum value is ", DurationText(minimum), "."));
}

absl::Status PayloadTooLarge(uint64_t maximum) {
  return InvalidArgumentError(StrCat("Request payload size exceeds the limit: ", maximum, " bytes."));
}

absl::Status BadAckDeadline(int64_t seconds, int64_t minimum, int64_t maximum) {
  return InvalidArgumentError(StrCat("Invalid ack deadline given (ack_deadline=", seconds,
                                     "). The ack deadline must be between ", minimum, " and ", maximum, " seconds."));
}

absl::Status NoAckIds() { return InvalidArgumentError("You have not specified an ack ID in the request."); }

absl::Status MalformedAckId(std::string_view ack_id) {
  return InvalidArgumentError(StrCat("You have passed an invalid ack ID to the service (ack_id=", ack_id, ")."));
}

absl::Status SomeAckIdsInvalid(std::string_view first) {
  return InvalidArgumentError(
      StrCat("Some acknowledgement ids in the request were invalid. This could be because the acknowledgement ids have "
             "expired or the acknowledgement ids were malformed. The first: ",
             first));
}

absl::Status BadPageSize(int64_t page_size) {
  return InvalidArgumentError(StrCat("The value for page_size is out of bounds. You passed ", page_size,
                                     " in the request, but the value must be between ", pubsub::kPageSizeMin, " and ",
                                     pubsub::kPageSizeMax, "."));
}

absl::Status BadPageToken(std::string_view token) {
  return InvalidArgumentError(StrCat("Invalid page token given (token=", token, ")."));
}

absl::Status DetachedSubscription() { return absl::FailedPreconditionError("Subscription is detached."); }

absl::Status BadArgument(std::string_view argument) {
  return InvalidArgumentError(StrCat("You have passed an invalid argument to the service (argument=", argument, ")."));
}

absl::Status Stopping() { return absl::UnavailableError("The server is stopping."); }

absl::Status DiskFull() {
  return absl::ResourceExhaustedError(
      "The journal's disk is full. Acknowledge messages, seek or delete subscriptions, or free space on the disk, and "
      "retry with backoff.");
}

absl::Status LimitReached(std::string_view what, uint64_t maximum) {
  return absl::ResourceExhaustedError(StrCat(what, ": the limit of ", maximum, " is reached."));
}

}  // namespace hopgap::broker
