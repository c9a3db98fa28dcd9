// Looks at report.html as a reader does: in Chromium, with mouse, keyboard, a screen reader's rules, in the dark and on
// paper. Needs HOPGAP (the program) and Chromium; ./dev report-check runs it. Screenshots go to HOPGAP_SHOTS.
import { test, before, after } from "node:test";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { ms, signed, length } from "../src/format.js";

const hopgap = process.env.HOPGAP;
const shots = process.env.HOPGAP_SHOTS;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "hopgap-report-"));
const at = (name) => join(folder, name);
let browser;

function run(...args) {
  const done = spawnSync(hopgap, args, { encoding: "utf8", maxBuffer: 1 << 28 });
  return { code: done.status, out: done.stdout, err: done.stderr };
}

before(async () => {
  assert.ok(hopgap, "HOPGAP is not set");
  if (shots) mkdirSync(shots, { recursive: true });
  const { code } = run("simulate", "--quiet", "--out", at("run"), "--threshold", "ratio(replay.eos,replay.std).until_handled.p50>2", "--threshold", "std.until_handled.p99<10s");
  assert.equal(code, 12); // the second threshold cannot be decided by 31 messages
  assert.equal(run("simulate", "--quiet", "--out", at("other"), "--seed", "7").code, 0);
  browser = await chromium.launch({ executablePath: process.env.HOPGAP_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

async function open(file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(300_000); // a busy machine is no finding
  const seen = { requests: [], errors: [] };
  page.on("request", (request) => seen.requests.push(request.url()));
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) seen.errors.push(message.text()); });
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  await page.goto(`file://${file}`);
  return { page, seen, close: () => context.close() };
}
const shot = async (page, name, locator) => { if (shots) await (locator ?? page).screenshot({ path: join(shots, `${name}.png`), ...(locator ? {} : { fullPage: true }) }); };
const text = (locator) => locator.evaluate((node) => node.textContent.replace(/\s+/g, " ").trim());

test("the figures are those of summary.json", async () => {
  const summary = JSON.parse(readFileSync(at("run/summary.json"), "utf8"));
  const { page, seen, close } = await open(at("run/report.html"));
  const rows = page.locator("#end-to-end table").first().locator("tbody tr");
  assert.equal(await rows.count(), summary.arms.length);
  for (const [i, arm] of summary.arms.entries()) {
    const cells = await rows.nth(i).locator("th, td").evaluateAll((all) => all.map((cell) => cell.textContent));
    const e = arm.until_handled_less_work_ms;
    assert.equal(cells[0], arm.name);
    assert.equal(cells[1], String(e.n));
    assert.equal(cells[3], `${ms(e.p50.value)} [${ms(e.p50.low)}, ${ms(e.p50.high)}]`);
    assert.equal(cells[5], `${ms(e.p95.value)} ≥ ${ms(e.p95.low)}`); // 31 messages have no upper limit of p95
    assert.equal(cells[6], "needs n = 299");
    assert.equal(cells[7], ms(e.max));
  }
  const d = summary.difference.find((one) => one.arm === "replay.eos" && one.stage === "until_handled");
  const row = await text(page.locator("#end-to-end tr", { hasText: "replay.eos − replay.std" }).first());
  assert.ok(row.includes(`${signed(d.p50)} [${signed(d.low)}, ${signed(d.high)}]`), row);
  const stage = summary.arms.find((arm) => arm.name === "replay.eos").stages_ms.dispatch_gap;
  assert.ok((await text(page.locator("#where"))).includes(ms(stage.mean)));
  const answer = await text(page.locator("#answer"));
  for (const word of ["VALID RUN", "SIMULATED", "eos takes", length(d.p50), "dispatch gap", "31 messages an arm", "input, not measured"]) assert.ok(answer.includes(word), `${word}: ${answer}`);
  assert.deepEqual(JSON.parse(await page.locator("#hopgap-data").evaluate((node) => JSON.stringify(JSON.parse(node.textContent).runs[0].summary))), summary);
  assert.deepEqual(seen.errors, []);
  assert.deepEqual(seen.requests.filter((url) => !url.startsWith("file:")), []);
  await shot(page, "light");
  await close();
});

test("thresholds are shown with their outcome", async () => {
  const { page, close } = await open(at("run/report.html"));
  const rows = page.locator("#answer table tbody tr");
  assert.match(await text(rows.nth(0)), /PASS/);
  assert.match(await text(rows.nth(1)), /INCONCLUSIVE.*n = 31 gives no upper limit/);
  await close();
});

test("the same folder gives the same bytes, and another threshold another outcome", () => {
  const first = readFileSync(at("run/report.html"));
  assert.equal(run("report", at("run"), "--out", at("again.html")).code, 12);
  assert.ok(readFileSync(at("again.html")).equals(first));
  const failed = run("report", at("run"), "--out", at("judged.html"), "--threshold", "replay.eos.until_handled.p50<100ms");
  assert.equal(failed.code, 11);
  assert.match(failed.out, /FAIL/);
});

test("a percentile, a slot and a click on the curve choose the message", async () => {
  const { page, close } = await open(at("run/report.html"));
  const title = page.locator("#messages h3");
  assert.equal(await text(title), "The median message of each arm");
  const drawing = page.locator("#messages .drawing");
  const before = await text(drawing);
  await page.getByRole("button", { name: "worst" }).click();
  assert.equal(await text(title), "The worst message of each arm");
  assert.notEqual(await text(drawing), before);
  assert.equal(await page.getByRole("button", { name: "p99" }).isDisabled(), true); // not from 31 messages
  await page.locator("#messages select").selectOption({ index: 5 });
  assert.match(await text(title), /^The messages of slot \d+ in each arm$/);
  const plot = page.locator("#end-to-end .u-over");
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  await page.mouse.click(box.x + box.width * 0.7, box.y + box.height * 0.5);
  const slot = (await text(title)).match(/slot (\d+)/)[1];
  const data = JSON.parse(readFileSync(at("run/report.html"), "utf8").match(/id="hopgap-data">([^]*?)<\/script>/)[1]).runs[0].page;
  const mark = data.arms.find((arm) => arm.name === "replay.eos").marks.find((one) => String(one.slot) === slot);
  assert.ok(mark.rank > 10 && mark.rank < 22, JSON.stringify(mark)); // near the middle of the curve that was clicked
  await close();
});

test("zoom by buttons, keys and dragging; 0 shows all", async () => {
  const { page, close } = await open(at("run/report.html"));
  const labels = () => page.locator("#messages .drawing > text.soft").evaluateAll((all) => all.map((node) => node.textContent).join());
  const whole = await labels();
  await page.getByRole("button", { name: "zoom in" }).click();
  assert.notEqual(await labels(), whole);
  await page.getByRole("button", { name: "all", exact: true }).click();
  assert.equal(await labels(), whole);
  await page.locator("#messages .drawing").focus();
  await page.keyboard.press("+");
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await labels(), whole);
  await page.keyboard.press("0");
  assert.equal(await labels(), whole);
  const box = await page.locator("#messages .drawing").boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + 80);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 80, { steps: 4 });
  await page.mouse.up();
  assert.notEqual(await labels(), whole);
  await close();
});

