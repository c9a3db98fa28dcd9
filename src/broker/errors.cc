#include "broker/errors.h"

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

absl::Status TooSmall(std::string_view what, uint64_t value, uint64_t minimum) {
  return InvalidArgumentError(StrCat("The value for ", what, " is too small. You passed ", value,
                                     " in the request, but the minimum value is ", minimum, "."));
}

absl::Status TooLarge(std::string_view what, uint64_t value, uint64_t maximum) {
  return InvalidArgumentError(StrCat("The value for ", what, " is too large. You passed ", value,
                                     " in the request, but the maximum value is ", maximum, "."));
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

absl::Status SomeAckIdsInvalid() {
  return InvalidArgumentError(
      "Some acknowledgement ids in the request were invalid. This could be because the acknowledgement ids have "
      "expired or the acknowledgement ids were malformed.");
}

absl::Status BadPageSize(int64_t page_size) {
  return InvalidArgumentError(StrCat("The value for page_size is out of bounds. You passed ", page_size,
                                     " in the request, but the value must be between ", pubsub::kPageSizeMin, " and ",
                                     pubsub::kPageSizeMax, "."));
}

absl::Status BadPageToken(std::string_view token) {
  return InvalidArgumentError(StrCat("Invalid page token given (token=", token, ")."));
}

absl::Status BadArgument(std::string_view argument) {
  return InvalidArgumentError(StrCat("You have passed an invalid argument to the service (argument=", argument, ")."));
}

absl::Status Stopping() { return absl::UnavailableError("The server is stopping."); }

absl::Status LimitReached(std::string_view what, uint64_t maximum) {
  return absl::ResourceExhaustedError(StrCat(what, ": the limit of ", maximum, " is reached."));
}

}  // namespace hopgap::broker
