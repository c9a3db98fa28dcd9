// Plots: distributions with their bands, the shift function, messages over time.
import uPlot from "uplot";
import { h, s, table, details } from "./dom.js";
import { armStyle } from "./stages.js";
import { ms, signed, axis, interval, percent, length } from "./format.js";

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const font = '12px system-ui, "DejaVu Sans", sans-serif';

// Every plot that is shown, so that a change of theme or width draws them anew.
const plots = new Set();
export function redrawPlots() {
  for (const plot of plots) plot.draw();
}
let waiting = 0;
window.addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(redrawPlots, 120);
});
export const forgetPlots = () => { for (const plot of plots) plot.chart?.destroy(); plots.clear(); };

class Plot {
  constructor(label, make) {
    this.root = h("div", { class: "plot", role: "img", "aria-label": label });
    this.make = make;
    plots.add(this);
  }
  draw() {
    const width = this.root.clientWidth;
    if (width === 0) return;
    this.chart?.destroy();
    const { options, data } = this.make(width);
    this.chart = new uPlot({ width, height: 320, ...options }, data, this.root);
  }
}

const lineAxis = (more) => ({ stroke: color("--soft"), font, grid: { stroke: color("--grid"), width: 1 }, ticks: { stroke: color("--grid"), width: 1 }, ...more });

const withAlpha = (hex, alpha) => `${hex}${Math.round(alpha * 255).toString(16).padStart(2, "0")}`;

// P(X <= x) of a curve at x, as counts among all messages.
function shareAt(curve, x) {
  let low = 0, high = curve.ms.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (curve.ms[middle] <= x) low = middle + 1; else high = middle;
  }
  return low === 0 ? 0 : curve.up_to[low - 1] / curve.n;
}

// Arms: {name, label, index, curve}. `pick(arm, share)` when somebody clicks.
export function distribution(arms, less, pick) {
  const shown = arms.filter((arm) => arm.curve.ms.length > 0);
  const positive = shown.every((arm) => arm.curve.ms[0] > 0);
  const spread = shown.some((arm) => arm.curve.ms[arm.curve.ms.length - 1] > 8 * Math.max(arm.curve.ms[0], 1e-3)) || shown.length > 1;
  const xs = [...new Set(shown.flatMap((arm) => arm.curve.ms))].sort((a, b) => a - b);
  const plot = new Plot(`Empirical distribution of the time until handled ${less}, with 95 % bands, for ${shown.map((arm) => arm.label).join(", ")}. The table below has its numbers.`, (width) => {
    const series = [{ label: "time", value: (u, v) => (v === null ? "–" : axis(v)) }], data = [xs], bands = [];
    for (const arm of shown) {
      const style = armStyle(arm.index);
      // A curve and its band are drawn where the arm has messages, and not along the edges beside them.
      const first = arm.curve.ms[0], last = arm.curve.ms[arm.curve.ms.length - 1];
      const line = xs.map((x) => (x < first || x > last ? null : shareAt(arm.curve, x)));
      series.push({ label: arm.label, stroke: color(style.name), width: 2, dash: style.dash, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }), value: (u, v) => (v === null ? "–" : percent(v)) });
      data.push(line);
      for (const sign of [1, -1]) {
        series.push({ label: `${arm.label} band`, stroke: "transparent", width: 0, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }), class: "band" });
        data.push(line.map((p) => (p === null ? null : Math.min(1, Math.max(0, p + sign * arm.curve.band)))));
      }
      bands.push({ series: [series.length - 2, series.length - 1], fill: withAlpha(color(style.name), 0.16) });
    }
    return {
      data,
      options: {
        series, bands,
        scales: { x: positive && spread ? { distr: 3, time: false } : { time: false }, y: { range: [0, 1] } },
        axes: [lineAxis({ values: (u, splits) => splits.map((v) => (v === null ? "" : axis(v))), space: 60 }),
               lineAxis({ values: (u, splits) => splits.map((v) => `${Math.round(v * 100)} %`), size: 52 })],
        cursor: { drag: { x: true, y: false }, points: { size: 7 } },
        legend: { live: true },
        hooks: { ready: [(u) => {
          for (const row of u.root.querySelectorAll(".u-series.band")) row.remove();
          let down = null;
          u.over.addEventListener("mousedown", (event) => { down = event.clientX; });
          u.over.addEventListener("click", (event) => {
            if (down === null || Math.abs(event.clientX - down) > 4) return; // a zoom, no click
            const box = u.over.getBoundingClientRect();
            const x = u.posToVal(event.clientX - box.left, "x"), y = u.posToVal(event.clientY - box.top, "y");
            let best = null;
            for (const arm of shown) {
              const off = Math.abs(shareAt(arm.curve, x) - y);
              if (!best || off < best.off) best = { arm, off };
            }
            pick(best.arm, Math.max(0.0001, Math.min(1, y)));
          });
        }] },
      },
    };
  });
  return plot;
}