test("hovering says what a bar is", async () => {
  const { page, close } = await open(at("run/report.html"));
  const bar = page.locator("#messages .drawing rect.hot", { hasText: "dispatch gap" }).first();
  await bar.scrollIntoViewIfNeeded();
  await bar.hover();
  assert.match(await text(page.locator(".tip")), /^dispatch gap: [\d.]+ ms.*lease wait/);
  await close();
});

test("groups switch every section that has them, and keep the focus", async () => {
  const { page, close } = await open(at("run/report.html"));
  const here = page.locator('#where button[data-group="here"]');
  await here.focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.locator('#messages button[data-group="here"]').getAttribute("aria-pressed"), "true");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.where), "where");
  assert.ok(!(await text(page.locator("#messages .drawing"))).includes("overlap"));
  await close();
});

test("everything can be reached by the keyboard", async () => {
  const { page, close } = await open(at("run/report.html"));
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  const reached = new Set();
  for (let i = 0; i < 120; i++) {
    await page.keyboard.press("Tab");
    reached.add(await page.evaluate(() => `${document.activeElement.tagName.toLowerCase()} ${document.activeElement.closest("section")?.id ?? "top"}`));
  }
  for (const wanted of ["a top", "button top", "summary end-to-end", "button where", "select messages", "svg messages", "button messages"]) assert.ok(reached.has(wanted), `${wanted} of ${[...reached]}`);
  await close();
});

