// Reads a JSON list of texts; prints what the visual editor would not keep, as a JSON list of sentences.
import { readFileSync } from "node:fs";
import { EditorState } from "prosemirror-state";
import { read } from "../../frontend/visual/reading.js";
import { schema } from "../../frontend/visual/schema.js";
import { write } from "../../frontend/visual/writing.js";

const problems = [];
const counts = { texts: 0, changes: 0, whole: 0 };

// Where two texts differ: what stands in the first, from the first to the last difference.
const difference = (before, after) => {
  let start = 0;
  while (start < before.length && before[start] === after[start]) start += 1;
  let end = before.length;
  let other = after.length;
  while (end > start && other > start && before[end - 1] === after[other - 1]) {
    end -= 1;
    other -= 1;
  }
  return before.slice(start, end);
};

const check = (source) => {
  const text = read(source);
  const { doc, origins } = text;
  counts.texts += 1;
  if (source.trim() && doc.childCount === 1 && doc.firstChild.type.name === "kept") counts.whole += 1;
  if (write(doc, text) !== source) problems.push(`not kept: ${source}\n   became: ${write(doc, text)}`);
  const state = EditorState.create({ schema, doc });
  doc.descendants((node, pos) => {
    if (!node.isTextblock) return;
    // Something is typed at the end of this text: nothing changes outside of the bytes that it was read from.
    const changed = state.apply(state.tr.insertText("Æ", pos + 1 + node.content.size)).doc;
    const written = write(changed, text);
    counts.changes += 1;
    const origin = origins[node.attrs.origin];
    const gone = difference(source, written);
    if (origin ? !origin.source.includes(gone) : gone !== "") problems.push(`${source}\n  typing into ${JSON.stringify(origin?.source)} touched ${JSON.stringify(gone)}: ${written}`);
    // What is read from it again is what was shown.
    const again = read(written);
    if (again.doc.textContent !== changed.textContent) problems.push(`${source}\n  reads as ${again.doc.textContent}, not ${changed.textContent}`);
    if (write(again.doc, again) !== written) problems.push(`${written}\n  is not kept in its turn`);
  });
};

JSON.parse(readFileSync(0, "utf8")).forEach(check);
console.log(JSON.stringify({ problems, ...counts }));
