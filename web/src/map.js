// A sweep as a map: a table of rates and streams for each kind of arm, the stronger coloured the more exactly-once adds; a click on
// a cell shows its row in the table below.
import { h, as, table, details } from "./dom.js";
import { ms, signed, length, interval, count } from "./format.js";

const rateText = (rate) => (rate === 0 ? "alone" : `${+rate.toPrecision(6)}/s`); // a cold message has no rate
const delay = (nanoseconds) => length(nanoseconds / 1e6);
const distinct = (values) => [...new Set(values)].sort((a, b) => a - b);
const saturation = (cell) => `saturated at ${+cell.saturated_at_per_second.toPrecision(3)}/s`;

// What a panel's cells have in common.
function titleOf(cell, map) {
  const several = (key) => new Set(map.cells.map((one) => one[key])).size > 1;
  return [cell.arm, cell.client, cell.policy === "-" ? null : cell.policy,
    cell.idle_gap_ns === null ? null : `first after ${delay(cell.idle_gap_ns)} of silence`, cell.cold ? "cold: each message alone" : null,
    cell.message_bytes === null ? null : `${cell.message_bytes} bytes a message`,
    cell.modack_ns === null ? null : `modack ${delay(cell.modack_ns)}`,
    cell.round_trip_ns === null && !several("round_trip_ns") ? null : `round trip ${cell.round_trip_ns === null ? "as modelled" : delay(cell.round_trip_ns)}`].filter(Boolean).join(", ");
}

function panelsOf(map) {
  const panels = new Map();
  map.cells.forEach((cell, index) => {
    const title = titleOf(cell, map);
    if (!panels.has(title)) panels.set(title, []);
    panels.get(title).push({ ...cell, index });
  });
  return panels;
}

// The cell nearest to where the run is, on a panel of its kind: ratios count, not differences.
function nearest(here, cells) {
  cells = cells.filter((cell) => !cell.cold && cell.idle_gap_ns === null);
  if (!here || !cells.some((cell) => here.arms.includes(cell.arm) && cell.client === here.client && [here.policy, "-"].includes(cell.policy))) return null;
  const far = (cell) => Math.abs(Math.log(cell.rate_per_second / here.rate_per_second)) + Math.abs(Math.log(cell.streams / here.streams));
  return cells.reduce((best, cell) => (far(cell) < far(best) ? cell : best));
}

// Of a cell's repeats: the one in the middle stands for all, and the rest is said.
function shown(repeats) {
  const saturated = repeats.filter((cell) => cell.saturated_at_per_second !== null);
  const figure = (cell) => cell.extra_per_hop_ms ?? cell.p50_ms;
  const rest = repeats.filter((cell) => cell.saturated_at_per_second === null && figure(cell) !== null).sort((a, b) => figure(a) - figure(b));
  if (saturated.length > 0 || rest.length === 0) {
    const cell = saturated[0] ?? repeats[0];
    const which = repeats.length > 1 ? ` (${saturated.length} of ${repeats.length})` : "";
    return { cell, text: cell.saturated_at_per_second !== null ? saturation(cell) + which : cell.invalid ? "invalid run" : "nothing handled", more: null, value: null };
  }
  const cell = rest[(rest.length - 1) >> 1];
  const extra = cell.extra_per_hop_ms !== null;
  const show = extra ? signed : ms;
  const limits = extra ? interval(cell.extra_per_hop_low_ms, cell.extra_per_hop_high_ms, signed) : interval(cell.p50_low_ms, cell.p50_high_ms);
  const spread = rest.length > 1 ? `${rest.length} repeats: ${show(figure(rest[0]))} to ${show(figure(rest[rest.length - 1]))}` : null;
  return { cell, text: `${show(figure(cell))} ms`, more: [limits, spread].filter(Boolean).join("; "), value: extra ? cell.extra_per_hop_ms : null };
}

function panel(title, cells, map, most, show) {
  const rates = distinct(cells.map((cell) => cell.rate_per_second)), streams = distinct(cells.map((cell) => cell.streams));
  const here = nearest(map.here, cells);
  const exact = here && here.rate_per_second === map.here.rate_per_second && here.streams === map.here.streams;
  const extra = cells.some((cell) => cell.extra_per_hop_ms !== null);
  const square = (rate, n) => {
    const repeats = cells.filter((cell) => cell.rate_per_second === rate && cell.streams === n);
    if (repeats.length === 0) return "";
    const { cell, text, more, value } = shown(repeats);
    const isHere = here && here.rate_per_second === rate && here.streams === n;
    const saturated = cell.saturated_at_per_second !== null;
    // By the root: small differences are seen too.
    const shade = value === null || saturated ? 0 : Math.round(42 * Math.sqrt(Math.max(0, value) / most));
    return h("button", { type: "button", class: `square${saturated ? " saturated" : ""}${isHere ? " here" : ""}`, style: shade > 0 ? `background: color-mix(in srgb, var(--accent) ${shade}%, var(--card))` : null,
      title: `n = ${cell.n}${more ? `; ${more}` : ""}`, "data-index": cell.index, onclick: () => show(cell.index) },
      h("b", {}, text), more && h("span", { class: "ci" }, more), h("span", { class: "ci" }, `n = ${cell.n}`),
      isHere && h("span", { class: "mark" }, exact ? "◆ you are here" : `◆ nearest to you (${rateText(map.here.rate_per_second)}, ${count(map.here.streams, "stream")})`));
  };
  const what = extra ? "what exactly-once adds, ms a hop [95 % interval]" : `p50 until handled less work, ms [95 % interval]`;
  return table(`${title}: ${what}`, ["streams", ...rates.map(rateText)], streams.map((n) => [String(n), ...rates.map((rate) => as("cell", square(rate, n)))]), { class: "map" });
}

