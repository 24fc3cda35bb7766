// The ProseMirror schema of the visual editor. Every parsed node has a reference to its source (`origin`), so that
// unchanged nodes are written back byte for byte. Unknown HTML becomes a `kept` node (block) or a `mote` node (inline).
// Users see these nodes as boxes, and can only move or delete them. `end` is the end tag that is missing in the source.
import { Schema } from "prosemirror-model";
import { translate } from "./words.js";

// The attributes of an element node: the name and the attributes of the start tag (byte for byte), the end tag (`close`,
// null for a new element), the source between this node and the next node (`tail`), and the source between the start tag
// and the first child (`lead`).
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

// Show images of this installation. Show only the names of other images, because the panel must not load anything from
// other hosts.
const picture = ({ pairs }) => {
  const { src = "", alt = "" } = Object.fromEntries(pairs);
  let url = null;
  try {
    url = new URL(src, "https://elsewhere.invalid");
  } catch {
    // The source is not a URL, so show the text.
  }
  if (url?.pathname.startsWith("/storefront/")) return ["img", { src: url.pathname + url.search, alt }];
  return ["span", { class: "bo-visual-mote", title: src }, translate("Image: {name}", { name: alt || src.split("/").pop().split("?")[0] || translate("no URL") })];
};

const excerpt = (source) => {
  const line = source.replace(/\s+/g, " ").trim();
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
};

// A random ID of this page. Users can cut and paste nodes within the page, but other pages cannot insert HTML, because
// they do not know the ID.
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
    // Text without a paragraph, directly in a container or at the top level.
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
    // A table cell or caption.
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
      toDOM: ({ attrs }) => ["div", { class: "bo-visual-kept", "data-kept": keep(attrs), title: translate("This part can't be edited here. Edit the HTML source instead.") }, excerpt(attrs.source)],
    },
    mote: {
      group: "inline",
      inline: true,
      atom: true,
      attrs: { source: {}, end: { default: "" } },
      parseDOM: [{ tag: "span[data-kept]", getAttrs: recall }],
      toDOM: ({ attrs }) => ["span", { class: "bo-visual-mote", "data-kept": keep(attrs), title: translate("This part can't be edited here. Edit the HTML source instead.") }, excerpt(attrs.source)],
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
      // The link has no href, so that a click in the editor does not leave the page.
      toDOM: ({ attrs }) => ["a", { title: attrs.href }, 0],
    },
    // An inline element without a toolbar button, such as <span style>, <font> or <small>. These elements can be
    // nested.
    wrap: { attrs: { name: {}, pairs: { default: [] } }, excludes: "", toDOM: ({ attrs }) => [SHOWN.has(attrs.name) ? attrs.name : "span", 0] },
    strong: { ...emphasis("strong", "b"), toDOM: () => ["strong", 0] },
    em: { ...emphasis("em", "i"), toDOM: () => ["em", 0] },
    underline: { ...emphasis("u"), toDOM: () => ["u", 0] },
    strike: { ...emphasis("s", "del", "strike"), toDOM: () => ["s", 0] },
    code: { ...emphasis("code"), toDOM: () => ["code", 0] },
  },
});
