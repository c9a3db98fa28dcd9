// Messages drawn on one time axis, arm under arm: what client spans cover, what none covers, and the broker's instants.
import { s, h, as, table, details } from "./dom.js";
import { stages, fillOf, legend } from "./stages.js";
import { nanos, ms, step, axis } from "./format.js";
import { endOf, startOf } from "./message.js";

const [lateness, batching, rpc, gap, dispatch, work, ack] = stages;
const width = 1120, labelWidth = 118, rowHeight = 38, right = 14;

// One bar a stage, in the order of a hop's life. A delivery that overtook its publish's answer has a negative gap: it
// is drawn where it lies, from received to publish end, hollow.
function barsOf(hop, index) {
  const bars = [];
  const add = (stage, from, to, text, lane = 0) => { if (from !== null && to !== null && to !== from) bars.push({ stage, from, to, text, lane }); };
  if (index === 0) add(lateness, 0, hop.call, "sent late: scheduled → publish call");
  add(batching, hop.call, hop.publishStart, "publish call → first publish RPC");
  add(rpc, hop.publishStart, hop.publishEnd, "publish RPC");
  add(gap, hop.publishEnd, hop.received,
      hop.received < hop.publishEnd ? "negative: the message was received before the publisher had its answer"
                                    : "publish end → received; no client span covers this time");
  const parts = Object.entries(hop.dispatch).filter(([, length]) => length > 0).map(([name, length]) => `${name} ${nanos(length)}`);
  add(dispatch, hop.received, hop.callback, parts.length ? parts.join(", ") : "received → callback start");
  add(work, hop.callback, hop.workEnd, "the handler");
  if (hop.ackCalled !== null && hop.ackEnd !== null) {
    add(ack, hop.ackCalled, hop.ackEnd, hop.ackStart !== null ? `held back ${nanos(hop.ackStart - hop.ackCalled)}, then RPC ${nanos(hop.ackEnd - hop.ackStart)}` : "ack", 1);
  }
  return bars;
}

const instants = [
  ["accepted", "the broker read the publish request"], ["committed", "the broker's journal has it"],
  ["written", "the broker wrote it to the stream; the lease starts"], ["readPosted", "the client's stream began to read"],
];

export class Waterfall {
  constructor(tip) {
    this.tip = tip;
    this.root = h("div");
    this.from = 0;
    this.to = 1;
  }

  // Rows: {label, message}. All share the axis; a new set shows whole.
  show(rows, title) {
    this.rows = rows.filter((row) => row.message);
    this.missing = rows.filter((row) => !row.message).map((row) => row.label);
    this.title = title;
    this.start = Math.min(...this.rows.map((row) => startOf(row.message)));
    this.end = Math.max(...this.rows.map((row) => endOf(row.message)), this.start + 1);
    this.reset();
  }
  reset() {
    const pad = (this.end - this.start) * 0.01;
    this.from = this.start - pad;
    this.to = this.end + pad;
    this.draw();
  }
  // Zooms by `factor` around a share of the width; never beyond the whole, never below a microsecond.
  zoom(factor, around = 0.5) {
    const pad = (this.end - this.start) * 0.01;
    const length = Math.max(1000, Math.min((this.to - this.from) * factor, this.end - this.start + 2 * pad));
    const anchor = this.from + (this.to - this.from) * around;
    this.place(anchor - length * around, length);
  }
  pan(share) {
    this.place(this.from + (this.to - this.from) * share, this.to - this.from);
  }
  place(from, length) {
    const pad = (this.end - this.start) * 0.01;
    this.from = Math.max(this.start - pad, Math.min(from, this.end + pad - length));
    this.to = this.from + length;
    this.draw();
  }
  x(at) {
    return labelWidth + ((at - this.from) / (this.to - this.from)) * (width - labelWidth - right);
  }