for (const scheme of ["light", "dark"]) {
  test(`no serious finding of axe, ${scheme}`, async () => {
    const { page, seen, close } = await open(at("run/report.html"), { colorScheme: scheme });
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), scheme);
    await page.evaluate(() => { for (const node of document.querySelectorAll("details")) node.open = true; });
    await page.addScriptTag({ content: axe });
    const found = await page.evaluate(() => window.axe.run());
    const serious = found.violations.filter((one) => ["serious", "critical"].includes(one.impact));
    assert.deepEqual(serious.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.target + " " + node.failureSummary).join("; ")}`), []);
    assert.deepEqual(seen.errors, []);
    if (scheme === "dark") await shot(page, "dark");
    await close();
  });
}

test("the theme can be chosen, and paper is light", async () => {
  const { page, close } = await open(at("run/report.html"), { colorScheme: "dark" });
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await back();
  await page.getByRole("button", { name: "Light" }).click();
  assert.notEqual(await back(), dark);
  await page.getByRole("button", { name: "Dark" }).click();
  assert.equal(await back(), dark);
  await page.emulateMedia({ media: "print" });
  assert.equal(await back(), "rgb(255, 255, 255)");
  const pdf = await page.pdf({ format: "A4" });
  assert.ok(pdf.length > 50_000);
  await close();
});

test("on a narrow screen nothing but tables scrolls sideways", async () => {
  const { page, close } = await open(at("run/report.html"), { viewport: { width: 390, height: 800 } });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth + 1));
  await shot(page, "narrow");
  await close();
});

test("without scripts the report is there as text", async () => {
  const { page, close } = await open(at("run/report.html"), { javaScriptEnabled: false });
  const words = await page.locator("noscript, .plain").allTextContents();
  assert.ok(words.join().includes("End to end until handled"));
  await close();
});

test("two runs compared, and both in one page", async () => {
  const done = run("compare", at("run"), at("other"), "--report", at("compare.html"));
  assert.equal(done.code, 0, done.err);
  assert.match(done.out, /seed: 203, 7/);
  const document = JSON.parse(run("compare", at("run"), at("other"), "--json").out);
  const { page, seen, close } = await open(at("compare.html"));
  const section = await text(page.locator("#comparison"));
  const eos = document.arms.find((arm) => arm.arm === "replay.eos").metrics[0];
  assert.ok(section.includes(`${signed(eos.shift_ms.value)} [${signed(eos.shift_ms.low)}, ${signed(eos.shift_ms.high)}]`));
  assert.ok(section.includes("seed: 203, 7"));
  await page.locator("header select").selectOption("1");
  assert.ok((await text(page.locator("#configured"))).includes("--seed 7"));
  assert.deepEqual(seen.errors, []);
  await page.addScriptTag({ content: axe });
  const found = await page.evaluate(() => window.axe.run());
  assert.deepEqual(found.violations.filter((one) => ["serious", "critical"].includes(one.impact)).map((one) => one.id), []);
  await shot(page, "compare");
  await close();
});

test("a sweep is a map, a cell shows its row, and a run has its place on it", async () => {
  const done = run("sweep", "--rate", "1,5,100", "--streams", "1,4,10", "--duration", "5s", "--messages-min", "60", "--quiet", "--json", "--out", at("map"));
  assert.equal(done.code, 0, done.err);
  const map = JSON.parse(done.out);
  for (const scheme of ["light", "dark"]) {
    const { page, seen, close } = await open(at("map/report.html"), { colorScheme: scheme });
    const extra = map.cells.findIndex((cell) => cell.rate_per_second === 1 && cell.streams === 4 && cell.arm === "eos" && cell.policy === "eager");
    const square = page.locator(`#map .square[data-index="${extra}"]`);
    assert.ok((await text(square)).startsWith(`${signed(map.cells[extra].extra_per_hop_ms)} ms`), await text(square));
    const full = map.cells.findIndex((cell) => cell.saturated_at_per_second !== null);
    assert.match(await text(page.locator(`#map .square[data-index="${full}"]`)), /^saturated at [\d.]+\/s/);
    await square.focus();
    await page.keyboard.press("Enter");
    const row = page.locator("#map tr.chosen");
    assert.equal(await page.evaluate(() => document.activeElement.className), "chosen");
    assert.equal(await row.evaluate((node) => [...node.parentNode.children].indexOf(node)), extra);
    assert.ok((await text(row)).includes(ms(map.cells[extra].p50_ms)));
    assert.ok((await text(page.locator("#map"))).includes(map.answer[0]));
    await page.addScriptTag({ content: axe });
    const found = await page.evaluate(() => window.axe.run());
    assert.deepEqual(found.violations.filter((one) => ["serious", "critical"].includes(one.impact)).map((one) => `${one.id}: ${one.nodes[0].failureSummary} ${one.nodes[0].target}`), []);
    assert.deepEqual(seen.errors, []);
    assert.deepEqual(seen.requests.filter((url) => !url.startsWith("file:")), []);
    await shot(page, `map-${scheme}`);
    await close();
  }
  assert.equal(run("report", at("run"), "--sweep", at("map"), "--out", at("both.html")).code, 12);
  const { page, seen, close } = await open(at("both.html"));
  const marks = await page.locator("#map .square.here").evaluateAll((all) => all.map((node) => node.textContent));
  assert.equal(marks.length, 2, marks.join()); // standard and exactly-once, eager; not gated
  for (const mark of marks) assert.match(mark, /you are here/);
  assert.deepEqual(seen.errors, []);
  await shot(page, "both");
  await close();
});

