// The sections of a run's page, in the order in which a reader asks.
import { h, s, as, table, details } from "./dom.js";
import { stages, pathStages, fillOf, legend, armStyle } from "./stages.js";
import { ms, signed, length, interval, percent, count, axis } from "./format.js";
import { distribution, shiftFunction, scatter, heatMap, lateness } from "./charts.js";
import { Waterfall, waterfallLegend } from "./waterfall.js";

const section = (id, title, lead, ...children) =>
  h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), lead && h("p", { class: "lead" }, lead), children);
const badge = (text, kind) => h("span", { class: `badge ${kind}` }, text);

export function lessOf(summary) {
  const work = summary.configuration.work_ms_all_hops;
  if (summary.configuration.work) return "less each message's own draw of work";
  return work ? `less ${length(work)} of work` : "work included";
}

// ---- 1 ---------------------------------------------------------------------------------------------------------------

// A number and its unit stay on one line.
const together = (text) => text.replace(/([\d.]) (ms|s|%)(?![a-z])/g, "$1\u00a0$2");

function badges(run) {
  const { summary } = run;
  const out = [];
  if (summary.verdict) out.push(summary.verdict.valid ? badge("✓ VALID RUN", "good") : badge("✗ INVALID RUN", "bad"));
  else out.push(badge("from spans: no verdict", "plainbadge"));
  out.push(summary.simulated ? badge("SIMULATED: predicted, not measured", "warn") : null);
  out.push(summary.ended_early ? badge(`ended early: ${summary.ended_early_why}`, "warn") : null);
  out.push(run.page.is_sample ? badge(`spans of ${summary.configuration.spans_of} of ${summary.configuration.spans_total} messages`, "warn") : null);
  for (const t of run.summary.thresholds) out.push(badge(`${{ pass: "✓", fail: "✗", inconclusive: "?" }[t.outcome]} ${t.threshold}: ${t.outcome}`, { pass: "good", fail: "bad", inconclusive: "warn" }[t.outcome]));
  return h("div", { class: "badges" }, out);
}

// How long handlers work, in the words of --work.
function workOf(c) {
  const [, law, typical, , p99] = /^(\w+):(\d+)ns(,p99=(\d+)ns)?$/.exec(c.work ?? "") ?? [];
  if (!law) return length(c.work_ms);
  return law === "exponential" ? `${length(typical / 1e6)} (mean of an exponential law)` : `${length(typical / 1e6)} (median of a lognormal law, p99 ${length(p99 / 1e6)})`;
}

// How the messages came, in the words of --arrival; evenly unless it says otherwise.
function loadOf(c) {
  if (!c.arrival) return `${c.rate_per_second}/s`;
  return c.arrival === "poisson" ? `${c.rate_per_second}/s at random (Poisson)` : `${c.arrival.replace("ramp:", "").replace("-", " to ")}/s, in a straight ramp`;
}

function facts(run) {
  const { summary } = run, c = summary.configuration;
  const group = (name) => summary.arms.filter((arm) => arm.group === name).map((arm) => labelOf(arm)).join(", ");
  const list = [["compared", run.page.groups.map((name) => `${name}: ${group(name)}`).join(" · ")]];
  if (c.rate_per_second !== null) {
    list.push(["load", `${loadOf(c)}, ${count(c.messages, "message")} an arm, ${count(c.streams, "stream")}`],
      ...(c.message_bytes ? [["messages", `${count(c.message_bytes, "byte")} of data each`]] : []),
      ["chain", `${count(c.hops, "hop")} × ${workOf(c)} of work${c.handler_failures ? `; ${+(100 * c.handler_failures).toPrecision(6)} % of handlings fail, as asked` : ""}`],
      ["put in", c.added.length ? `delays of profile ${c.profile}: input, not measured` : "nothing"]);
  } else {
    list.push(["source", `${summary.spans_only.source}: ${count(summary.spans_only.spans, "span")}, ${summary.spans_only.explained} of ${count(summary.spans_only.traces, "trace")} explained`], ["chain", count(c.hops, "hop")]);
  }
  return h("dl", { class: "facts" }, list.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))));
}

