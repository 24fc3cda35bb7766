// The panel's code editor. It replaces every <textarea data-editor="…">, and shows the differences between the two
// textareas in every [data-diff]. Without this script, the textareas still work. `npm run build` bundles this file into
// static/panel/editor.js.
import { autocompletion, closeBrackets } from "@codemirror/autocomplete";
import { css } from "@codemirror/lang-css";
import { html } from "@codemirror/lang-html";
import { javascript } from "@codemirror/lang-javascript";
import { json } from "@codemirror/lang-json";
import { liquid } from "@codemirror/lang-liquid";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { unifiedMergeView } from "@codemirror/merge";
import { EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";
import { phrases } from "./phrases.js";
import { translate } from "./visual/words.js";

const LANGUAGES = { css, html, javascript, json, liquid: () => liquid({ base: html() }) };

// Colors use the panel's CSS variables, so that they follow the light and dark themes and keep their contrast.
const look = EditorView.theme({
  "&": { backgroundColor: "var(--bo-surface)", color: "var(--bo-strong)", fontSize: "13px", border: "1px solid var(--bo-control)", borderRadius: "8px", overflow: "hidden" },
  "&.cm-focused": { outline: "2px solid var(--bo-accent-text)" },
  ".cm-scroller": { fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, monospace', minHeight: "16rem", maxHeight: "70vh" },
  ".cm-content": { caretColor: "var(--bo-strong)" },
  ".cm-cursor": { borderLeftColor: "var(--bo-strong)" },
  ".cm-gutters": { backgroundColor: "var(--bo-raised)", color: "var(--bo-text)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in oklch, var(--bo-accent) 8%, transparent)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": { backgroundColor: "color-mix(in oklch, var(--bo-accent) 28%, transparent)" },
  ".cm-panels": { backgroundColor: "var(--bo-raised)", color: "var(--bo-strong)" },
  ".cm-textfield": { backgroundColor: "var(--bo-surface)", color: "var(--bo-strong)" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--bo-surface)", color: "var(--bo-strong)" },
  ".cm-tooltip": { backgroundColor: "var(--bo-surface)", color: "var(--bo-strong)", borderColor: "var(--bo-line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--bo-accent)", color: "#fff" },
  ".cm-changedLine": { backgroundColor: "var(--bo-good-ground) !important" },
  ".cm-deletedChunk": { backgroundColor: "var(--bo-danger-ground) !important", color: "var(--bo-strong)" },
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.tagName, tags.controlKeyword, tags.operatorKeyword], color: "var(--bo-accent-text)" },
  { tag: [tags.string, tags.attributeValue, tags.special(tags.string)], color: "var(--bo-good)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom, tags.unit, tags.color], color: "var(--bo-warn)" },
  { tag: [tags.attributeName, tags.propertyName, tags.definition(tags.variableName)], color: "var(--bo-info)" },
  { tag: [tags.comment, tags.meta], color: "var(--bo-subtle)", fontStyle: "italic" },
  { tag: tags.invalid, color: "var(--bo-danger)" },
]);

const common = (language) => [
  EditorState.phrases.of(phrases),
  basicSetup,
  autocompletion(),
  closeBrackets(),
  look,
  Prec.highest(syntaxHighlighting(colours)),
  EditorView.lineWrapping,
  ...(LANGUAGES[language] ? [LANGUAGES[language]()] : []),
];

const save = (area) => () => {
  area.form?.requestSubmit(area.form.querySelector("[data-save]") ?? undefined);
  return true;
};

// Escape leaves the editor, so that keyboard users can then reach the next field with Tab.
const leave = (view) => {
  view.contentDOM.blur();
  return true;
};

const enhance = (area) => {
  const label = area.getAttribute("aria-label") ?? area.labels?.[0]?.textContent.trim() ?? translate("Code");
  const view = new EditorView({
    doc: area.value,
    extensions: [
      Prec.high(keymap.of([{ key: "Mod-s", run: save(area), preventDefault: true }])),
      common(area.dataset.editor),
      EditorState.readOnly.of(area.readOnly || area.disabled),
      EditorView.contentAttributes.of({ "aria-label": label }),
      EditorView.updateListener.of((update) => {
        if (!update.docChanged) return;
        area.value = update.state.doc.toString();
        area.dispatchEvent(new Event("input", { bubbles: true }));
      }),
      keymap.of([{ key: "Escape", run: leave }]),
    ],
  });
  // The visual editor of the same textarea has changed the text.
  area.addEventListener("rewritten", () => {
    if (area.value !== view.state.doc.toString()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: area.value } });
  });
  area.after(view.dom);
  area.hidden = true;
  area.style.display = "none";
  // Do not change the textarea until the user edits the text, so that the line endings stay the same.
  area.dataset.enhanced = "";
};

const compare = (box) => {
  const [before, after] = box.querySelectorAll("textarea");
  const view = new EditorView({
    doc: after.value,
    extensions: [
      common(box.dataset.diff),
      EditorState.readOnly.of(true),
      EditorView.editable.of(false),
      EditorView.contentAttributes.of({ "aria-label": translate("Differences"), tabindex: "0" }),
      unifiedMergeView({ original: before.value, mergeControls: false, collapseUnchanged: { margin: 3, minSize: 6 } }),
    ],
  });
  box.querySelectorAll("textarea, label").forEach((part) => {
    part.hidden = true;
    part.style.display = "none";
  });
  box.append(view.dom);
};

const start = () => {
  document.querySelectorAll("textarea[data-editor]").forEach(enhance);
  document.querySelectorAll("[data-diff]").forEach(compare);
};
// Some pages load this script after everything else.
if (document.readyState === "complete") start();
else document.addEventListener("DOMContentLoaded", start);
