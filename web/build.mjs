// Builds dist/report.html: one file with style and script in it, and marks where hopgap writes a run's data.
import { build } from "esbuild";
import { readFileSync, mkdirSync, writeFileSync } from "node:fs";

const root = new URL(".", import.meta.url).pathname;
const read = (name) => readFileSync(root + name, "utf8");
const options = { bundle: true, minify: true, write: false, target: "es2020", legalComments: "none", logLevel: "warning" };
const script = await build({ ...options, entryPoints: [root + "src/main.js"], format: "iife" });
const style = await build({ ...options, entryPoints: [root + "src/style.css"] });
const text = (result) => result.outputFiles[0].text.trim();

// A function as the replacement: "$&" in code is no pattern.
const page = read("src/page.html")
  .replace("@@style@@", () => text(style))
  .replace("@@script@@", () => text(script).replaceAll("</script", "<\\/script"));
for (const mark of ["@@hopgap-title@@", "@@hopgap-text@@", "@@hopgap-data@@"]) {
  if (page.split(mark).length !== 2) throw new Error(`${mark} has to stand in the page exactly once`);
}
mkdirSync(root + "dist", { recursive: true });
writeFileSync(root + "dist/report.html", page);
console.log(`dist/report.html: ${page.length} bytes`);