export function answer(run) {
  const { summary, page } = run;
  const reasons = summary.verdict?.reasons ?? [];
  return section("answer", "The answer", null,
    badges(run),
    page.answer.map((sentence) => h("p", { class: "big" }, together(sentence))),
    reasons.length > 0 && h("div", {}, h("p", {}, "Why the run is invalid: its figures also measure what went wrong."), h("ul", { class: "reasons" }, reasons.map((reason) => h("li", {}, reason)))),
    facts(run),
    thresholds(run),
    page.words.length > 0 && details("In more words", page.words.map((text) => h("p", {}, text))));
}

function thresholds(run) {
  if (run.summary.thresholds.length === 0) return null;
  const unit = (t, v) => (v === null ? "none" : t.unit === "ms" ? length(v) : ms(v));
  return table("Thresholds, judged on the 95 % interval", ["threshold", "n", "value", "interval", "outcome", as("text", "why")],
    run.summary.thresholds.map((t) => [as("code", t.threshold), t.n, unit(t, t.value), interval(t.low, t.high, (v) => unit(t, v)), as({ pass: "good", fail: "bad", inconclusive: "warn" }[t.outcome], t.outcome.toUpperCase()), as("text", t.why ?? "")]));
}

// ---- 2 ---------------------------------------------------------------------------------------------------------------

export const labelOf = (arm) => (arm.name.startsWith(`${arm.group}.`) ? arm.name.slice(arm.group.length + 1) : arm.name);

// The page's arms of a group, each with its place in it: the colour of a kind is the same in every group.
function armsOf(run, group) {
  const names = run.summary.arms.filter((arm) => arm.group === group).map((arm) => arm.name);
  return run.page.arms.filter((arm) => names.includes(arm.name)).map((arm) => ({ ...arm, label: arm.name, index: names.indexOf(arm.name), points: arm.over_time }));
}

function estimate(e) {
  if (!e) return "–";
  if (!e.supported) return h("span", { class: "ci" }, `needs n = ${e.n_needed}`);
  const value = e.value === null ? "∞" : ms(e.value);
  const low = e.low === null ? "none" : ms(e.low);
  const high = e.high_is_infinite ? "∞" : e.high === null ? "none" : ms(e.high);
  return [value, " ", h("span", { class: "ci" }, e.high === null && !e.high_is_infinite && e.low !== null ? `≥ ${low}` : `[${low}, ${high}]`)];
}

function endToEndTable(summary, key, name) {
  const rows = summary.arms.map((arm) => {
    const e = arm[key];
    return [arm.name, e.n, e.unfinished || "0", estimate(e.p50), estimate(e.p90), estimate(e.p95), estimate(e.p99), e.max === null ? (e.n ? "∞" : "–") : ms(e.max)];
  });
  return table(`${name}, ${lessOf(summary)}: ms [95 % interval]; ≥: lower limit alone, n has no upper one`, ["arm", "n", "unfinished", "p50", "p90", "p95", "p99", "max"], rows);
}

function differenceTable(run) {
  const wholes = run.summary.difference.filter((d) => d.stage.startsWith("until_"));
  if (wholes.length === 0) return null;
  const words = { 1: "slower", "-1": "faster", 0: "not resolved" };
  return table("Arm less baseline, paired by arrival slot: ms [95 % interval]", ["arm − baseline", "until", "pairs", "median difference", "mean difference", "slower in", "faster in", "the arm is", "smallest median shift seen in 8 of 10 such runs"],
    wholes.map((d) => {
      const more = run.page.comparisons.find((c) => c.arm === d.arm);
      return [`${d.arm} − ${d.baseline}`, d.stage.replace("until_", ""), d.n,
        d.p50 === null ? d.p50_infinite ?? "–" : [signed(d.p50), " ", h("span", { class: "ci" }, interval(d.low, d.high, signed))],
        d.mean === null ? "–" : [signed(d.mean), " ", h("span", { class: "ci" }, interval(d.mean_low, d.mean_high, signed))],
        d.pairs_slower, d.pairs_faster, words[d.sign], d.stage === "until_handled" && more ? length(more.detectable) : ""];
    }));
}

