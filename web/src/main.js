// hopgap's report: draws the data that hopgap wrote into this file. No network, no storage, no state beyond the page.
import { h } from "./dom.js";
import { patterns } from "./stages.js";
import { Messages } from "./message.js";
import { redrawPlots, forgetPlots } from "./charts.js";
import { sweepMap } from "./map.js";
import * as sections from "./sections.js";

const data = JSON.parse(document.getElementById("hopgap-data").textContent);
const app = document.getElementById("app");

class Tip {
  constructor() {
    this.root = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    document.body.append(this.root);
  }
  attach(node, title, more) {
    node.addEventListener("pointermove", (event) => this.show(event, title, more));
    node.addEventListener("pointerleave", () => { this.root.hidden = true; });
  }
  show(event, title, more) {
    this.root.replaceChildren(h("b", {}, title), h("br"), more);
    this.root.hidden = false;
    const box = this.root.getBoundingClientRect();
    this.root.style.left = `${Math.min(event.clientX + 14, window.innerWidth - box.width - 8)}px`;
    this.root.style.top = `${event.clientY + 18 + box.height > window.innerHeight ? event.clientY - box.height - 10 : event.clientY + 18}px`;
  }
}
const tip = new Tip();

// What is being looked at: the group, and which message.
class State {
  constructor(run) {
    this.run = run;
    this.tip = tip;
    this.messages = new Messages(run.page);
    const used = run.page.groups.filter((group) => run.summary.arms.some((arm) => arm.group === group && arm.stages_n > 0));
    this.group = used[used.length - 1] ?? run.page.groups[0];
    this.view = { label: "p50" };
    this.onLook = () => {};
  }
  look(view, scroll = false) {
    this.view = view;
    this.onLook();
    if (scroll) document.getElementById("messages").scrollIntoView();
  }
  pickShare(arm, share, finished, n) {
    const mark = this.messages.nearest(arm, Math.min(1, (share * n) / Math.max(1, finished)), finished);
    if (mark) this.look({ slot: mark.slot, arm }, true);
  }
  groupControl(where) {
    if (this.run.page.groups.length < 2) return null;
    return h("div", { class: "controls" }, h("span", {}, "Group"), h("span", { class: "set", role: "group", "aria-label": `group shown in ${where}` },
      this.run.page.groups.map((group) => h("button", { type: "button", "data-group": group, "data-where": where, "aria-pressed": String(group === this.group), onclick: () => {
        this.group = group;
        drawSections(this, where);
      } }, group))));
  }
}

const menu = [["answer", "Answer"], ["end-to-end", "End to end"], ["where", "Where it went"], ["messages", "Messages"], ["over-time", "Over time"], ["quality", "Quality"], ["configured", "Configured"]];

function drawSections(state, focus) {
  const { run } = state;
  forgetPlots();
  const top = focus ? document.getElementById(focus === "distribution" ? "end-to-end" : focus).getBoundingClientRect().top : null;
  main.replaceChildren(
    ...[data.comparison && sections.comparison(data.comparison), sections.answer(run), sections.endToEnd(run, state), sections.whereItWent(run, state), sections.waterfalls(run, state), sections.overTime(run, state), data.sweep && sweepMap(data.sweep), sections.quality(run), sections.configured(run)].filter(Boolean));
  redrawPlots();
  if (focus) {
    // The place and the button that was pressed stay where they were.
    const place = document.getElementById(focus === "distribution" ? "end-to-end" : focus);
    window.scrollBy({ top: place.getBoundingClientRect().top - top, behavior: "instant" });
    main.querySelector(`[data-where="${focus}"][data-group="${state.group}"]`)?.focus({ preventScroll: true });
  }
}

const dark = window.matchMedia("(prefers-color-scheme: dark)");
let chosen = null;
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  themeButton.textContent = theme === "dark" ? "Light" : "Dark";
  redrawPlots();
}
const themeNow = () => chosen ?? (dark.matches ? "dark" : "light");
const themeButton = h("button", { type: "button", onclick: () => { chosen = themeNow() === "dark" ? "light" : "dark"; setTheme(chosen); } });
dark.addEventListener("change", () => setTheme(themeNow()));
// Paper is white.
window.addEventListener("beforeprint", () => { document.documentElement.dataset.theme = "light"; for (const d of document.querySelectorAll("details")) d.open = true; redrawPlots(); });
window.addEventListener("afterprint", () => setTheme(themeNow()));

const main = h("main", {});
let state = data.runs.length > 0 ? new State(data.runs[0]) : null;
const choose = data.runs.length > 1 && h("label", { class: "small" }, "Run ", h("select", { onchange: (event) => { state = new State(data.runs[Number(event.target.value)]); drawSections(state); } }, data.runs.map((run, i) => h("option", { value: i }, run.name))));
const links = (data.comparison ? [["comparison", "Compared"]] : []).concat(state ? menu : []);
if (data.sweep) links.splice(state ? links.length - 2 : 0, 0, ["map", "Map"]);
const title = data.runs.length > 1 ? "report" : (data.runs[0] ?? data.sweep).name;
const method = "Quantiles: linear between the neighbours of position 1 + p(n − 1) (type 7, as k6, NumPy and spreadsheets do). Intervals of quantiles: order statistics at exact binomial ranks, each side missing with at most 2.5 %; differences of quantiles: from both intervals (MOVER); means: Student's t. All take messages to be independent. ";
const drawn = state ? `Curves hold at most ${data.runs[0].page.curve_points_max} points, the extremes always among them; arms of more than ${data.runs[0].page.over_time_max} messages are drawn as heat maps alone. ` : "";
app.append(
  patterns(),
  h("header", { class: "top" }, h("div", {}, h("h1", { class: "brand" }, h("b", {}, "hopgap"), " ", h("span", {}, title)), choose, h("nav", { "aria-label": "Sections" }, links.map(([id, name]) => h("a", { href: `#${id}` }, name))), themeButton)),
  main,
  h("footer", {}, method, `${drawn}Written by hopgap ${state ? data.runs[0].summary.version : data.sweep.map.version}; this file needs no network.`));
if (!state) document.querySelector(".skip").hash = "#map";
setTheme(themeNow());
if (state) drawSections(state); else main.append(sweepMap(data.sweep));

// The menu follows the reader.
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    for (const link of document.querySelectorAll("header nav a")) link.setAttribute("aria-current", String(link.hash === `#${entry.target.id}`));
  }
}, { rootMargin: "-20% 0px -70% 0px" });
new MutationObserver(() => { for (const section of main.children) seen.observe(section); }).observe(main, { childList: true });
for (const section of main.children) seen.observe(section);