// Differences by decile: a point and its interval each; where a limit is missing the line ends in an arrow.
export function shiftFunction(comparison, label) {
  const width = 1120, height = 250, left = 70, right = 20, top = 14, bottom = 40;
  const finite = comparison.shift.filter((d) => typeof d.value === "number");
  if (finite.length === 0) return h("p", { class: "small soft" }, "No decile has a difference.");
  const ends = finite.flatMap((d) => [d.value, ...[d.low, d.high].filter((v) => typeof v === "number")]);
  const low = Math.min(0, ...ends), high = Math.max(0, ...ends), pad = (high - low || 1) * 0.12;
  const y = (v) => top + ((high + pad - v) / (high - low + 2 * pad)) * (height - top - bottom);
  const x = (p) => left + p * (width - left - right);
  const size = step5((high - low + 2 * pad) / 5);
  const grid = [];
  for (let v = Math.ceil((low - pad) / size) * size; v <= high + pad; v += size) {
    grid.push(s("line", { class: "gridline", x1: left, x2: width - right, y1: y(v), y2: y(v) }), s("text", { class: "soft", x: left - 8, y: y(v) + 4, "text-anchor": "end" }, `${v > 0 ? "+" : ""}${axis(Math.abs(v) < size / 1e6 ? 0 : v)}`));
  }
  const marks = finite.map((d) => {
    const known = [typeof d.low === "number", typeof d.high === "number"];
    const from = known[0] ? y(d.low) : height - bottom, to = known[1] ? y(d.high) : top;
    const arrow = (at, down) => s("path", { d: `M${x(d.p) - 4},${at} h8 l-4,${down ? 6 : -6} z`, fill: "var(--soft)" });
    return [
      s("line", { x1: x(d.p), x2: x(d.p), y1: from, y2: to, stroke: "var(--accent)", "stroke-width": 2, "stroke-opacity": 0.55, "stroke-dasharray": known[0] && known[1] ? null : "4 3" }),
      !known[0] && arrow(height - bottom - 6, true), !known[1] && arrow(top + 6, false),
      s("circle", { cx: x(d.p), cy: y(d.value), r: 5, fill: "var(--accent)", stroke: "var(--card)", "stroke-width": 1.5 }, s("title", {}, `p${Math.round(d.p * 100)}: ${signed(d.value)} ms ${interval(d.low, d.high, signed)}`)),
      s("text", { class: "soft", x: x(d.p), y: height - bottom + 18, "text-anchor": "middle" }, `p${Math.round(d.p * 100)}`),
    ];
  });
  const drawing = s("svg", { class: "drawing", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Shift function, ${label}: the difference at each decile. The table below has its numbers.` },
    grid, s("line", { class: "axisline", x1: left, x2: width - right, y1: y(0), y2: y(0) }), marks,
    s("text", { class: "soft", x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, "quantile of either arm"));
  return h("div", {}, drawing, details(`The same as a table: ${label}`, table(`${label}: difference of the quantiles until handled, ms [95 % interval; none: n has no such limit]`, ["quantile", "difference", "interval"],
    comparison.shift.map((d) => [`p${Math.round(d.p * 100)}`, signed(d.value), interval(d.low, d.high, signed)]))));
}

function step5(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5]) if (factor * power >= least) return factor * power;
  return 10 * power;
}

// Every message where it was due; a click shows it.
export function scatter(arms, less, pick) {
  const shown = arms.filter((arm) => arm.points.at_ms.length > 0);
  const positive = shown.every((arm) => arm.points.ms.every((v) => v > 0));
  const plot = new Plot(`Time until handled ${less} of every message, by when it was due, for ${shown.map((arm) => arm.label).join(", ")}.`, () => {
    const tables = shown.map((arm) => [arm.points.at_ms.map((v) => v / 1000), arm.points.ms]);
    const data = tables.length ? uPlot.join(tables.map(sorted)) : [[], []];
    const series = [{ label: "due after", value: (u, v) => (v === null ? "–" : `${v.toFixed(2)} s`) }];
    for (const arm of shown) {
      const style = armStyle(arm.index);
      series.push({ label: arm.label, stroke: color(style.name), paths: () => null, points: { show: true, size: 7, fill: style.dash.length ? color("--card") : color(style.name), width: 2 }, value: (u, v) => (v === null || v === undefined ? "–" : length(v)) });
    }
    return { data, options: {
      height: 280, series,
      scales: { x: { time: false }, y: positive ? { distr: 3 } : {} },
      axes: [lineAxis({ values: (u, splits) => splits.map((v) => `${+v.toFixed(3)} s`) }), lineAxis({ values: (u, splits) => splits.map((v) => (v === null ? "" : axis(v))), size: 74 })],
      cursor: { drag: { x: true, y: false } },
      hooks: { ready: [(u) => u.over.addEventListener("click", () => {
        const { idx } = u.cursor;
        if (idx === null || idx === undefined) return;
        let best = null;
        for (let i = 1; i < data.length; i++) {
          const v = data[i][idx];
          if (v === null || v === undefined) continue;
          const off = Math.abs(u.valToPos(v, "y") - u.cursor.top);
          if (!best || off < best.off) best = { arm: shown[i - 1], off };
        }
        if (!best) return;
        const at = best.arm.points.at_ms.findIndex((v) => Math.abs(v / 1000 - data[0][idx]) < 1e-9);
        if (at >= 0) pick(best.arm, best.arm.points.slot[at]);
      })] },
    } };
  });
  return plot;
}
// By time, as uPlot wants it; of equal instants the last is kept.
function sorted([xs, ys]) {
  const pairs = new Map();
  xs.forEach((x, i) => pairs.set(x, ys[i]));
  const keys = [...pairs.keys()].sort((a, b) => a - b);
  return [keys, keys.map((key) => pairs.get(key))];
}

// Time to the right, latency upwards, the darker the more messages.
export function heatMap(arm, page, less) {
  const width = 1120, height = 190, left = 76, right = 14, top = 10, bottom = 28;
  const columns = arm.over_time.heat.length, rows = arm.over_time.heat[0]?.length ?? 0;
  const most = Math.max(1, ...arm.over_time.heat.flat());
  const style = armStyle(arm.index);
  const cellWidth = (width - left - right) / columns, cellHeight = (height - top - bottom) / rows;
  const at = (row) => page.low_ms * (page.high_ms / page.low_ms) ** (row / rows);
  const cells = [];
  arm.over_time.heat.forEach((bin, i) => bin.forEach((n, row) => {
    if (n === 0) return;
    cells.push(s("rect", { x: left + i * cellWidth, y: height - bottom - (row + 1) * cellHeight, width: cellWidth, height: cellHeight, "shape-rendering": "crispEdges", fill: style.color, "fill-opacity": (0.12 + 0.88 * Math.sqrt(n / most)).toFixed(3) },
      s("title", {}, `${n} of ${arm.curve.n} messages due ${length((i * page.span_ms) / columns)} to ${length(((i + 1) * page.span_ms) / columns)}, ${ms(at(row))} to ${ms(at(row + 1))} ms ${less}`)));
  }));
  const labels = [0, rows / 2, rows].map((row) => s("text", { class: "soft", x: left - 6, y: height - bottom - row * cellHeight + 4, "text-anchor": "end" }, axis(at(row))));
  const times = [0, 0.25, 0.5, 0.75, 1].map((share) => s("text", { class: "soft", x: left + share * (width - left - right), y: height - 8, "text-anchor": share === 1 ? "end" : "middle" }, axis(share * page.span_ms)));
  return s("svg", { class: "drawing", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Heat map of ${arm.label}: messages by when they were due and how long they took ${less}; the darkest cell holds ${most} messages.` },
    s("rect", { x: left, y: top, width: width - left - right, height: height - top - bottom, fill: "none", stroke: "var(--grid)" }), cells, labels, times);
}