function unpairedTable(run) {
  const rows = run.page.comparisons.filter((c) => c.unpaired);
  if (rows.length === 0) return null;
  return table("Arm less baseline, unpaired (these traces share no arrival slots): Hodges-Lehmann shift, ms [95 % interval]", ["arm − baseline", "n", "shift"],
    rows.map((c) => [`${c.arm} − ${c.baseline}`, c.n ?? run.summary.arms.find((a) => a.name === c.arm).until_handled_less_work_ms.n, [signed(c.unpaired.value), " ", h("span", { class: "ci" }, interval(c.unpaired.low, c.unpaired.high, signed))]]));
}

export function endToEnd(run, state) {
  const { summary, page } = run;
  const less = lessOf(summary);
  const shown = armsOf(run, state.group);
  const plot = distribution(shown, less, (arm, share) => state.pickShare(arm.name, share, arm.curve.ms.length ? arm.curve.up_to[arm.curve.up_to.length - 1] : 0, arm.curve.n));
  return section("end-to-end", "End to end", "How long a message takes from the moment it was due until its last handler returned, arm by arm.",
    endToEndTable(summary, "until_handled_less_work_ms", "Until handled"),
    details("Until acked: what a trace viewer's total shows", endToEndTable(summary, "until_acked_less_work_ms", "Until acked")),
    h("h3", {}, `Distribution, ${less}`),
    state.groupControl("distribution"),
    plot.root,
    h("p", { class: "small soft" }, "Shaded: the 95 % band that holds a whole curve (Dvoretzky-Kiefer-Wolfowitz; ", shown.map((arm) => `${arm.label} n = ${arm.curve.n}`).join(", "), "). Click a curve to see the message at that percentile; drag to zoom, double-click for all."),
    differenceTable(run), unpairedTable(run),
    page.comparisons.filter((c) => summary.arms.find((a) => a.name === c.arm).group === state.group).map((c) => [
      h("h3", {}, `Shift function: ${c.arm} − ${c.baseline}`),
      shiftFunction(c, `${c.arm} − ${c.baseline}`)]),
    page.comparisons.length > 0 && h("p", { class: "small soft" }, "How much longer the arm's quantile is than the baseline's. A level line: everything is later by as much; a rising one: the tail is worse. Dashed with an arrow: this n has no limit on that side. Pointwise, pairing not used."));
}

// ---- 3 ---------------------------------------------------------------------------------------------------------------

// Rows of stacked bars; what is negative lies left of zero.
function stackedBars(rows, label) {
  const width = 1120, left = 190, right = 90, height = 26, top = 24;
  const sums = rows.map((row) => ({ up: row.parts.reduce((sum, v) => sum + Math.max(0, v), 0), down: row.parts.reduce((sum, v) => sum + Math.min(0, v), 0) }));
  const high = Math.max(1e-6, ...sums.map((sum) => sum.up)), low = Math.min(0, ...sums.map((sum) => sum.down));
  const x = (v) => left + ((v - low) / (high - low)) * (width - left - right);
  const nodes = rows.map((row, i) => {
    const y = top + i * (height + 8) + (row.gap ? 0 : 0);
    let up = 0, down = 0;
    const bars = row.parts.map((value, index) => {
      if (value === 0) return null;
      const from = value > 0 ? up : down + value;
      if (value > 0) up += value; else down += value;
      const stage = stages[index], w = x(from + Math.abs(value)) - x(from);
      return [s("rect", { class: "hot", x: x(from), y, width: Math.max(0.6, w), height, fill: fillOf(stage) }, s("title", {}, `${row.label}: ${stage.name} ${length(value)} (mean of ${row.n})`)),
        w > 64 && s("text", { x: x(from) + w / 2, y: y + 17, "text-anchor": "middle", "pointer-events": "none", style: `fill:${index === 1 || index === 3 || index === 6 ? "#1b1f24" : "#fff"};font-weight:650` }, ms(value))];
    });
    return [s("text", { x: left - 10, y: y + 17, "text-anchor": "end" }, row.label), bars, s("text", { class: "soft", x: x(up) + 8, y: y + 17 }, length(row.total))];
  });
  const total = top + rows.length * (height + 8);
  return s("svg", { class: "drawing", viewBox: `0 0 ${width} ${total + 4}`, role: "img", "aria-label": `${label}. The table below has its numbers.` },
    s("line", { class: "axisline", x1: x(0), x2: x(0), y1: top - 6, y2: total }), s("text", { class: "soft", x: x(0), y: 12, "text-anchor": "middle" }, "0"), nodes);
}

