// Small builders: every text goes in as text, never as markup.

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(9)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

export const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// Columns: texts, or [text, class]. Rows: arrays of cells; the first is the row's header.
export function table(caption, columns, rows, options = {}) {
  const cell = (tag, content, more) => {
    const [value, name] = Array.isArray(content) ? content : [content, null];
    return h(tag, { class: name, ...more }, value);
  };
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": options.label ?? captionText(caption) },
    h(
      "table",
      { class: options.class },
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, columns.map((c) => cell("th", c, { scope: "col" })))),
      h("tbody", {}, rows.map((row) =>
        h("tr", { class: row.class }, row.map((c, i) => (i === 0 ? cell("th", c, { scope: "row" }) : cell("td", c, {}))))))));
}

function captionText(caption) {
  return typeof caption === "string" ? caption : caption.textContent ?? "table";
}

export function details(summary, ...children) {
  return h("details", {}, h("summary", {}, summary), children);
}

let used = 0;
export const freshId = (prefix) => `${prefix}-${++used}`;
