// The toolbar and the dialogs of the visual editor.
import { toggleMark } from "prosemirror-commands";
import { redo, undo } from "prosemirror-history";
import { around, indent, insertPicture, isActive, linkHere, outdent, setLink, setText, toggleList, toggleQuote } from "./commands.js";
import { choosePicture } from "./pictures.js";
import { schema } from "./schema.js";
import { translate } from "./words.js";

const { nodes, marks } = schema;
const TEXTS = [["p", translate("Paragraph")], ["h2", translate("Heading {level}", { level: 2 })], ["h3", translate("Heading {level}", { level: 3 })], ["h4", translate("Heading {level}", { level: 4 })], ["h5", translate("Heading {level}", { level: 5 })], ["h6", translate("Heading {level}", { level: 6 })], ["h1", translate("Heading {level}", { level: 1 })]];

const mark = (icon, title, type) => ({ icon, title, run: toggleMark(type), on: (state) => isActive(state, type) });
const BUTTONS = [
  mark("format_bold", translate("Bold (Ctrl+B)"), marks.strong),
  mark("format_italic", translate("Italic (Ctrl+I)"), marks.em),
  mark("format_underlined", translate("Underline (Ctrl+U)"), marks.underline),
  mark("strikethrough_s", translate("Strikethrough"), marks.strike),
  { icon: "link", title: translate("Link (Ctrl+K)"), ask: (view, area) => askForLink(view, area), on: (state) => Boolean(linkHere(state)) },
  { icon: "format_list_bulleted", title: translate("Bulleted list"), run: toggleList("ul"), on: (state) => Boolean(around(state, nodes.list, "ul")) },
  { icon: "format_list_numbered", title: translate("Numbered list"), run: toggleList("ol"), on: (state) => Boolean(around(state, nodes.list, "ol")) },
  { icon: "format_indent_increase", title: translate("Increase indent"), run: indent },
  { icon: "format_indent_decrease", title: translate("Decrease indent"), run: outdent },
  { icon: "format_quote", title: translate("Quote"), run: toggleQuote, on: (state) => Boolean(around(state, nodes.box, "blockquote")) },
  { icon: "image", title: translate("Image"), ask: (view, area) => choosePicture(area, (src, alt) => insertPicture(src, alt)(view.state, view.dispatch)) },
  { icon: "undo", title: translate("Undo (Ctrl+Z)"), run: undo },
  { icon: "redo", title: translate("Redo (Ctrl+Y)"), run: redo },
];

// Build the toolbar for an editor view. The toolbar is a single tab stop, and arrow keys move between the buttons.
export const toolbar = (view, area) => {
  const dom = document.createElement("div");
  dom.className = "bo-visual-tools";
  dom.setAttribute("role", "toolbar");
  dom.setAttribute("aria-label", translate("Text"));
  const choice = document.createElement("select");
  choice.setAttribute("aria-label", translate("Text style"));
  choice.append(...TEXTS.map(([name, title]) => new Option(title, name)), new Option("", ""));
  choice.lastChild.hidden = true;
  choice.addEventListener("change", () => {
    if (choice.value) setText(choice.value)(view.state, view.dispatch);
    view.focus();
  });
  const buttons = BUTTONS.map(({ icon, title, run, ask }) => {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.icon = icon;
    button.title = title;
    button.setAttribute("aria-label", title.replace(/ \(.*/, ""));
    // Prevent a click on the button from removing the selection in the text.
    button.addEventListener("mousedown", (event) => event.preventDefault());
    button.addEventListener("click", () => {
      if (ask) ask(view, area);
      else {
        run(view.state, view.dispatch);
        view.focus();
      }
    });
    return button;
  });
  dom.append(choice, ...buttons);
  const stops = [choice, ...buttons];
  stops.forEach((stop, index) => stop.setAttribute("tabindex", index ? "-1" : "0"));
  dom.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = stops.at((stops.indexOf(document.activeElement) + step) % stops.length);
    stops.forEach((stop) => stop.setAttribute("tabindex", stop === next ? "0" : "-1"));
    next.focus();
  });
  const update = () => {
    const { state } = view;
    const { parent } = state.selection.$from;
    choice.value = parent.type === nodes.heading ? parent.attrs.name.toLowerCase() : [nodes.paragraph, nodes.bare].includes(parent.type) ? "p" : "";
    BUTTONS.forEach(({ on, run }, index) => {
      if (on) buttons[index].setAttribute("aria-pressed", String(on(state)));
      buttons[index].setAttribute("aria-disabled", String(Boolean(run) && !run(state)));
    });
  };
  return { dom, update };
};