test("10,000 messages fit 1.5 MB; 100,000 are written and opened in 2 s each", async () => {
  assert.equal(run("simulate", "--quiet", "--rate", "100", "--messages", "2000", "--streams", "100", "--out", at("ten")).code, 0); // five arms
  assert.ok(statSync(at("ten/report.html")).size < 1.5e6, String(statSync(at("ten/report.html")).size));
  const many = run("simulate", "--quiet", "--rate", "100", "--messages", "20000", "--streams", "100", "--spans", "none", "--out", at("many"));
  assert.equal(many.code, 0, many.err);
  // Processor time: a busy machine is not the program's fault.
  const timed = spawnSync("sh", ["-c", '"$0" report "$1" --out "$2" >/dev/null; times', hopgap, at("many"), at("many.html")], { encoding: "utf8" });
  const written = [...timed.stdout.trim().split("\n").pop().matchAll(/(\d+)m([\d.]+)s/g)].reduce((sum, [, minutes, seconds]) => sum + 60_000 * minutes + 1000 * seconds, 0);
  assert.ok(readFileSync(at("many.html")).equals(readFileSync(at("many/report.html"))));
  const opening = performance.now();
  const { page, seen, close } = await open(at("many.html"));
  await page.locator("#configured").waitFor();
  const opened = performance.now() - opening;
  assert.deepEqual(seen.errors, []);
  await shot(page, "many");
  await close();
  console.log(`100,000 messages: written in ${Math.round(written)} ms, opened in ${Math.round(opened)} ms, ${statSync(at("many.html")).size} bytes`);
  assert.ok(written < 2000 && opened < 2000, `${written} ms, ${opened} ms`);
});