function stageLegend(list) {
  return h("ul", { class: "legend" }, legend(list).map((item) => h("li", { title: item.about }, item.swatch, `${item.name} (${item.about})`)));
}

// A row of means without the configured work.
function meanRow(run, arm, label) {
  const work = arm.asked_work_ms_mean ?? 0;
  const parts = pathStages.map((stage) => (arm.stages_ms[stage.key]?.mean ?? 0) - (stage.key === "work" ? work : 0));
  return { label, parts, n: arm.stages_n, total: (arm.until_handled_ms_mean ?? 0) - work };
}

function quantile(v, key) {
  const low = v[`${key}_low`], high = v[`${key}_high`];
  return v[key] === null ? "–" : [ms(v[key]), " ", h("span", { class: "ci" }, interval(low, high))];
}

function stageTable(run, group) {
  const { summary } = run;
  const arms = summary.arms.filter((arm) => arm.group === group && arm.stages_n > 0);
  const rows = [];
  for (const arm of arms) {
    rows.push(Object.assign([`${arm.name}, n = ${arm.stages_n}`, "", "", "", "", "", "", "", ""], { class: "group" }));
    for (const stage of stages) {
      const v = arm.stages_ms[stage.key];
      if (!v) continue;
      const d = summary.difference.find((one) => one.arm === arm.name && one.stage === stage.key);
      rows.push([stage.name, ms(v.mean), quantile(v, "p50"), quantile(v, "p95"), ms(v.added_mean), ms(v.waited_mean), ms(v.machine_mean),
        d && d.p50 !== null ? [signed(d.p50), " ", h("span", { class: "ci" }, interval(d.low, d.high, signed))] : "", d ? { 1: "slower", "-1": "faster", 0: "not resolved" }[d.sign] : ""]);
      for (const [part, mean] of Object.entries(v.parts ?? {})) if (mean) rows.push([h("span", { class: "soft" }, `  of it ${part.replace("_", " ")}`), h("span", { class: "soft" }, ms(mean)), "", "", "", "", "", "", ""]);
    }
    rows.push(Object.assign(["until handled", ms(arm.until_handled_ms_mean), "", "", "", "", "", "", ""], { class: "total" }));
    rows.push(["remainder", ms(arm.remainder_ms_mean), "", "", "", "", "", "", ""]);
  }
  return table("Stages, sums over the hops, ms: means add up to until handled, quantiles do not. Difference: median of the pairs, arm less baseline [95 % interval]",
    ["stage", "mean", "p50", "p95", "of mean: added", "waited", "machine", "difference", "the arm is"], rows);
}

function hopTable(run, group) {
  const arms = run.summary.arms.filter((arm) => arm.group === group && arm.stages_n > 0);
  const rows = arms.flatMap((arm) => arm.hops_ms.map((hop, i) => [`${arm.name}, hop ${i + 1}`, arm.stages_n, ...stages.map((stage) => ms(hop[stage.key]?.mean ?? null))]));
  return table("Each hop: mean ms", ["arm, hop", "n", ...stages.map((stage) => stage.name)], rows);
}

function hopBars(run, group) {
  const hops = run.summary.configuration.hops;
  const rows = run.summary.arms.filter((arm) => arm.group === group && arm.stages_n > 0).flatMap((arm) => arm.hops_ms.map((hop, i) => {
    const parts = pathStages.map((stage) => (hop[stage.key]?.mean ?? 0) - (stage.key === "work" ? (arm.asked_work_ms_mean ?? 0) / hops : 0));
    return { label: `${labelOf(arm)}, hop ${i + 1}`, parts, n: arm.stages_n, total: parts.reduce((a, b) => a + b, 0) };
  }));
  return stackedBars(rows, `Mean stages of each hop, ${lessOf(run.summary)}`);
}