  key(event) {
    const actions = { "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.reset(), ArrowLeft: () => this.pan(-0.15), ArrowRight: () => this.pan(0.15) };
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[event.key]();
    this.root.querySelector(".drawing")?.focus();
  }

  bar(bar, y, height) {
    const from = this.x(Math.min(bar.from, bar.to)), to = this.x(Math.max(bar.from, bar.to));
    if (to < labelWidth || from > width - right) return null;
    const left = Math.max(from, labelWidth), shown = Math.max(1.2, Math.min(to, width - right) - left);
    const negative = bar.to < bar.from;
    const text = `${bar.stage.name}: ${nanos(bar.to - bar.from)}`;
    const more = `from ${nanos(bar.from)} to ${nanos(bar.to)} after it was due. ${bar.text}`;
    const hollow = bar.stage === gap && negative;
    const node = s("rect", {
      class: "hot", x: left, y, width: shown, height, fill: hollow ? "none" : fillOf(bar.stage),
      stroke: hollow ? bar.stage.color : null, "stroke-width": hollow ? 2 : null, "stroke-dasharray": hollow ? "2 2" : null,
    }, s("title", {}, `${text}; ${more}`));
    this.tip.attach(node, text, more);
    const outline = bar.stage === gap && !negative && s("rect", { class: "uncovered", x: left, y, width: shown, height, "pointer-events": "none" });
    const length = nanos(bar.to - bar.from), whole = bar.stage === gap ? `uncovered ${length}` : `${bar.stage.name} ${length}`;
    const label = bar.lane === 0 && shown > 46 && s("text", { class: "onbar", x: left + 5, y: y + height / 2 + 4, "pointer-events": "none" }, shown > 8.2 * whole.length + 10 ? whole : shown > 8.2 * length.length + 8 ? length : "");
    return [node, outline, label];
  }

  hop(hop, index, y) {
    const out = [s("text", { x: labelWidth - 10, y: y + 14, "text-anchor": "end", class: "soft" }, `hop ${index + 1}`)];
    for (const bar of barsOf(hop, index)) out.push(this.bar(bar, bar.lane ? y + 24 : y, bar.lane ? 6 : 19));
    if (hop.modackStart !== null && hop.modackEnd !== null) {
      const from = this.x(hop.modackStart), to = this.x(hop.modackEnd);
      if (to >= labelWidth && from <= width - right) {
        const line = s("line", { class: "hot", x1: Math.max(from, labelWidth), x2: Math.min(to, width - right), y1: y + 21.5, y2: y + 21.5, stroke: "var(--ink)", "stroke-width": 2 });
        this.tip.attach(line, `receipt modack RPC: ${nanos(hop.modackEnd - hop.modackStart)}`, "the lease is being confirmed");
        out.push(line);
      }
    }
    for (const [key, about] of instants) {
      const at = hop[key];
      if (at === null || at < this.from || at > this.to) continue;
      const x = this.x(at);
      const mark = s("path", { class: "hot", d: `M${x - 4},${y - 4} h8 l-4,6 z`, fill: key === "written" ? "var(--ink)" : "var(--soft)" }, s("title", {}, `${key === "readPosted" ? "read posted" : key} at ${nanos(at)}: ${about}`));
      this.tip.attach(mark, `${key === "readPosted" ? "read posted" : key} at ${nanos(at)}`, about);
      out.push(mark);
    }
    return out;
  }

  draw() {
    let y = 26;
    const parts = [];
    for (const row of this.rows) {
      parts.push(s("text", { x: 2, y: y + 12, "font-weight": 650 }, row.label),
        s("text", { x: labelWidth, y: y + 12, class: "soft" },
          `slot ${row.message.slot}${row.note ? ` (${row.note})` : ""}: ${nanos(row.message.handled)} until handled${row.message.acked === null ? "" : `, ${nanos(row.message.acked)} until acked`}, work included`));
      y += 26;
      row.message.hops.forEach((hop, index) => { parts.push(this.hop(hop, index, y)); y += rowHeight; });
      y += 12;
    }
    const height = y + 4;
    const grid = [];
    const size = step(((this.to - this.from) * 80) / (width - labelWidth - right));
    for (let at = Math.ceil(this.from / size) * size; at <= this.to; at += size) {
      const x = this.x(at);
      grid.push(s("line", { class: "gridline", x1: x, x2: x, y1: 18, y2: height }), s("text", { class: "soft", x, y: 12, "text-anchor": "middle" }, axis(at / 1e6)));
    }
    const drawing = s("svg", { class: "drawing", viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "group", "aria-label": `${this.title}. Drawing; the same times are in the table below. Keys: plus and minus zoom, arrows move, 0 shows all.` }, grid, parts);
    drawing.addEventListener("keydown", (event) => this.key(event));
    this.mouse(drawing);
    this.root.replaceChildren(drawing, this.missing.length ? h("p", { class: "small soft" }, `Not drawn: ${this.missing.join(", ")} did not finish this slot, or the page holds no such message.`) : "", details("The same as a table", this.table()));
  }

  mouse(drawing) {
    const share = (event) => {
      const box = drawing.getBoundingClientRect();
      return (((event.clientX - box.left) / box.width) * width - labelWidth) / (width - labelWidth - right);
    };
    drawing.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey) return; // the page scrolls
      event.preventDefault();
      this.zoom(event.deltaY + event.deltaX < 0 ? 0.8 : 1.25, Math.max(0, Math.min(1, share(event))));
    }, { passive: false });
    let begin = null, marker = null;
    drawing.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" || event.button !== 0) return;
      begin = share(event);
      marker = s("rect", { y: 18, height: "100%", fill: "var(--accent)", "fill-opacity": 0.15, width: 0, "pointer-events": "none" });
      drawing.append(marker);
    });
    drawing.addEventListener("pointermove", (event) => {
      if (begin === null) return;
      const at = Math.max(0, Math.min(1, share(event)));
      const span = width - labelWidth - right;
      marker.setAttribute("x", labelWidth + Math.min(begin, at) * span);
      marker.setAttribute("width", Math.abs(at - begin) * span);
    });
    const finish = (event) => {
      if (begin === null) return;
      const from = Math.max(0, Math.min(begin, share(event))), to = Math.min(1, Math.max(begin, share(event)));
      begin = null;
      marker.remove();
      if (to - from > 0.01) this.place(this.from + (this.to - this.from) * from, (this.to - this.from) * (to - from));
    };
    drawing.addEventListener("pointerup", finish);
    drawing.addEventListener("pointerleave", finish);
    drawing.addEventListener("dblclick", () => this.reset());
  }

  table() {
    const columns = ["message, hop", ...stages.map((stage) => stage.name), "lease wait", as("text", "delivered")];
    const rows = [];
    for (const row of this.rows) {
      row.message.hops.forEach((hop, index) => rows.push([
        `${row.label}, hop ${index + 1}`, ...hop.stages.map((stage) => ms(stage.length / 1e6)), ms(hop.dispatch["lease wait"] / 1e6),
        as("text", `${hop.attempts === 1 ? "once" : `${hop.attempts} times`}, stream ${hop.stream}, ${hop.inResponse} in its response`),
      ]));
    }
    return table(`${this.title}: lengths in ms, one message each (n = 1: no interval)`, columns, rows);
  }
}

export function waterfallLegend() {
  const extra = [
    ["M4,2 h8 l-4,6 z", "the broker's instants: accepted, committed, written (black), read posted"],
    ["M0,6 h16", "receipt modack RPC"],
  ];
  return h("ul", { class: "legend" },
    legend(stages).map((item) => h("li", { title: item.about }, item.swatch, item.name === "delivery gap" ? "delivery gap: no client span covers it; hollow when negative" : item.name)),
    extra.map(([path, text]) => h("li", {}, s("svg", { width: 16, height: 12, "aria-hidden": "true" }, s("path", { d: path, fill: "var(--ink)", stroke: "var(--ink)", "stroke-width": 1.5 })), text)));
}