// Show a modal dialog. The promise resolves to the values by name, or to null if the user cancels.
export const askFor = (title, parts, submit) => {
  const dialog = document.createElement("dialog");
  dialog.className = "bo bo-visual-dialog";
  dialog.setAttribute("aria-label", title);
  const form = document.createElement("form");
  form.method = "dialog";
  const heading = document.createElement("h2");
  heading.textContent = title;
  const actions = document.createElement("div");
  actions.className = "bo-actions";
  const button = (text, kind, act) => {
    const made = document.createElement("button");
    made.type = kind;
    made.className = "bo-button";
    made.textContent = text;
    if (act) made.addEventListener("click", act);
    return made;
  };
  const done = button(submit, "submit");
  done.classList.add("bo-primary");
  actions.append(done, button(translate("Cancel"), "button", () => dialog.close()));
  form.append(heading, ...parts, actions);
  dialog.append(form);
  document.body.append(dialog);
  return new Promise((resolve) => {
    let answer = null;
    form.addEventListener("submit", () => {
      answer = Object.fromEntries(new FormData(form));
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    dialog.answer = (values) => {
      answer = values;
      dialog.close();
    };
    dialog.showModal();
  });
};

export const field = (name, title, value, attributes = {}) => {
  const label = document.createElement("label");
  label.textContent = title;
  const input = document.createElement("input");
  Object.assign(input, { name, value, type: "text" }, attributes);
  label.append(input);
  return label;
};

// Ask for the URL of a link. The dialog includes a search for the shop's products, collections and articles.
export const askForLink = (view, area) => {
  const here = linkHere(view.state);
  const address = field("address", translate("URL"), here?.mark.attrs.href ?? "", { placeholder: "https://… or /products/…" });
  const text = view.state.selection.empty && !here ? [field("text", translate("Text"), "")] : [];
  const search = field("search", translate("Or find a product, collection or article"), "", { type: "search", autocomplete: "off" });
  const found = document.createElement("ul");
  found.className = "bo-visual-found";
  found.setAttribute("aria-live", "polite");
  let waiting;
  const look = async () => {
    const term = search.lastChild.value.trim();
    if (term.length < 2) {
      found.replaceChildren();
      return;
    }
    const answer = await fetch(`${area.dataset.links}?q=${encodeURIComponent(term)}`, { headers: { Accept: "application/json" } });
    const { links } = answer.ok ? await answer.json() : { links: null };
    if (search.lastChild.value.trim() !== term) return;
    if (!links?.length) {
      const item = document.createElement("li");
      item.textContent = links ? translate("No results.") : translate("The search is not available.");
      found.replaceChildren(item);
      return;
    }
    found.replaceChildren(
      ...links.map(({ title, kind, address: path }) => {
        const item = document.createElement("li");
        const choose = document.createElement("button");
        choose.type = "button";
        choose.append(title, " ", Object.assign(document.createElement("span"), { textContent: kind, className: "bo-subtle" }));
        choose.addEventListener("click", () => {
          address.lastChild.value = path;
          const words = text[0]?.lastChild;
          if (words && !words.value) words.value = title;
          address.lastChild.focus();
        });
        item.append(choose);
        return item;
      }),
    );
  };
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(look, 200);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
  const finder = area.dataset.links ? [search, found] : [];
  askFor(translate("Link"), [...text, address, ...finder], translate("Set link")).then((answer) => {
    if (answer) setLink(answer.address.trim(), answer.text?.trim())(view.state, view.dispatch);
    view.focus();
  });
  return true;
};
