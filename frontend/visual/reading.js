// Parse HTML source into a document for the visual editor. Each node stores its part of the source, and no part of the
// source is lost, so that writing.js can write unchanged nodes back byte for byte.
//
// If the parser moves nodes away from their position in the source (such as text in a table, or a <b> that starts in
// one paragraph and ends in the next), the surrounding element becomes a single uneditable node.
import { parseFragment } from "parse5";
import { schema } from "./schema.js";

const HTML = "http://www.w3.org/1999/xhtml";
const MARKS = { a: "link", b: "strong", strong: "strong", i: "em", em: "em", u: "underline", s: "strike", del: "strike", strike: "strike", code: "code" };
const WRAPS = new Set(["abbr", "acronym", "bdi", "bdo", "big", "cite", "data", "dfn", "font", "ins", "kbd", "mark", "q", "samp", "small", "span", "sub", "sup", "time", "tt", "var"]);
const TEXTS = { p: "paragraph", h1: "heading", h2: "heading", h3: "heading", h4: "heading", h5: "heading", h6: "heading", pre: "pre" };
const BOXES = new Set(["article", "aside", "blockquote", "center", "details", "div", "figure", "figcaption", "footer", "header", "main", "nav", "section"]);
// Editable children of lists and tables. Any other child becomes a single uneditable node.
const PARTS = {
  ul: { li: "item" },
  ol: { li: "item" },
  table: { thead: "rows", tbody: "rows", tfoot: "rows", tr: "row", caption: "cell" },
  thead: { tr: "row" },
  tbody: { tr: "row" },
  tfoot: { tr: "row" },
  tr: { td: "cell", th: "cell" },
};
const NESTED = { ul: "list", ol: "list", table: "table" };
const VOID = new Set(["area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen", "link", "meta", "param", "source", "track", "wbr"]);
// Elements without an end tag that the parser continues in the next paragraph.
const FORMATTING = new Set(["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"]);
// Elements whose content the parser does not parse as HTML. The last two may even ignore an existing end tag.
const RAW = new Set(["iframe", "noembed", "noframes", "style", "textarea", "title", "xmp", "plaintext", "script"]);
const ENDLESS = new Set(["plaintext", "script"]);
const DEEPEST = 60;

class Misplaced extends Error {}

const isElement = (node) => node.namespaceURI === HTML && !node.tagName.includes("-");
const pairs = (node) => node.attrs.map(({ name, value }) => [name, value]);
const isFormatting = (node) => node.namespaceURI === HTML && FORMATTING.has(node.tagName);
const isOpen = ({ sourceCodeLocation: place }) => Boolean(place?.startTag && !place.endTag);
const isBlank = (text) => !/[^ \t\n\r\f]/.test(text);

// Sibling blocks and the source between them. The source after a block is the block's tail.
class Row {
  constructor(reader, start) {
    this.reader = reader;
    this.cursor = start;
    this.lead = "";
    this.found = [];
  }

  reach(to) {
    const between = this.reader.slice(this.cursor, to);
    this.cursor = to;
    if (this.found.length) this.found.at(-1).tail += between;
    else this.lead += between;
  }

  add(block, from, to) {
    this.reach(from);
    this.found.push({ block, tail: "" });
    this.cursor = to;
  }

  // Return the nodes up to the end of their parent. A node without an end tag stores its next sibling.
  nodes(end) {
    this.reach(end);
    const { origins } = this.reader;
    const content = this.found.map(({ block, tail }) => {
      const node = tail ? block.type.create({ ...block.attrs, tail }, block.content) : block;
      if (node.attrs.origin != null) origins[node.attrs.origin].node = node;
      return node;
    });
    content.forEach(({ attrs }, index) => {
      if (attrs.close === "") origins[attrs.origin].next = content[index + 1];
    });
    return content;
  }
}

// Return the source offsets of elements that the parser split, such as a <b> that spans two paragraphs.
const splitAmong = (nodes) => {
  const seen = new Set();
  const split = new Set();
  const walk = (node) => {
    const start = isFormatting(node) ? node.sourceCodeLocation?.startOffset : undefined;
    if (start !== undefined) (seen.has(start) ? split : seen).add(start);
    node.childNodes?.forEach(walk);
  };
  nodes.forEach(walk);
  return split;
};

class Reader {
  constructor(source, nodes) {
    this.source = source;
    this.split = splitAmong(nodes);
    // The original nodes with their source, by index.
    this.origins = [];
  }

  slice = (from, to) => this.source.slice(from, to);

  // Create a node and register its source as an origin.
  originate(type, attrs, content, source) {
    const origin = this.origins.length;
    const node = schema.nodes[type].createChecked({ ...attrs, origin }, content);
    this.origins.push({ node, source });
    return node;
  }

  span(node) {
    const place = node.sourceCodeLocation;
    if (place) return [place.startOffset, place.endOffset + this.otherEnd(node).length];
    // An implied element such as <tbody> has no tags in the source. Return the range of its children.
    const children = node.childNodes ?? [];
    if (!children.length) throw new Misplaced();
    return [this.span(children[0])[0], this.span(children.at(-1))[1]];
  }

