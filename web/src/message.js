// Messages that can be drawn, read from the page's compact arrays.

export function readMessage(raw) {
  return {
    arm: raw.arm,
    slot: raw.slot,
    handled: raw.handled,
    acked: raw.acked,
    hops: raw.hops.map((hop) => {
      const [call, publishStart, publishEnd, received, callback, workEnd] = hop.c;
      const [accepted, committed, written, readPosted, modackStart, modackEnd, ackCalled, ackStart, ackEnd] = hop.o;
      const [lease, batching, flow, scheduler, other] = hop.d;
      return {
        call, publishStart, publishEnd, received, callback, workEnd,
        accepted, committed, written, readPosted, modackStart, modackEnd, ackCalled, ackStart, ackEnd,
        dispatch: { "lease wait": lease, "lease batching": batching, "flow control": flow, scheduler, other },
        stages: hop.s.map(([length, added, waited]) => ({ length, added, waited })),
        attempts: hop.a, inResponse: hop.r, stream: hop.m,
      };
    }),
  };
}

// Messages by arm and slot, and the marks by which people ask for them.
export class Messages {
  constructor(page) {
    this.page = page;
    this.bySlot = new Map();
    for (const raw of page.messages) this.bySlot.set(`${raw.arm} ${raw.slot}`, readMessage(raw));
  }
  at(arm, slot) {
    return this.bySlot.get(`${arm} ${slot}`);
  }
  marks(arm) {
    return this.page.arms.find((a) => a.name === arm)?.marks ?? [];
  }
  // The mark nearest to a share of the arm's finished messages.
  nearest(arm, share, finished) {
    const rank = Math.max(1, share * finished);
    let best = null;
    for (const mark of this.marks(arm)) {
      if (!best || Math.abs(mark.rank - rank) < Math.abs(best.rank - rank)) best = mark;
    }
    return best;
  }
}

export function endOf(message) {
  let end = message.handled;
  for (const hop of message.hops) end = Math.max(end, hop.publishEnd, hop.workEnd, hop.ackEnd ?? 0);
  return end;
}
export const startOf = (message) => Math.min(0, ...message.hops.map((hop) => hop.call));
