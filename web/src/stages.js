// The stages of a path: names, colours (Okabe and Ito's, which colour-blind readers can tell apart) and, since
// colour alone says nothing to some, a pattern for those that no client span covers or that hold a wait.
import { s } from "./dom.js";

export const stages = [
  { key: "send_lateness", name: "send lateness", color: "#8c8c8c", pattern: "dots", about: "scheduled → publish call" },
  { key: "client_publish", name: "client publish", color: "#56b4e9", about: "publish call → first publish RPC: batching" },
  { key: "publish_rpc", name: "publish RPC", color: "#0072b2", about: "publish RPC start → publish end" },
  { key: "delivery_gap", name: "delivery gap", color: "#e69f00", pattern: "up", about: "publish end → received: no client span covers it" },
  { key: "dispatch_gap", name: "dispatch gap", color: "#d55e00", pattern: "down", about: "received → callback start" },
  { key: "work", name: "work", color: "#009e73", about: "callback start → next publish call, or handler return" },
  { key: "ack", name: "ack", color: "#cc79a7", pattern: "cross", about: "ack call → ack RPC end, beside the path" },
];
export const pathStages = stages.slice(0, 6);

// Arms by their place in their group: a colour of the theme (style.css) and a dash each.
const armColors = 7;
const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5]];
export const armStyle = (index) => ({ name: `--arm${index % armColors}`, color: `var(--arm${index % armColors})`, dash: dashes[index % dashes.length] });

const lines = {
  up: "M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4",
  down: "M-2,6 l4,4 M0,0 l8,8 M6,-2 l4,4",
  cross: "M0,4 h8 M4,0 v8",
  dots: "M1,2 h2 M5,6 h2",
};

// Once a document: patterns that every drawing refers to.
export function patterns() {
  const defs = stages.map((stage) =>
    s("pattern", { id: `stage-${stage.key}`, width: 8, height: 8, patternUnits: "userSpaceOnUse" },
      s("rect", { width: 8, height: 8, fill: stage.color }),
      stage.pattern && s("path", { d: lines[stage.pattern], stroke: "#fff", "stroke-opacity": 0.55, "stroke-width": 1.6, fill: "none" })));
  return s("svg", { width: 0, height: 0, "aria-hidden": "true", class: "patterns" }, s("defs", {}, defs));
}
export const fillOf = (stage) => (stage.pattern ? `url(#stage-${stage.key})` : stage.color);

export function legend(list) {
  return list.map((stage) => ({
    swatch: s("svg", { width: 22, height: 12, "aria-hidden": "true" }, s("rect", { width: 22, height: 12, rx: 2, fill: fillOf(stage) })),
    name: stage.name,
    about: stage.about,
  }));
}