  // Return the end tag that closes a heading although the tag has a different level, such as </h3> after <h2>.
  otherEnd(node) {
    if (!/^h[1-6]$/.test(node.tagName) || !isOpen(node)) return "";
    const { endOffset } = node.sourceCodeLocation;
    return this.slice(endOffset, endOffset + 40).match(/^<\/h[1-6]\s*>/i)?.[0] ?? "";
  }

  // Return the parts of an element's tags and the range of its content.
  tags(node) {
    const place = node.sourceCodeLocation;
    const [start, end] = this.span(node);
    if (!place) return { name: "", attributes: "", close: "", inner: [start, end] };
    if (!place.startTag) throw new Misplaced();
    const open = this.slice(start, place.startTag.endOffset);
    const [, name, attributes] = open.match(/^<([^\s/>]+)([^]*)>$/) ?? [];
    if (name?.toLowerCase() !== node.tagName) throw new Misplaced();
    const last = place.endTag?.startOffset ?? place.endOffset;
    return { name, attributes, close: this.slice(last, end), inner: [place.startTag.endOffset, last] };
  }

  // Return the children with their source ranges as [node, start, end]. Throw if the children are out of order.
  placed(nodes, start, end) {
    let cursor = start;
    return nodes.map((node) => {
      const [from, to] = this.span(node);
      if (from < cursor || to < from || to > end) throw new Misplaced();
      cursor = to;
      return [node, from, to];
    });
  }

  // Return the blocks in a source range, and the source before the first block. No part of the range is lost.
  blocks(nodes, start, end, depth) {
    const row = new Row(this, start);
    let run = [];
    const isFull = ([node]) => node.nodeName !== "#text" || !isBlank(node.value);
    const finish = () => {
      const part = run.slice(run.findIndex(isFull), run.findLastIndex(isFull) + 1);
      if (part.length) {
        const [from, to] = [part[0][1], part.at(-1)[2]];
        row.add(this.bare(part, from, to), from, to);
      }
      run = [];
    };
    for (const placed of this.placed(nodes, start, end)) {
      const [node, from, to] = placed;
      if (this.isInline(node) || (run.some(isFull) && !this.isBlock(node))) {
        run.push(placed);
        continue;
      }
      finish();
      row.add(this.block(node, depth), from, to);
    }
    finish();
    const content = row.nodes(end);
    return { lead: row.lead, content };
  }

  isInline(node) {
    return node.nodeName === "#text" || (isElement(node) && (node.tagName in MARKS || WRAPS.has(node.tagName) || ["br", "img", "wbr"].includes(node.tagName)));
  }

  isBlock(node) {
    return isElement(node) && (node.tagName in TEXTS || BOXES.has(node.tagName) || node.tagName in NESTED);
  }

  // Return unknown HTML as a single block or inline node that cannot be edited.
  kept(type, node, marks) {
    this.goesOn(node);
    const own = isOpen(node) && !this.otherEnd(node) && !VOID.has(node.tagName) ? `</${node.tagName}>` : "";
    const end = this.openWithin(node).map((name) => `</${name}>`).join("") + own;
    return type.create({ source: this.slice(...this.span(node)), end }, null, marks);
  }

  // Return the names of the unclosed elements that the parser would continue after an element, innermost first.
  openWithin(node) {
    const inner = (node.childNodes ?? []).toReversed();
    return inner.flatMap((child) => [...this.openWithin(child), ...(this.goesOn(child) ? [child.tagName] : [])]);
  }

  goesOn(node) {
    if (node.namespaceURI !== HTML || !isOpen(node)) return false;
    if (ENDLESS.has(node.tagName)) throw new Misplaced();
    return RAW.has(node.tagName) || (isFormatting(node) && !this.split.has(node.sourceCodeLocation.startOffset));
  }

  block(node, depth) {
    if (!this.isBlock(node) || depth > DEEPEST) return this.kept(schema.nodes.kept, node);
    const before = this.origins.length;
    try {
      if (node.tagName in TEXTS) return this.text(node);
      if (BOXES.has(node.tagName)) return this.box("box", node, depth);
      return this.parts(NESTED[node.tagName], node, depth);
    } catch (problem) {
      if (!(problem instanceof Misplaced || problem instanceof RangeError)) throw problem;
      this.origins.length = before;
      return this.kept(schema.nodes.kept, node);
    }
  }

  text(node) {
    const { name, attributes, close, inner } = this.tags(node);
    const content = this.inlines(this.placed(node.childNodes, ...inner), node.tagName === "pre");
    return this.originate(TEXTS[node.tagName], { name, attributes, close }, content, this.slice(...this.span(node)));
  }

  bare(placed, from, to) {
    return this.originate("bare", {}, this.inlines(placed, false), this.slice(from, to));
  }

