#pragma once

#include <span>

#include "trace/trace_view.h"

namespace hopgap::trace {

// The numbers of one hop, all but send lateness, which belongs to the path.
// `siblings`: every delivery of this message, the path's among them.
// Instants that were not seen set bits of HopTimes::missing.
// Requires: the delivery's receipt and callback are seen.
HopTimes TimesOfHop(const MessageView& message, const DeliveryView& delivery,
                    std::span<const DeliveryView* const> siblings, WallTime work_end);

// The third view (added, waited) of a hop whose lengths and parts are there.
void SplitStages(const MessageView& message, const DeliveryView& delivery,
                 std::span<const DeliveryView* const> siblings, HopTimes& hop);

// When the broker wrote it; the receipt where that is not known.
WallTime SentAt(const DeliveryView& delivery);
// The delivery of the same message to the same subscription that was sent first.
const DeliveryView& FirstOf(const DeliveryView& delivery, std::span<const DeliveryView* const> siblings);

// How long a written response lay before our client asked for it (0: not
// known): the client was still busy with the stream's previous response.
Duration StreamWait(const DeliveryView& delivery);

}  // namespace hopgap::trace