function serverTable(run, group) {
  const rows = run.summary.arms.filter((arm) => arm.group === group && arm.server_view_ms.n > 0).map((arm) => {
    const v = arm.server_view_ms;
    return [arm.name, v.n, ms(v.accept), ms(v.commit), ms(v.queue), ms(v.stream_wait), ms(v.wire), `${v.deliveries_queued} of ${v.deliveries}`, ms(v.stream_wait_max)];
  });
  if (rows.length === 0) return null;
  return details("The broker's view: publish start → received", table("Means in ms, summed over the hops; a second view, never added to the stages", ["arm", "n", "accept", "commit", "queue", "stream wait", "wire", "waited behind another", "longest stream wait"], rows));
}

function originBars(run, group) {
  const rows = run.summary.arms.filter((arm) => arm.group === group && arm.stages_n > 0).map((arm) => {
    const sum = (key) => pathStages.reduce((total, stage) => total + (arm.stages_ms[stage.key]?.[key] ?? 0), 0);
    return [arm.name, arm.stages_n, ms(sum("added_mean")), ms(sum("waited_mean")), ms(sum("machine_mean") - (arm.asked_work_ms_mean ?? 0)), ms(arm.until_handled_ms_mean - (arm.asked_work_ms_mean ?? 0))];
  });
  return table(`Where it came from: mean ms over the path, ${lessOf(run.summary)}`, ["arm", "n", "added: put in by the profile", "waited: held back by rule or queue", "machine: the rest", "until handled"], rows);
}

export function whereItWent(run, state) {
  const { summary, page } = run, group = state.group;
  const arms = summary.arms.filter((arm) => arm.group === group && arm.stages_n > 0);
  const rows = arms.flatMap((arm) => [meanRow(run, arm, `${labelOf(arm)}: mean of all`),
    ...page.arms.find((a) => a.name === arm.name).compositions.map((c) => ({ label: `${labelOf(arm)}: near ${c.quantile}`, n: c.n, total: c.mean, parts: c.stages.slice(0, 6).map((v, i) => v - (i === 5 ? c.asked : 0)) }))]);
  const differences = arms.filter((arm) => summary.difference.some((d) => d.arm === arm.name)).map((arm) => {
    const parts = pathStages.map((stage) => summary.difference.find((d) => d.arm === arm.name && d.stage === stage.key)?.mean ?? 0);
    const whole = summary.difference.find((d) => d.arm === arm.name && d.stage === "until_handled");
    return { label: `${labelOf(arm)} − ${labelOf(summary.arms.find((a) => a.name === whole.baseline))}`, parts, n: whole.mean_n, total: whole.mean };
  });
  return section("where", "Where it went", `The stages of a path add up to the whole, exactly; ${lessOf(summary)} here.`,
    state.groupControl("where"),
    stageLegend(pathStages),
    stackedBars(rows, `Composition of the mean message and of those near p50, p90 and p99, ${lessOf(summary)}`),
    h("p", { class: "small soft" }, "Near a quantile: the mean of the messages whose rank is within 2.5 % of n of it (at least one to each side). Left of the line: a delivery that overtook its publish's answer."),
    table(`Compositions, ms, ${lessOf(summary)}`, ["messages", "n", ...pathStages.map((stage) => stage.name), "sum"], rows.map((row) => [row.label, row.n, ...row.parts.map(ms), ms(row.total)])),
    differences.length > 0 && [h("h3", {}, "The difference, stage by stage"), stackedBars(differences, "Mean difference of the pairs, by stage"), table("Mean difference of the pairs, ms", ["arm − baseline", "pairs", ...pathStages.map((stage) => stage.name), "sum"], differences.map((row) => [row.label, row.n, ...row.parts.map(signed), signed(row.total)]))],
    h("h3", {}, "Added, waited, machine"), originBars(run, group),
    details("Every stage with its quantiles, origins and difference", stageTable(run, group)),
    h("h3", {}, "Hop by hop"), hopBars(run, group), details("The same as a table", hopTable(run, group)),
    serverTable(run, group));
}

// ---- 4 ---------------------------------------------------------------------------------------------------------------