  box(type, node, depth) {
    const { name, attributes, close, inner } = this.tags(node);
    const { lead, content } = this.blocks(node.childNodes, ...inner, depth + 1);
    const attrs = { name, attributes, close, lead };
    return this.originate(type, attrs, content.length ? content : [schema.nodes.bare.create()], this.slice(...this.span(node)));
  }

  parts(type, node, depth) {
    const { name, attributes, close, inner } = this.tags(node);
    const row = new Row(this, inner[0]);
    for (const [child, from, to] of this.placed(node.childNodes, ...inner)) {
      // Whitespace between rows becomes the tail of the previous row.
      if (child.nodeName !== "#text" || !isBlank(child.value)) row.add(this.part(child, PARTS[node.tagName], depth + 1), from, to);
    }
    const content = row.nodes(inner[1]);
    return this.originate(type, { name, attributes, close, lead: row.lead }, content, this.slice(...this.span(node)));
  }

  part(node, known, depth) {
    const type = isElement(node) && depth <= DEEPEST ? known[node.tagName] : undefined;
    if (!type) return this.kept(schema.nodes.kept, node);
    return ["item", "cell"].includes(type) ? this.box(type, node, depth) : this.parts(type, node, depth);
  }

  // Parse inline content. Whitespace is collapsed as in browsers unless `blanks` is true.
  inlines(placed, blanks) {
    const found = [];
    const walk = (nodes, marks) => nodes.forEach((node) => this.inline(node, marks, found, walk));
    walk(placed.map(([node]) => node), []);
    return blanks ? found.map(({ text, node, marks }) => node ?? schema.text(text, marks)) : collapsed(found);
  }

  inline(node, marks, found, walk) {
    if (node.nodeName === "#text") {
      found.push({ text: node.value, marks });
      return;
    }
    if (this.split.has(node.sourceCodeLocation?.startOffset)) throw new Misplaced();
    const name = isElement(node) ? node.tagName : "";
    if (name === "br") found.push({ node: schema.nodes.line_break.create({ pairs: pairs(node) }, null, marks), breaks: true });
    else if (name === "img") found.push({ node: schema.nodes.image.create({ pairs: pairs(node) }, null, marks) });
    else if ((name in MARKS || WRAPS.has(name)) && this.isFull(node)) walk(node.childNodes, markOf(node, name).addToSet(marks));
    else found.push({ node: this.kept(schema.nodes.mote, node, marks) });
  }

  // Return true if an element has content but contains no blocks. An empty element would be lost if it became a mark.
  isFull(node) {
    const place = node.sourceCodeLocation;
    if (!place?.startTag) return false;
    const { childNodes: children } = node;
    this.placed(children, place.startTag.endOffset, place.endTag?.startOffset ?? place.endOffset);
    return children.length > 0 && !children.some((child) => this.isBlock(child) || this.holdsBlock(child));
  }

  holdsBlock(node) {
    return this.isInline(node) && (node.childNodes ?? []).some((child) => this.isBlock(child) || this.holdsBlock(child));
  }
}

const markOf = (node, name) => {
  const type = schema.marks[MARKS[name] ?? "wrap"];
  if (name !== "a") return type.create({ name, pairs: pairs(node) });
  const href = node.attrs.find((attr) => attr.name === "href")?.value ?? "";
  return type.create({ href, pairs: pairs(node).filter(([each]) => each !== "href") });
};

// Collapse whitespace as browsers do: several characters become one space, and spaces at the ends are removed.
const collapsed = (found) => {
  let blank = true;
  const nodes = [];
  for (const { text, node, marks, breaks } of found) {
    if (node) {
      if (breaks) trimEnd(nodes);
      nodes.push(node);
      blank = Boolean(breaks);
      continue;
    }
    let shown = text.replace(/[ \t\n\r\f]+/g, " ");
    if (blank) shown = shown.replace(/^ /, "");
    if (!shown) continue;
    blank = shown.endsWith(" ");
    nodes.push(schema.text(shown, marks));
  }
  trimEnd(nodes);
  return nodes;
};

const trimEnd = (nodes) => {
  const last = nodes.at(-1);
  if (!last?.isText || !last.text.endsWith(" ")) return;
  nodes.pop();
  if (last.text.length > 1) nodes.push(schema.text(last.text.slice(0, -1), last.marks));
};

// Parse HTML source. Return the document (`doc`), the original nodes with their source (`origins`) and the source
// before the first node (`lead`). `write` needs all three.
export const read = (source) => {
  const { childNodes } = parseFragment(source, { sourceCodeLocationInfo: true });
  const reader = new Reader(source, childNodes);
  try {
    const { lead, content } = reader.blocks(childNodes, 0, source.length, 0);
    const doc = schema.nodes.doc.createChecked(null, content.length ? content : [schema.nodes.paragraph.create()]);
    return { doc, origins: reader.origins, lead };
  } catch (problem) {
    if (!(problem instanceof Misplaced || problem instanceof RangeError)) throw problem;
    return { doc: schema.nodes.doc.create(null, [schema.nodes.kept.create({ source })]), origins: [], lead: "" };
  }
};
