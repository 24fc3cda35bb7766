// Editing commands of the visual editor.
import { chainCommands, createParagraphNear, exitCode, liftEmptyBlock, newlineInCode, setBlockType, splitBlock, wrapIn } from "prosemirror-commands";
import { liftListItem, sinkListItem, wrapInList } from "prosemirror-schema-list";
import { TextSelection } from "prosemirror-state";
import { canSplit } from "prosemirror-transform";
import { schema } from "./schema.js";

const { nodes, marks } = schema;

// Convert a text block to a paragraph or heading, and keep the attributes of the block.
export const setText = (name) =>
  setBlockType(name === "p" ? nodes.paragraph : nodes.heading, ({ attrs }) => ({ name, attributes: attrs.attributes, tail: attrs.tail }));

const ancestor = ($pos, test) => {
  for (let depth = $pos.depth; depth > 0; depth -= 1) if (test($pos.node(depth))) return { node: $pos.node(depth), depth, start: $pos.before(depth) };
  return null;
};
export const around = (state, type, name) =>
  ancestor(state.selection.$from, (node) => node.type === type && (!name || node.attrs.name.toLowerCase() === name));

// Remove the paragraphs around texts in lists, and add paragraphs around texts elsewhere.
const settle = (tr, from, to) => {
  tr.doc.nodesBetween(from, to, (node, pos, parent) => {
    const plain = node.type === nodes.paragraph && !node.attrs.attributes;
    if (plain && parent.type === nodes.item) tr.setNodeMarkup(pos, nodes.bare, { tail: node.attrs.tail, name: "" });
    if (node.type === nodes.bare && ![nodes.item, nodes.cell].includes(parent.type) && node.attrs.origin !== null) tr.setNodeMarkup(pos, nodes.paragraph, {});
  });
  return tr;
};

// Wrap the selection in a list of this type, change the type of its list, or lift it out of its list.
export const toggleList = (name) => (state, dispatch) => {
  const { from, to } = state.selection;
  const settled = dispatch && ((tr) => dispatch(settle(tr, Math.max(0, from - 4), Math.min(tr.doc.content.size, to + 4)).scrollIntoView()));
  const list = around(state, nodes.list);
  if (!list) return wrapInList(nodes.list, { name })(state, settled);
  if (list.node.attrs.name.toLowerCase() === name) return liftListItem(nodes.item)(state, settled);
  dispatch?.(state.tr.setNodeMarkup(list.start, null, { ...list.node.attrs, name, close: null }));
  return true;
};

export const toggleQuote = (state, dispatch) => {
  const quote = around(state, nodes.box, "blockquote");
  if (!quote) return wrapIn(nodes.box, { name: "blockquote" })(state, dispatch);
  dispatch?.(state.tr.replaceWith(quote.start, quote.start + quote.node.nodeSize, quote.node.content).scrollIntoView());
  return true;
};

const splitItem = (state, dispatch) => {
  const { $from, $to, empty } = state.selection;
  if (!$from.sameParent($to) || $from.depth < 2 || $from.node(-1).type !== nodes.item) return false;
  if (empty && !$from.parent.content.size) return liftListItem(nodes.item)(state, dispatch && ((tr) => dispatch(settle(tr, Math.max(0, $from.pos - 4), Math.min(tr.doc.content.size, $from.pos + 4)))));
  const tr = state.tr.delete($from.pos, $to.pos);
  const types = [null, { type: $from.parent.type }];
  if (!canSplit(tr.doc, $from.pos, 2, types)) return false;
  dispatch?.(tr.split($from.pos, 2, types).scrollIntoView());
  return true;
};

const newLine = (state, dispatch) => {
  dispatch?.(state.tr.replaceSelectionWith(nodes.line_break.create()).scrollIntoView());
  return true;
};

// Split a text without a paragraph into two paragraphs, except in lists and tables.
const splitBare = (state, dispatch) => {
  const { $from, $to } = state.selection;
  if ($from.parent.type !== nodes.bare || !$from.sameParent($to)) return false;
  if ($from.node(-1).type === nodes.cell) return newLine(state, dispatch);
  const tr = state.tr.delete($from.pos, $to.pos);
  tr.setNodeMarkup($from.before(), nodes.paragraph, { tail: "" });
  tr.split($from.pos, 1, [{ type: nodes.paragraph, attrs: { tail: $from.parent.attrs.tail } }]);
  dispatch?.(tr.scrollIntoView());
  return true;
};

export const enter = chainCommands(newlineInCode, splitItem, createParagraphNear, liftEmptyBlock, splitBare, splitBlock);
export const breakLine = chainCommands(exitCode, newLine);
export const indent = sinkListItem(nodes.item);
export const outdent = liftListItem(nodes.item);

// Move to the next or previous table cell (Tab and Shift+Tab).
export const goToCell = (direction) => (state, dispatch) => {
  const here = ancestor(state.selection.$from, (node) => node.type === nodes.cell);
  const table = ancestor(state.selection.$from, (node) => node.type === nodes.table);
  if (!here || !table) return false;
  const cells = [];
  table.node.descendants((node, pos) => {
    if (node.type === nodes.cell) cells.push(table.start + 1 + pos);
  });
  const next = cells[cells.indexOf(here.start) + direction];
  if (next === undefined) return false;
  dispatch?.(state.tr.setSelection(TextSelection.near(state.doc.resolve(next + 1))).scrollIntoView());
  return true;
};

export const isActive = (state, type) => {
  const { from, to, empty, $from } = state.selection;
  return empty ? Boolean(type.isInSet(state.storedMarks ?? $from.marks())) : state.doc.rangeHasMark(from, to, type);
};

// Return the range and the mark of the link at the selection, or null.
export const linkHere = (state) => {
  const { $from } = state.selection;
  const found = [$from.parent.childAfter($from.parentOffset), $from.parent.childBefore($from.parentOffset)].find(({ node }) => node && marks.link.isInSet(node.marks));
  if (!found) return null;
  const mark = marks.link.isInSet(found.node.marks);
  let first = found.index;
  let last = found.index;
  while (first > 0 && mark.isInSet($from.parent.child(first - 1).marks)) first -= 1;
  while (last + 1 < $from.parent.childCount && mark.isInSet($from.parent.child(last + 1).marks)) last += 1;
  const place = (index) => {
    let offset = $from.start();
    for (let each = 0; each < index; each += 1) offset += $from.parent.child(each).nodeSize;
    return offset;
  };
  return { mark, from: place(first), to: place(last + 1) };
};

// Set a link on the selection, or insert a link with this text. An empty URL removes the link.
export const setLink = (address, text) => (state, dispatch) => {
  const here = linkHere(state);
  const { from, to } = state.selection.empty && here ? here : state.selection;
  const tr = state.tr;
  if (!address) tr.removeMark(from, to, marks.link);
  else {
    const mark = marks.link.create({ href: address, pairs: here?.mark.attrs.pairs ?? [] });
    if (from === to) tr.replaceWith(from, to, schema.text(text || address, [mark]));
    else tr.removeMark(from, to, marks.link).addMark(from, to, mark);
  }
  dispatch?.(tr.scrollIntoView());
  return true;
};

export const insertPicture = (src, alt) => (state, dispatch) => {
  dispatch?.(state.tr.replaceSelectionWith(nodes.image.create({ pairs: [["src", src], ["alt", alt]] }), false).scrollIntoView());
  return true;
};