export function waterfalls(run, state) {
  const { summary } = run;
  const arms = () => summary.arms.filter((arm) => arm.group === state.group);
  const fall = new Waterfall(state.tip);
  const controls = h("div", { class: "controls" });
  const choices = [["p50", "median"], ["p90", "p90"], ["p99", "p99"], ["worst", "worst"]];
  const noteOf = (arm, slot) => {
    const mark = state.messages.marks(arm).find((m) => m.slot === slot);
    return mark ? (/^\d/.test(mark.label) ? `rank ${mark.label}` : mark.label) : null;
  };
  const draw = () => {
    const { view } = state;
    const rows = arms().map((arm) => {
      const slot = view.slot ?? state.messages.marks(arm.name).find((m) => m.label === view.label)?.slot;
      return { label: labelOf(arm), message: slot === undefined ? null : state.messages.at(arm.name, slot), note: slot === undefined ? null : noteOf(arm.name, slot) };
    });
    const title = view.slot === undefined ? `The ${view.label === "p50" ? "median" : view.label} message of each arm` : `The messages of slot ${view.slot} in each arm`;
    heading.textContent = title;
    if (rows.some((row) => row.message)) fall.show(rows, title);
    else fall.root.replaceChildren(h("p", { class: "soft" }, "No message of this kind finished."));
    const enough = (label) => arms().some((arm) => state.messages.marks(arm.name).some((m) => m.label === label));
    const messages = arms().flatMap((arm) => state.messages.marks(arm.name).map((mark) => ({ arm, mark })));
    controls.replaceChildren(
      h("span", { class: "set", role: "group", "aria-label": "which message of each arm" }, choices.map(([label, text]) => h("button", { type: "button", "aria-pressed": String(view.slot === undefined && view.label === label), disabled: !enough(label), title: enough(label) ? null : "n is too small for this quantile", onclick: () => state.look({ label }) }, text))),
      h("label", {}, "or the slot of ", h("select", { onchange: (event) => { if (event.target.value !== "") state.look({ slot: Number(event.target.value) }); } },
        h("option", { value: "" }, "…"), messages.map(({ arm, mark }) => h("option", { value: mark.slot, selected: view.slot === mark.slot && view.arm === arm.name }, `${labelOf(arm)}: ${/^\d/.test(mark.label) ? `rank ${mark.label}` : mark.label} (slot ${mark.slot})`)))),
      h("span", { class: "set", role: "group", "aria-label": "zoom" },
        h("button", { type: "button", "aria-label": "zoom in", onclick: () => fall.zoom(0.5) }, "+"), h("button", { type: "button", "aria-label": "zoom out", onclick: () => fall.zoom(2) }, "−"),
        h("button", { type: "button", "aria-label": "earlier", onclick: () => fall.pan(-0.25) }, "←"), h("button", { type: "button", "aria-label": "later", onclick: () => fall.pan(0.25) }, "→"),
        h("button", { type: "button", onclick: () => fall.reset() }, "all")));
  };
  const heading = h("h3", { "aria-live": "polite" });
  state.onLook = draw;
  draw();
  return section("messages", "Single messages", "Arms side by side on one time axis, which begins when the message was due.",
    state.groupControl("messages"), controls, heading, waterfallLegend(), fall.root,
    h("p", { class: "small soft" }, "Drag over the drawing, or Ctrl or Shift and the wheel, to zoom; double-click for all. The dashed boxes are time that no client span covers.",
      run.page.messages_cut ? " The page holds the messages at the usual percentiles only; all spans are in the run folder." : ""));
}

// ---- 5 ---------------------------------------------------------------------------------------------------------------

