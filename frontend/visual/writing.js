// Convert the visual editor's document to HTML source. Unchanged nodes keep their source byte for byte. The writer
// generates new source for as few nodes as possible, for example only for a new list item or a changed table cell.
const TEXTS = new Set(["paragraph", "heading", "bare", "pre"]);
// Nodes without an end tag that end when the next node of the same type begins.
const IMPLIED = new Set(["item", "rows", "row", "cell"]);
const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\u00a0/g, "&nbsp;");
const quoted = (value) => value.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/\u00a0/g, "&nbsp;");
const attributes = (pairs) => pairs.map(([name, value]) => ` ${name}="${quoted(value)}"`).join("");

const opened = ({ type, attrs }) => {
  if (type.name === "link") return `<a${attributes([["href", attrs.href], ...attrs.pairs])}>`;
  return `<${attrs.name}${attributes(attrs.pairs)}>`;
};
const closed = ({ type, attrs }) => `</${type.name === "link" ? "a" : attrs.name}>`;

const inline = (node) => {
  if (node.isText) return escaped(node.text);
  if (node.type.name === "mote") return node.attrs.source + node.attrs.end;
  return `<${node.type.name === "image" ? "img" : "br"}${attributes(node.attrs.pairs)}>`;
};

// Return the inline content of a block as HTML. A mark that spans several nodes is opened only once.
const line = (block) => {
  let html = "";
  const open = [];
  const leave = (count) => {
    while (open.length > count) html += closed(open.pop());
  };
  block.forEach((node) => {
    const shared = open.findIndex((mark, index) => !node.marks[index]?.eq(mark));
    leave(shared < 0 ? open.length : shared);
    for (const mark of node.marks.slice(open.length)) {
      html += opened(mark);
      open.push(mark);
    }
    html += inline(node);
  });
  leave(0);
  return html;
};

class Writer {
  constructor(origins) {
    this.origins = origins;
  }

  // Return the original source of an unchanged node, or undefined for a changed or new node.
  asRead(node) {
    if (node.type.name === "kept") return node.attrs.source;
    const origin = this.origins[node.attrs.origin];
    return origin?.node.eq(node) ? origin.source : undefined;
  }

  children(parent) {
    let html = "";
    parent.forEach((node, _, index) => {
      const next = index + 1 < parent.childCount ? parent.child(index + 1) : null;
      html += this.block(node, index ? parent.child(index - 1) : null, next) + this.tail(node, next);
    });
    return html;
  }

  // Return the source between a node and the next node. New blocks start on a new line.
  tail(node, next) {
    const { tail } = node.attrs;
    const isNew = (each) => each.type.name !== "kept" && each.attrs.origin == null;
    return tail || (next && (isNew(node) || isNew(next)) ? "\n" : "");
  }

  // Return true if an end tag that the source omits has become necessary, because the next node has changed.
  needsEnd({ attrs, type }, next) {
    if (type.name === "kept") return Boolean(next) && (next.type.name === "bare" || this.asRead(next) === undefined);
    if (attrs.close !== "" || !attrs.name || !next || IMPLIED.has(type.name)) return false;
    if (type.name === "paragraph" && !["bare", "kept"].includes(next.type.name)) return false;
    return !this.origins[attrs.origin]?.next?.eq(next);
  }

  block(node, previous, next) {
    const source = this.asRead(node);
    const { name, attributes, close, lead } = node.attrs;
    if (node.type.name === "kept") return source + (this.needsEnd(node, next) ? node.attrs.end : "");
    const end = close === null || this.needsEnd(node, next) ? `</${name}>` : close;
    if (source !== undefined) return close === "" ? source + end : source;
    const inner = TEXTS.has(node.type.name) ? line(node) : lead + this.children(node);
    // Two adjacent texts without paragraphs would become a single text, so wrap them in paragraphs.
    if (node.type.name === "bare") return [previous, next].some((each) => each?.type.name === "bare") ? `<p>${inner}</p>` : inner;
    if (!name) return inner;
    // The parser removes the first line break of a <pre>.
    return `<${name}${attributes}>${node.type.name === "pre" && inner.startsWith("\n") ? "\n" : ""}${inner}${end}`;
  }
}

// Return the HTML source of an edited document. The second argument is the result of `read`.
export const write = (doc, { origins, lead }) => {
  const writer = new Writer(origins);
  const only = doc.childCount === 1 && doc.firstChild;
  if (only && only.isTextblock && !only.content.size && writer.asRead(only) === undefined) return "";
  return lead + writer.children(doc);
};
