// What the visual editor knows of HTML. Every node that was read from a source names where (`origin`), so that it goes
// out as it came in until somebody changes it; what is not known here is `kept` (a block) or `mote` (within a line):
// shown as a box, moved or removed as a whole, never rewritten. `end` is the end tag that its source lacks.
import { Schema } from "prosemirror-model";
import { translate } from "./words.js";

// Of a start tag: its name and all between it and ">", byte for byte; the end tag, null for one that is made anew; and
// what stood between this node and the next (`tail`), or between the start tag and the first child (`lead`).
const element = (name) => ({
  origin: { default: null },
  name: { default: name },
  attributes: { default: "" },
  close: { default: null },
  tail: { default: "" },
});
const container = (name) => ({ ...element(name), lead: { default: "" } });

const ALIGNED = /text-align:\s*(center|right|justify)|\balign\s*=\s*["']?(center|right|justify)/i;
const look = ({ attributes }) => {
  const [, style, attribute] = attributes.match(ALIGNED) ?? [];
  return style || attribute ? { "data-align": (style ?? attribute).toLowerCase() } : {};
};
const spans = ({ attributes }) =>
  Object.fromEntries([...attributes.matchAll(/\b(colspan|rowspan)\s*=\s*["']?(\d{1,3})/gi)].map(([, name, count]) => [name.toLowerCase(), count]));

// Pictures of this installation are shown; of others only what they are called: the panel asks no other host.
const picture = ({ pairs }) => {
  const { src = "", alt = "" } = Object.fromEntries(pairs);
  let url = null;
  try {
    url = new URL(src, "https://elsewhere.invalid");
  } catch {
    // Not an address; its text is shown.
  }
  if (url?.pathname.startsWith("/storefront/")) return ["img", { src: url.pathname + url.search, alt }];
  return ["span", { class: "bo-visual-mote", title: src }, translate("Picture: {name}", { name: alt || src.split("/").pop().split("?")[0] || translate("without an address") })];
};

const excerpt = (source) => {
  const line = source.replace(/\s+/g, " ").trim();
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
};

// A secret of this page: what was cut here can be put down again, and no other page can bring markup under this name.
const PAGE = crypto.randomUUID();
const kept = new Map();
const keep = ({ source, end }) => {
  for (const [key, known] of kept) if (known.source === source && known.end === end) return key;
  const key = `${PAGE}:${kept.size}`;
  kept.set(key, { source, end });
  return key;
};
const recall = (dom) => kept.get(dom.dataset.kept) ?? false;

const href = (dom) => {
  const address = dom.getAttribute("href") ?? "";
  return /^\s*(javascript|data|vbscript):/i.test(address) ? "" : address;
};

const SHOWN = new Set(["sub", "sup", "small", "mark", "kbd", "abbr", "q", "cite", "ins", "samp", "var"]);
const emphasis = (...names) => ({
  attrs: { name: { default: names[0] }, pairs: { default: [] } },
  parseDOM: names.map((name) => ({ tag: name, attrs: { name } })),
});

export const schema = new Schema({
  nodes: {
    doc: { content: "block+" },
    paragraph: {
      group: "block",
      content: "inline*",
      attrs: element("p"),
      parseDOM: [{ tag: "p" }],
      toDOM: ({ attrs }) => ["p", look(attrs), 0],
    },
    // Text that stands in a container, or in nothing, without a paragraph around it.
    bare: {
      group: "block",
      content: "inline*",
      attrs: element(""),
      toDOM: () => ["div", { class: "bo-visual-bare" }, 0],
    },
    heading: {
      group: "block",
      content: "inline*",
      attrs: element("h2"),
      defining: true,
      parseDOM: [1, 2, 3, 4, 5, 6].map((level) => ({ tag: `h${level}`, attrs: { name: `h${level}` } })),
      toDOM: ({ attrs }) => [attrs.name.toLowerCase(), look(attrs), 0],
    },
    pre: {
      group: "block",
      content: "inline*",
      whitespace: "pre",
      attrs: element("pre"),
      defining: true,
      parseDOM: [{ tag: "pre", preserveWhitespace: "full" }],
      toDOM: () => ["pre", 0],
    },
    box: {
      group: "block",
      content: "block+",
      attrs: container("div"),
      defining: true,
      parseDOM: [{ tag: "blockquote", attrs: { name: "blockquote" } }],
      toDOM: ({ attrs }) =>
        attrs.name.toLowerCase() === "blockquote"
          ? ["blockquote", look(attrs), 0]
          : ["div", { class: "bo-visual-box", "data-name": attrs.name.toLowerCase(), ...look(attrs) }, 0],
    },
    list: {
      group: "block",
      content: "(item | kept)+",
      attrs: container("ul"),
      parseDOM: ["ul", "ol"].map((name) => ({ tag: name, attrs: { name } })),
      toDOM: ({ attrs }) => [attrs.name.toLowerCase(), 0],
    },
    item: {
      content: "block+",
      attrs: container("li"),
      defining: true,
      parseDOM: [{ tag: "li" }],
      toDOM: () => ["li", 0],
    },
    table: {
      group: "block",
      content: "(rows | row | cell | kept)+",
      attrs: container("table"),
      isolating: true,
      toDOM: () => ["table", 0],
    },
    rows: {
      content: "(row | kept)+",
      attrs: container("tbody"),
      toDOM: ({ attrs }) => [attrs.name.toLowerCase() || "tbody", 0],
    },
    row: {
      content: "(cell | kept)+",
      attrs: container("tr"),
      toDOM: () => ["tr", 0],
    },
    // Of a table: also its caption.
    cell: {
      content: "block+",
      attrs: container("td"),
      isolating: true,
      toDOM: ({ attrs }) => [attrs.name.toLowerCase(), { ...spans(attrs), ...look(attrs) }, 0],
    },
    kept: {
      group: "block",
      atom: true,
      attrs: { source: {}, end: { default: "" }, tail: { default: "" } },
      parseDOM: [{ tag: "div[data-kept]", getAttrs: recall }],
      toDOM: ({ attrs }) => ["div", { class: "bo-visual-kept", "data-kept": keep(attrs), title: translate("Kept as it is; change it in the source") }, excerpt(attrs.source)],
    },
    mote: {
      group: "inline",
      inline: true,
      atom: true,
      attrs: { source: {}, end: { default: "" } },
      parseDOM: [{ tag: "span[data-kept]", getAttrs: recall }],
      toDOM: ({ attrs }) => ["span", { class: "bo-visual-mote", "data-kept": keep(attrs), title: translate("Kept as it is; change it in the source") }, excerpt(attrs.source)],
    },
    image: {
      group: "inline",
      inline: true,
      atom: true,
      draggable: true,
      attrs: { pairs: {} },
      parseDOM: [
        {
          tag: "img[src]",
          getAttrs: (dom) => ({ pairs: ["src", "alt"].filter((name) => dom.hasAttribute(name)).map((name) => [name, dom.getAttribute(name)]) }),
        },
      ],
      toDOM: ({ attrs }) => picture(attrs),
    },
    line_break: {
      group: "inline",
      inline: true,
      selectable: false,
      attrs: { pairs: { default: [] } },
      parseDOM: [{ tag: "br" }],
      toDOM: () => ["br"],
    },
    text: { group: "inline" },
  },
  marks: {
    link: {
      attrs: { href: { default: "" }, pairs: { default: [] } },
      inclusive: false,
      parseDOM: [{ tag: "a[href]", getAttrs: (dom) => href(dom) && { href: href(dom) } }],
      // No address: a click in the editor goes nowhere.
      toDOM: ({ attrs }) => ["a", { title: attrs.href }, 0],
    },
    // An element around text that has no button: <span style>, <font>, <small>, …; they lie within each other.
    wrap: { attrs: { name: {}, pairs: { default: [] } }, excludes: "", toDOM: ({ attrs }) => [SHOWN.has(attrs.name) ? attrs.name : "span", 0] },
    strong: { ...emphasis("strong", "b"), toDOM: () => ["strong", 0] },
    em: { ...emphasis("em", "i"), toDOM: () => ["em", 0] },
    underline: { ...emphasis("u"), toDOM: () => ["u", 0] },
    strike: { ...emphasis("s", "del", "strike"), toDOM: () => ["s", 0] },
    code: { ...emphasis("code"), toDOM: () => ["code", 0] },
  },
});
