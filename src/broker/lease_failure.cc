#include "broker/lease_failure.h"

#include <algorithm>

#include "base/text.h"

namespace hopgap::broker {
namespace {

using Why = LeaseFailure::Why;

std::string Seconds(Duration length) {
  const int64_t millis = std::chrono::duration_cast<std::chrono::milliseconds>(length).count();
  const std::string fraction = StrCat(millis % 1000);
  return StrCat(millis / 1000, ".", std::string(3 - std::min<size_t>(3, fraction.size()), '0'), fraction, " s");
}

std::string_view Ending(Why why) {
  switch (why) {
    case Why::kMalformed: return "it is no ack id of this server";
    case Why::kOtherSubscription: return "it belongs to another subscription, or to an earlier one of this name";
    case Why::kExpired: return "its lease expired";
    case Why::kNacked: return "it was nacked";
    case Why::kRevoked: return "a message of its ordering key that was sent earlier came back, and this one with it";
    case Why::kHoldEnded: return "it was held for its receiver after a restart, and that ended";
    case Why::kSought: return "its delivery was void after a seek or a restart";
    case Why::kSuperseded: return "its lease ended";
    case Why::kFinished:
      return "its message is finished: acked by another delivery, dead-lettered, sought past or too old";
    case Why::kPlanned: return "the admin API asked for this failure";
    case Why::kUnordered: return "a message of its ordering key that was sent earlier is not acked yet";
  }
  return "";
}

}  // namespace

std::string Describe(const LeaseFailure& failure) {
  std::string text = StrCat(failure.ack ? "ack" : "modify", " of ack id ", failure.ack_id);
  if (failure.generation != 0) text += StrCat(" (delivery ", failure.generation, ")");
  if (!failure.message_id.empty()) text += StrCat(" of message ", failure.message_id);
  text += StrCat(": ", Ending(failure.why));
  if (failure.ago) text += StrCat(" ", Seconds(*failure.ago), " ago");
  if (failure.why == Why::kSuperseded) text += StrCat(", and delivery ", failure.newest, " of the message counts now");
  return text + ".";
}

}  // namespace hopgap::broker
