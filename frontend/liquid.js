// Warn before invalid Liquid is saved in the published theme. Forms with [data-liquid] edit a file of this theme. Only
// the syntax is checked, including the tags that themes add to Liquid. The check runs in the browser, so that large
// files cannot block the server. `npm run build` bundles this file into static/panel/liquid.js.
import { Liquid, Tag } from "liquidjs";
import { inWords } from "./liquid_errors.js";
import { translate } from "./visual/words.js";

const engine = new Liquid();

const unclosed = (token) => new Error(translate("tag {tag} is never closed", { tag: token.getText() }));

// A tag that does not open a block.
class Line extends Tag {
  *render() {}
}

// A block tag that contains Liquid.
const block = (name) =>
  class extends Line {
    constructor(token, remaining, liquid, parser) {
      super(token, remaining, liquid);
      const stream = parser
        .parseStream(remaining)
        .on(`tag:end${name}`, () => stream.stop())
        .on("end", () => {
          throw unclosed(token);
        });
      stream.start();
    }
  };

// A block tag that contains code in another language, which is not parsed.
const foreign = (name) =>
  class extends Line {
    constructor(token, remaining, liquid) {
      super(token, remaining, liquid);
      const end = remaining.findIndex((one) => one.name === `end${name}`);
      if (end < 0) throw unclosed(token);
      remaining.splice(0, end + 1);
    }
  };

for (const name of ["content_for", "layout", "section", "sections"]) engine.registerTag(name, Line);
for (const name of ["form", "ifchanged", "paginate", "style"]) engine.registerTag(name, block(name));
for (const name of ["doc", "javascript", "schema", "stylesheet"]) engine.registerTag(name, foreign(name));

// Return the first syntax error in a text, or "" if there is none.
const flawIn = (text) => {
  try {
    engine.parse(text);
    return "";
  } catch (error) {
    if (error instanceof RangeError || error.originalError instanceof RangeError) return translate("tags are nested too deeply");
    const said = (error.originalError?.message ?? error.message).split("\n")[0].replace(/, line:\d+, col:\d+$/, "");
    const reason = inWords(said);
    const line = error.token?.getPosition?.()[0];
    return line ? translate("line {line}: {reason}", { line, reason }) : reason;
  }
};

for (const form of document.querySelectorAll("form[data-liquid]")) {
  const area = form.querySelector("textarea[data-editor]");
  if (!area) continue;
  const note = form.querySelector("[data-liquid-note]");
  const anyway = note.querySelector("button");
  let accepted = null;
  form.addEventListener(
    "submit",
    (event) => {
      const text = area.value;
      const flaw = flawIn(text);
      note.hidden = !flaw;
      if (!flaw || text === accepted) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      note.querySelector("[data-liquid-flaw]").textContent = flaw;
      anyway.onclick = () => {
        accepted = text;
        form.requestSubmit();
      };
      anyway.focus();
    },
    true,
  );
}