// The largest lateness of each bin of time.
export function lateness(arms, page) {
  const width = 1120, height = 130, left = 76, right = 14, top = 10, bottom = 26;
  const values = arms.flatMap((arm) => arm.over_time.late_max_ms).filter((v) => v !== null);
  const most = Math.max(0.001, ...values);
  const lines = arms.map((arm) => {
    const columns = arm.over_time.late_max_ms.length;
    const points = arm.over_time.late_max_ms.map((v, i) => (v === null ? null : [left + ((i + 0.5) / columns) * (width - left - right), height - bottom - (Math.max(0, v) / most) * (height - top - bottom)])).filter(Boolean);
    const style = armStyle(arm.index);
    return s("polyline", { points: points.map((p) => p.map((v) => v.toFixed(1)).join()).join(" "), fill: "none", stroke: style.color, "stroke-width": 1.8, "stroke-dasharray": style.dash.join(" ") || null });
  });
  return s("svg", { class: "drawing", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Send lateness over time; the largest is ${length(Math.max(0, ...values))}.` },
    s("line", { class: "axisline", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }), lines,
    s("text", { class: "soft", x: left - 6, y: top + 8, "text-anchor": "end" }, axis(most)), s("text", { class: "soft", x: left - 6, y: height - bottom + 4, "text-anchor": "end" }, "0 ms"),
    [0, 0.25, 0.5, 0.75, 1].map((share) => s("text", { class: "soft", x: left + share * (width - left - right), y: height - 8, "text-anchor": share === 1 ? "end" : "middle" }, axis(share * page.span_ms))));
}