export function overTime(run, state) {
  const { summary, page } = run, less = lessOf(summary);
  const inGroup = armsOf(run, state.group).filter((arm) => arm.curve.ms.length > 0);
  const single = inGroup.filter((arm) => arm.over_time.at_ms.length > 0);
  const plot = single.length > 0 ? scatter(single, less, (arm, slot) => state.look({ slot, arm: arm.name }, true)) : null;
  const late = summary.arms[0].stages_ms.send_lateness !== null && inGroup.length > 0;
  const latest = Math.max(0, ...inGroup.flatMap((arm) => arm.over_time.late_max_ms.filter((v) => v !== null)));
  const firsts = inGroup.filter((arm) => arm.first).map((arm) => {
    const all = summary.arms.find((a) => a.name === arm.name), n = all.stages_n;
    return [arm.name, n, length(arm.first.ms), `${arm.first.rank} of ${n}`, length(all.until_handled_less_work_ms.p50?.value ?? null), arm.first.rank === n ? "the slowest of all: a cold start" : arm.first.rank > 0.9 * n ? "among the slowest tenth" : "nothing special"];
  });
  return section("over-time", "Over time", "Does the run drift, stall or start cold?",
    state.groupControl("over-time"),
    plot && [plot.root, h("p", { class: "small soft" }, "One dot a message, ", less, ". Click one to see it above.")],
    inGroup.some((arm) => arm.curve.n > 200) && inGroup.map((arm) => [h("h3", {}, `${arm.label}, n = ${arm.curve.n}`), heatMap(arm, page, less)]),
    firsts.length > 0 && table(`The first message of each arm against the rest, ${less}`, ["arm", "n", "first message (n = 1)", "its rank, slowest last", "median of all", as("text", "reading")], firsts.map((row) => [...row.slice(0, 5), as("text", row[5])])),
    late && latest === 0 && h("p", { class: "small soft" }, "No message was sent late."),
    late && latest > 0 && [h("h3", {}, "Send lateness: the latest of each sixtieth of the run"), h("ul", { class: "legend" }, inGroup.map((arm) => h("li", {}, s("svg", { width: 26, height: 10, "aria-hidden": "true" }, s("line", { x1: 0, x2: 26, y1: 5, y2: 5, stroke: armStyle(arm.index).color, "stroke-width": 2, "stroke-dasharray": armStyle(arm.index).dash.join(" ") || null })), arm.label))), lateness(inGroup, page)]);
}

// ---- 6, 7 ------------------------------------------------------------------------------------------------------------

export function quality(run) {
  const { summary, page } = run;
  const limits = summary.verdict?.limits;
  const counts = summary.arms.map((arm) => {
    const serial = page.arms.find((a) => a.name === arm.name)?.serial;
    const shown = (v) => (v === null || v === undefined ? "not known" : v);
    return [arm.name, shown(arm.planned), shown(arm.sent), arm.completed, shown(arm.unfinished), shown(arm.lost), shown(arm.duplicates), shown(arm.reprocessed), shown(arm.warm_up_left_out),
      arm.kind.startsWith("eos") ? (arm.exactly_once_seen ? "yes" : "no") : "–", `${arm.negative_delivery_gaps.negative} of ${arm.negative_delivery_gaps.gaps} (${arm.negative_delivery_gaps.unexplained} unexplained)`,
      serial ? `${ms(serial.lag1)} (worth ${Math.round(serial.effective_n)} of ${arm.stages_n})` : "–", arm.verdict ? (arm.verdict.valid ? "valid" : "INVALID") : "–"];
  });
  const checks = limits && [
    ["slots sent more than the limit late", `${axis(limits.late_from_ms)}, in more than ${percent(limits.late_share_max)} of them`],
    ["lost messages, duplicates", "any"], ["overflow of the recording ring", "any"],
    ["longest stall of hopgap's own loops", `${axis(limits.loop_stall_ms_max)}; here ${length(summary.loop_stall_ms_max)}`],
    ["wall clock moved, where another worker wrote the spans", `${axis(limits.clock_drift_ms_max)}; here ${length(summary.clock_drift_ms)}`],
    ["exactly-once not confirmed by the stream", "any exactly-once arm"],
  ];
  return section("quality", "Data quality", "What would make these figures worth less, and whether it happened.",
    table("Counts, an arm a row (messages)", ["arm", "planned", "sent", "completed", "unfinished", "lost", "duplicates", "reprocessed", "warm-up left out", "exactly-once seen", "negative delivery gaps", "lag-1 rank correlation", "verdict"], counts),
    h("p", { class: "small soft" }, "Lag-1 rank correlation: whether neighbours in time resemble each other. Intervals take messages to be independent; far from 0, believe them less: the effective n is given."),
    checks && table("A run is invalid when", ["what", as("text", "limit")], checks.map(([what, limit]) => [what, as("text", limit)])),
    summary.spans_only && h("ul", { class: "reasons" }, summary.spans_only.notes.map((note) => h("li", {}, note))),
    h("p", { class: "small soft" }, `Length of the run ${length(summary.elapsed_ms)}; wall clock less the clock of the spans at its end ${length(summary.clock_drift_ms)}.`),
    summary.published_figures.length > 0 && table("The published experiment's figures, where they fall in this run", ["figure", "arm", "n", "at or below", "percentile", as("text", "what it is"), as("text", "reading")],
      summary.published_figures.map((p) => [length(p.figure_ms), p.arm, p.n, p.at_or_below, `p${Math.round(p.percent)}`, as("text", `${p.what}; ${p.held_out ? "held out" : "used as input, so no test"}`), as("text", p.reading)])),
    summary.published_figures_why_not && h("p", { class: "small" }, `The published figures are not placed: ${summary.published_figures_why_not}.`));
}

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

