// Variant grid of the product form: keyboard navigation, fill down, paste from spreadsheets, image selection.
(() => {
  "use strict";
  const sheet = document.querySelector("[data-sheet]");
  if (!sheet?.querySelector("[data-sheet-template]")) return;
  const prefix = sheet.dataset.sheet;
  const body = sheet.querySelector("[data-sheet-rows]");
  const template = sheet.querySelector("[data-sheet-template]");
  const total = sheet.querySelector(`[name="${prefix}-TOTAL_FORMS"]`);
  const said = sheet.querySelector("[data-sheet-said]");
  const counted = sheet.querySelector("[data-sheet-count]");
  const SHARED = ["price", "compare_at_price", "cost", "tracked", "inventory_policy"];
  const YES = new Set(["1", "x", "yes", "true", "on", "ja", "wahr", "✓"]);
  const NO = new Set(["0", "", "no", "false", "off", "nein", "falsch"]);
  const rows = () => [...body.querySelectorAll(":scope > [data-row]")];
  const going = (row) => Boolean(removal(row)?.checked);
  const staying = () => rows().filter((row) => !going(row));
  const removal = (row) => row.querySelector('input[type=checkbox][name$="-DELETE"]');
  const cell = (row, name) => row.querySelector(`[data-cell="${name}"]`);
  const place = (row) => row.querySelector('[name$="-place"]');
  const isShown = (input) => input.type !== "hidden" && input.offsetParent !== null;
  const cells = (row) => [...row.querySelectorAll("[data-cell]")].filter(isShown);
  const shown = () => rows().filter((row) => !row.hidden && !going(row));
  let last = null;

  const button = (words, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "bo-button";
    made.textContent = words;
    made.addEventListener("click", act);
    return made;
  };
  const say = (words, ...actions) => {
    const text = document.createElement("span");
    text.textContent = words;
    said.replaceChildren(text, ...actions);
  };
  let writing = false;
  const tell = (input) => {
    writing = true;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    input.dispatchEvent(new Event("change", { bubbles: true }));
    writing = false;
  };

  const valueOf = (input) => (input.type === "checkbox" ? (input.checked ? "yes" : "no") : input.value);
  // Write a text into a cell. Return false if the text is not valid for the cell.
  const write = (input, text) => {
    const wanted = text.trim();
    const word = wanted.toLowerCase();
    if (input.type === "checkbox") {
      if (!YES.has(word) && !NO.has(word)) return false;
      input.checked = YES.has(word);
    } else if (input.tagName === "SELECT") {
      const found = [...input.options].find((one) => one.value === wanted || one.text.trim().toLowerCase() === word);
      if (!found) return false;
      input.value = found.value;
    } else {
      input.value = wanted;
    }
    tell(input);
    return true;
  };
  const undoable = (words, before, ...actions) => {
    const undo = button(translate("Undo"), () => {
      before.forEach(([input, value]) => write(input, value));
      say(translate("Change undone."));
    });
    say(words, ...(before.length ? [undo] : []), ...actions);
  };

  const fill = (from, name) => {
    const before = [];
    const value = valueOf(from);
    const all = shown();
    all.slice(all.indexOf(from.closest("[data-row]")) + 1).forEach((row) => {
      const input = cell(row, name);
      if (!input || valueOf(input) === value) return;
      before.push([input, valueOf(input)]);
      write(input, value);
    });
    undoable(before.length === 1 ? translate("1 cell filled.") : translate("{count} cells filled.", { count: before.length }), before);
  };

  const blockOf = (text) =>
    text.replace(/\r\n?/g, "\n").replace(/\n$/, "").split("\n").map((line) =>
      line.split("\t").map((part) => (/^".*"$/s.test(part) ? part.slice(1, -1).replaceAll('""', '"') : part)));
  const paste = (event) => {
    const start = event.target.closest("[data-cell]");
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (!start || !/[\t\n]/.test(text.replace(/\r?\n$/, ""))) return;
    event.preventDefault();
    const all = shown();
    const top = all.indexOf(start.closest("[data-row]"));
    const left = cells(all[top]).indexOf(start);
    const before = [];
    let outside = 0;
    let unread = 0;
    blockOf(text).forEach((line, down) => line.forEach((part, right) => {
      const input = all[top + down] && cells(all[top + down])[left + right];
      if (!input) return (outside += 1);
      const value = valueOf(input);
      if (write(input, part)) before.push([input, value]);
      else unread += 1;
    }));
    const words = [translate("Cells pasted: {number}.", { number: before.length })];
    if (outside) words.push(translate("Cells skipped because they are outside the table: {number}.", { number: outside }));
    if (unread) words.push(translate("Cells skipped because of an invalid value: {number}.", { number: unread }));
    undoable(words.join(" "), before);
  };

  const move = (input, down, right) => {
    const all = shown();
    const row = all.indexOf(input.closest("[data-row]"));
    const column = cells(all[row]).indexOf(input);
    const next = all[row + down] && cells(all[row + down])[column + right];
    next?.focus();
    return Boolean(next);
  };
  const atEdge = (input, forward) => {
    if (input.tagName !== "INPUT" || input.type === "checkbox") return input.type === "checkbox";
    const { selectionStart: from, selectionEnd: to, value } = input;
    return (from === 0 && to === value.length) || (from === to && from === (forward ? value.length : 0));
  };
  const keys = (event) => {
    const input = event.target.closest?.("[data-cell]");
    if (!input || event.isComposing) return;
    const { key } = event;
    const held = event.ctrlKey || event.metaKey;
    let done = false;
    if (held && key.toLowerCase() === "d") {
      fill(input, input.dataset.cell);
      done = true;
    } else if (key === "Enter") {
      move(input, event.shiftKey ? -1 : 1, 0);
      done = true;
    } else if (held || event.altKey || event.shiftKey || input.tagName === "SELECT") return;
    else if (key === "ArrowDown" || key === "ArrowUp") done = move(input, key === "ArrowDown" ? 1 : -1, 0);
    else if (key === "ArrowRight" || key === "ArrowLeft")
      done = atEdge(input, key === "ArrowRight") && move(input, 0, key === "ArrowRight" ? 1 : -1);
    if (done) event.preventDefault();
  };

  const addresses = new Map();
  sheet.querySelectorAll("[data-picture]").forEach((one) => addresses.set(one.dataset.picture, one.dataset.address));
  const showPicture = (row) => {
    const box = row.querySelector("[data-cell-picture]");
    const select = cell(row, "picture");
    const address = addresses.get(select?.value);
    if (!box) return;
    select.tabIndex = select.options.length > 1 ? 0 : -1; // Tab skips the select if there is no image to choose.
    if (!address) return box.replaceChildren();
    const image = new Image(36, 36);
    image.alt = "";
    image.src = address;
    box.replaceChildren(image);
  };

  const refresh = () => {
    rows().forEach((row, index) => {
      row.classList.toggle("bo-going", going(row));
      row.hidden = going(row) && !("stored" in row.dataset);
      const title = row.querySelector("[data-row-title]").textContent.trim();
      row.querySelectorAll("[data-cell]").forEach((input) => {
        const label = input.dataset.label ?? input.getAttribute("aria-label") ?? "";
        input.dataset.label = label;
        input.setAttribute("aria-label", `${label}, ${title || index + 1}`);
      });
      removal(row)?.setAttribute("aria-label", translate("Remove {name}", { name: title || index + 1 }));
      showPicture(row);
    });
    const leaving = rows().filter((row) => going(row) && !row.hidden);
    const names = leaving.map((row) => row.querySelector("[data-row-title]").textContent.trim());
    const count = staying().length;
    const now = count === 1 ? translate("1 variant") : translate("{count} variants", { count });
    const named = `${names.slice(0, 8).join(", ")}${names.length > 8 ? "…" : ""}`;
    counted.textContent = names.length
      ? translate("{now}. Variants to be deleted with their inventory when you save: {count} ({names})", { now, count: names.length, names: named })
      : now;
  };

  const add = () => {
    const index = Number(total.value);
    const holder = document.createElement("tbody");
    holder.innerHTML = template.innerHTML.replaceAll("__prefix__", index);
    const row = holder.querySelector("[data-row]");
    const first = staying()[0];
    body.insertBefore(row, template);
    total.value = index + 1;
    if (first) SHARED.forEach((name) => {
      const [from, to] = [cell(first, name), cell(row, name)];
      if (from && to) write(to, valueOf(from));
    });
    return row;
  };
  const remove = (row, gone) => {
    const box = removal(row);
    if (box) box.checked = gone;
  };
  const order = (sorted) => {
    sorted.forEach((row, index) => {
      body.insertBefore(row, template);
      if (place(row)) place(row).value = index + 1;
    });
  };

  // After a failed save, the server renders the rows in creation order. Sort the rows by position.
  const placed = (row) => Number(place(row)?.value) || Infinity;
  rows().sort((one, other) => placed(one) - placed(other) || 0).forEach((row) => body.insertBefore(row, template));

  // Update the image choices after images were uploaded or removed. `pictures` is [{choice, label, address}].
  const offer = (pictures) => {
    pictures.forEach((one) => addresses.set(one.choice, one.address));
    [...rows(), template.content].forEach((root) => {
      const select = root.querySelector('select[data-cell="picture"]');
      if (!select) return;
      const chosen = select.value;
      [...select.options].forEach((option) => option.value.startsWith("new-") && option.remove());
      pictures.forEach((one) => select.add(new Option(one.label, one.choice)));
      select.value = [...select.options].some((option) => option.value === chosen) ? chosen : "";
    });
    refresh();
    sheet.dispatchEvent(new CustomEvent("sheet:offered"));
  };

  // A column's fill button copies the cell that was focused last, or the first cell of the column.
  sheet.querySelectorAll("th[data-column]").forEach((head) => {
    const name = head.dataset.column;
    if (!template.content.querySelector(`[data-cell="${name}"]`) || /^option\d$/.test(name)) return;
    const filler = button("", () => {
      const all = shown();
      const from = last?.dataset.cell === name && last.isConnected ? last : all[0] && cell(all[0], name);
      if (from) fill(from, name);
    });
    filler.className = "bo-fill";
    filler.tabIndex = -1; // Ctrl+D does the same, so eight more tab stops before the cells are not needed.
    filler.title = translate("Fill {name} down", { name: head.title || head.textContent.trim() });
    filler.setAttribute("aria-label", filler.title);
    head.append(filler);
  });

  body.addEventListener("keydown", keys);
  body.addEventListener("paste", paste);
  body.addEventListener("focusin", (event) => {
    const input = event.target.closest("[data-cell]");
    if (!input) return;
    last = input;
    if (input.type === "text") input.select();
  });
  body.addEventListener("change", (event) => {
    const row = event.target.closest("[data-row]");
    if (!row) return;
    if (event.target === removal(row)) {
      refresh();
      sheet.dispatchEvent(new CustomEvent("sheet:removed", { detail: row }));
    } else if (event.target.dataset.cell === "picture") {
      showPicture(row);
      if (!writing) sheet.dispatchEvent(new CustomEvent("sheet:picture", { detail: row }));
    }
  });
  sheet.classList.add("bo-sheet-on");
  sheet.querySelector("[data-sheet-help]").hidden = false;
  window.productSheet = {
    sheet, rows, staying, shown, going, cell, add, remove, order, offer, refresh, say, button, write, undoable, valueOf,
    most: Number(sheet.dataset.most), isNew: "new" in sheet.dataset,
  };
  refresh();
})();