export function sweepMap(sweep) {
  const { map } = sweep;
  const panels = [...panelsOf(map)].sort(([, a], [, b]) => Number(a[0].arm === "std") - Number(b[0].arm === "std"));
  const most = Math.max(1e-9, ...map.cells.map((cell) => cell.extra_per_hop_ms ?? 0));
  const repeated = map.cells.some((cell) => cell.repeat > 1);
  // Axes that few sweeps have get a column where they do.
  const idle = map.cells.some((cell) => cell.idle_gap_ns !== null), sized = map.cells.some((cell) => cell.message_bytes !== null);
  const rows = map.cells.map((cell) => {
    const saturated = cell.saturated_at_per_second !== null;
    return [rateText(cell.rate_per_second), cell.streams, cell.arm, cell.client, cell.policy, cell.modack_ns === null ? "profile" : delay(cell.modack_ns), cell.round_trip_ns === null ? "as modelled" : delay(cell.round_trip_ns), ...(idle ? [cell.idle_gap_ns === null ? "–" : delay(cell.idle_gap_ns)] : []), ...(sized ? [cell.message_bytes ?? "–"] : []), ...(repeated ? [cell.repeat] : []), `${cell.handled} of ${cell.messages}`,
      saturated ? as("bad", saturation(cell)) : cell.invalid ? as("bad", `invalid run: ${cell.invalid}`) : [ms(cell.p50_ms), " ", h("span", { class: "ci" }, interval(cell.p50_low_ms, cell.p50_high_ms))], saturated ? "" : ms(cell.p95_ms), ...(idle ? [cell.others_p50_ms === null ? "–" : ms(cell.others_p50_ms)] : []),
      cell.extra_per_hop_ms === null ? "–" : [signed(cell.extra_per_hop_ms), " ", h("span", { class: "ci" }, interval(cell.extra_per_hop_low_ms, cell.extra_per_hop_high_ms, signed))], cell.messages_per_response.toFixed(2)];
  });
  const all = details("Every cell as a table", table("Latencies until handled less work, ms [95 % interval]; extra: difference of medians to standard, ms a hop", ["rate", "streams", "arm", "client", "policy", "modack", "round trip", ...(idle ? ["silence before"] : []), ...(sized ? ["bytes"] : []), ...(repeated ? ["repeat"] : []), "n handled", "p50", "p95", ...(idle ? ["p50 of the others of a burst"] : []), "exactly-once adds a hop", "messages a response"], rows));
  const show = (index) => {
    all.open = true;
    const row = all.querySelectorAll("tbody tr")[index];
    all.querySelector("tr.chosen")?.classList.remove("chosen");
    row.classList.add("chosen");
    row.tabIndex = -1;
    row.scrollIntoView({ block: "center" });
    row.focus({ preventScroll: true });
  };
  const command = sweep.command_line.length > 0 && ["hopgap", ...sweep.command_line.slice(1)].join(" ");
  return h("section", { id: "map", "aria-labelledby": "map-title" }, h("h2", { id: "map-title" }, "The map"),
    h("p", { class: "lead" }, `What exactly-once costs at other rates and with other numbers of streams. ${map.simulated ? "Simulated" : "Measured, on real gRPC and a broker of its own"}: profile ${map.profile}, ${count(map.hops, "hop")} of ${length(map.work_ns / 1e6)} work, seed ${map.seed}.`),
    map.answer.map((sentence) => h("p", { class: "big" }, sentence)),
    map.here && h("p", {}, `${map.here.name} is at ${rateText(map.here.rate_per_second)} with ${count(map.here.streams, "stream")} (${map.here.arms.join(", ")}; ${map.here.client}, ${map.here.policy}).`),
    h("p", { class: "small soft" }, "The stronger the colour, the more exactly-once adds. Saturated: messages come faster than they are taken, so that a latency would only say how long the run was. Click a cell for its row in the table."),
    panels.map(([title, cells]) => panel(title, cells, map, most, show)),
    all,
    command && [h("p", {}, "The command that repeats it:"), h("pre", { tabindex: 0 }, command)]);
}