export function configured(run) {
  const { summary, machine } = run, c = summary.configuration;
  const rows = Object.entries(c).filter(([key, value]) => key !== "added" && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0)).map(([key, value]) => [key.replace(/_ms_all_hops$/, ", all hops (ms)").replace(/_ms$/, " (ms)").replaceAll("_", " "), as("text", Array.isArray(value) ? value.join("; ") : String(value))]);
  const command = machine ? ["hopgap", ...machine.command_line.slice(1)].map(quoted).join(" ") + (machine.command_line.includes("--seed") || c.seed === null ? "" : ` --seed ${c.seed}`) : null;
  return section("configured", "Everything configured", null,
    command && [h("p", {}, "The command that repeats it:"), h("pre", { tabindex: 0 }, command)],
    c.added?.length > 0 && table("Delays that were put in, ms: input, not measured", ["leg", "subscriptions", "p50", "p95", "mean"], c.added.map((leg) => [leg.leg, leg.kind, ms(leg.p50_ms), ms(leg.p95_ms), ms(leg.mean_ms)])),
    table("Configuration", ["setting", as("text", "value")], rows),
    machine && table("Machine", ["what", as("text", "value")], [["system", machine.system], ["processor", `${machine.cpu}, ${count(machine.cpus, "core")}`], ["memory", `${(machine.memory_bytes / 2 ** 30).toFixed(1)} GiB`], ["started", machine.started], ["hopgap", summary.version]].map(([what, value]) => [what, as("text", value)])));
}

export function comparison(c) {
  const word = { slower: "bad", faster: "good" };
  return section("comparison", "Two runs compared", `First: ${c.first}. Second: ${c.second}. Nothing is paired: what else differed between the runs is in the difference too.`,
    c.warnings.map((w) => h("p", {}, badge("warning", "warn"), " ", w)),
    c.answer.map((sentence) => h("p", { class: "big" }, sentence)),
    c.differing.length > 0 ? [h("p", {}, "Asked for different things (first, second):"), h("ul", { class: "reasons" }, c.differing.map((d) => h("li", {}, d)))] : h("p", { class: "soft" }, "Both were asked for the same."),
    c.arms.map((arm) => [
      table(`${arm.arm}: second less first, ms [95 % interval; none: n has no such limit]`, ["", "n", "p50 first", "p50 second", "difference of p50", "Hodges-Lehmann shift", "the second is", "smallest shift seen in 8 of 10"],
        arm.metrics.map((m) => {
          const p50 = m.quantiles_ms.find((q) => q.p === 0.5);
          const show = (d) => (d ? [signed(d.value), " ", h("span", { class: "ci" }, interval(d.low, d.high, signed))] : "–");
          return [stages.find((stage) => stage.key === m.metric)?.name ?? m.metric.replaceAll("_", " "), `${m.n_first}, ${m.n_second}`, ms(m.p50_first_ms), ms(m.p50_second_ms), show(p50), show(m.shift_ms), as(word[m.second_is], m.second_is), length(m.detectable_ms)];
        })),
      shiftFunction({ shift: arm.deciles_ms }, `${arm.arm}, second − first`)]),
    [["first", c.only_first], ["second", c.only_second]].map(([name, arms]) => arms.length > 0 && h("p", {}, `Only in the ${name}: ${arms.join(", ")}.`)));
}
