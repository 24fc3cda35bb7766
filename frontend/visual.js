// The panel's visual editor. Users can edit each <textarea data-visual> visually or as HTML source. The textarea
// remains the form field and contains the HTML source, which changes only where the user edits the text (see
// visual/reading.js and visual/writing.js). `npm run build` bundles this file into static/panel/visual.js, which panel.js
// loads after the page.
import { baseKeymap, chainCommands, toggleMark } from "prosemirror-commands";
import { dropCursor } from "prosemirror-dropcursor";
import { gapCursor } from "prosemirror-gapcursor";
import { history, redo, undo } from "prosemirror-history";
import { keymap } from "prosemirror-keymap";
import { EditorState } from "prosemirror-state";
import { EditorView } from "prosemirror-view";
import { breakLine, enter, goToCell, indent, outdent } from "./visual/commands.js";
import { dropped } from "./visual/pictures.js";
import { read } from "./visual/reading.js";
import { schema } from "./visual/schema.js";
import { askForLink, toolbar } from "./visual/toolbar.js";
import { write } from "./visual/writing.js";
import { translate } from "./visual/words.js";

const { marks } = schema;
const CHOICE = "bo-visual";

const leave = (state, dispatch, view) => {
  view.dom.blur();
  return true;
};

const keys = (area) =>
  keymap({
    "Mod-b": toggleMark(marks.strong),
    "Mod-i": toggleMark(marks.em),
    "Mod-u": toggleMark(marks.underline),
    "Mod-k": (state, dispatch, view) => askForLink(view, area),
    "Mod-z": undo,
    "Mod-y": redo,
    "Shift-Mod-z": redo,
    "Mod-s": () => {
      area.form?.requestSubmit(area.form.querySelector("[data-save], [name=_continue], [type=submit]") ?? undefined);
      return true;
    },
    Enter: enter,
    "Shift-Enter": breakLine,
    // Tab works inside lists and tables. Escape leaves the editor, so that keyboard users can reach the next field.
    Tab: chainCommands(goToCell(1), indent),
    "Shift-Tab": chainCommands(goToCell(-1), outdent),
    Escape: leave,
  });

class Visual {
  constructor(area) {
    this.area = area;
    this.label = area.getAttribute("aria-label") ?? area.labels?.[0]?.textContent.trim() ?? translate("Text");
    this.frame = document.createElement("div");
    this.frame.className = "bo bo-visual";
    this.switch = this.makeSwitch();
    this.stage = document.createElement("div");
    this.frame.append(this.switch, this.stage);
    area.parentElement.querySelector(":scope > .bo-visual-preview")?.remove();
    area.before(this.frame);
    this.show(localStorage.getItem(CHOICE) !== "source");
  }

  makeSwitch() {
    const group = document.createElement("div");
    group.className = "bo-visual-switch";
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", translate("Edit mode: {label}", { label: this.label }));
    for (const [name, title] of [["visual", translate("Visual")], ["source", translate("HTML source")]]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = title;
      button.dataset.way = name;
      button.addEventListener("click", () => {
        localStorage.setItem(CHOICE, name);
        this.show(name === "visual");
        if (name === "visual") this.view.focus();
        else this.source().focus();
      });
      group.append(button);
    }
    return group;
  }

  // Return the element in which users edit the source: the code editor if there is one, otherwise the textarea.
  source() {
    const code = this.area.nextElementSibling?.matches(".cm-editor") ? this.area.nextElementSibling : null;
    return code?.querySelector(".cm-content") ?? this.area;
  }

  show(visual) {
    for (const button of this.switch.children) button.setAttribute("aria-pressed", String((button.dataset.way === "visual") === visual));
    this.view?.destroy();
    this.view = null;
    this.stage.replaceChildren();
    this.frame.toggleAttribute("data-open", visual);
    if (visual) this.open();
    // Tell the code editor, if there is one, that the text has changed.
    else this.area.dispatchEvent(new Event("rewritten"));
  }

  open() {
    this.text = read(this.area.value);
    const state = EditorState.create({
      doc: this.text.doc,
      plugins: [keys(this.area), keymap(baseKeymap), history(), dropCursor({ class: "bo-visual-drop" }), gapCursor()],
    });
    const fixed = this.area.readOnly || this.area.disabled;
    const place = document.createElement("div");
    this.stage.append(place);
    this.view = new EditorView({ mount: place }, {
      state,
      editable: () => !fixed,
      attributes: { class: "bo-visual-text", role: "textbox", "aria-multiline": "true", "aria-label": this.label, tabindex: "0" },
      handleDOMEvents: { drop: dropped(this.area), paste: dropped(this.area) },
      dispatchTransaction: (transaction) => {
        this.view.updateState(this.view.state.apply(transaction));
        if (transaction.docChanged) this.store();
        this.tools?.update();
      },
    });
    if (fixed) return;
    this.tools = toolbar(this.view, this.area);
    this.stage.prepend(this.tools.dom);
    this.tools.update();
  }

  store() {
    this.area.value = write(this.view.state.doc, this.text);
    this.area.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

document.querySelectorAll("textarea[data-visual]").forEach((area) => new Visual(area));
