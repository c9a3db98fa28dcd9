// Small builders: every text goes in as text, never as markup.

let used = 0;
const freshId = (prefix) => `${prefix}-${++used}`;

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

// A cell of a class, where a plain one is a text, a node or a list of both.
export const as = (name, content) => ({ name, content });

// Rows are arrays of cells; the first is the row's header.
export function table(caption, columns, rows, options = {}) {
  const cell = (tag, content, more) => {
    const own = content !== null && typeof content === "object" && "content" in content ? content : as(null, content);
    return h(tag, { class: own.name, ...more }, own.content);
  };
  const id = freshId("caption");
  return h("div", {},
    h("p", { class: "caption", id }, caption),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-labelledby": id },
      h("table", { class: options.class, "aria-labelledby": id },
        h("thead", {}, h("tr", {}, columns.map((c) => cell("th", c, { scope: "col" })))),
        h("tbody", {}, rows.map((row) =>
          h("tr", { class: row.class }, row.map((c, i) => (i === 0 ? cell("th", c, { scope: "row" }) : cell("td", c, {})))))))));
}

export function details(summary, ...children) {
  return h("details", {}, h("summary", {}, summary), children);
}

