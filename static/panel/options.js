// The option values of a product, shown as chips. Adding a value creates variants. Removing a value removes its
// variants.
(() => {
  "use strict";
  const box = document.querySelector("[data-options]");
  const table = window.productSheet;
  if (!box || !table) return;
  const DEFAULT = "Default Title";
  const COLUMNS = ["option1", "option2", "option3"];

  // The server expects comma-separated values. A value that contains a comma is quoted.
  const read = (line) =>
    [...line.matchAll(/\s*("(?:[^"]|"")*"|[^,]*)\s*(?:,|$)/g)]
      .map(([, part]) => (part.startsWith('"') && part.length > 1 ? part.slice(1, -1).replaceAll('""', '"') : part).trim())
      .filter(Boolean);
  const lineOf = (values) =>
    values.map((one) => (one.includes(",") || one.startsWith('"') ? `"${one.replaceAll('"', '""')}"` : one)).join(", ");

  const groups = [...box.querySelectorAll("[data-option]")].map((root) => ({
    root,
    id: root.querySelector("[data-option-id]"),
    name: root.querySelector("[data-option-name]"),
    line: root.querySelector("[data-option-values]"),
    values: read(root.querySelector("[data-option-values]").value),
  }));
  const active = () => groups.filter((group) => group.values.length || group.name.value.trim());
  const held = new Map();
  const of = (row) => held.get(row) ?? held.set(row, new Map()).get(row);
  const same = (one, other) => active().every((group) => (of(one).get(group) ?? "") === (of(other).get(group) ?? ""));

  const start = () => {
    const named = groups.filter((group) => group.name.value.trim() || group.values.length);
    table.rows().forEach((row) => {
      named.forEach((group, index) => {
        const value = table.cell(row, COLUMNS[index])?.value ?? "";
        if (value && value !== DEFAULT) {
          of(row).set(group, value);
          if (!group.values.includes(value)) group.values.push(value);
        }
      });
    });
  };

  const save = () => {
    const named = active();
    groups.forEach((group) => (group.line.value = lineOf(group.values)));
    table.rows().forEach((row) => {
      COLUMNS.forEach((column, index) => {
        const input = table.cell(row, column);
        if (input) input.value = (named[index] && of(row).get(named[index])) ?? "";
      });
      const title = named.map((group) => of(row).get(group)).filter(Boolean).join(" / ");
      row.querySelector("[data-row-title]").textContent = title || translate("Default variant");
    });
    table.refresh();
    table.sheet.dispatchEvent(new CustomEvent("options:changed"));
  };

  const sort = () => {
    const named = active();
    const ranks = (row) => named.map((group) => group.values.indexOf(of(row).get(group)));
    table.order(table.rows().sort((one, other) => {
      const [a, b] = [ranks(one), ranks(other)];
      const at = a.findIndex((rank, index) => rank !== b[index]);
      return at < 0 ? 0 : a[at] - b[at];
    }));
  };

  const combinations = (group, value) =>
    active().filter((one) => one !== group && one.values.length).reduce(
      (made, one) => made.flatMap((row) => one.values.map((each) => new Map(row).set(one, each))),
      [new Map([[group, value]])],
    );

  const addValue = (group, text) => {
    const value = text.replace(/\s+/g, " ").trim().slice(0, 255);
    if (!value) return true;
    if (group.values.some((one) => one.toLowerCase() === value.toLowerCase())) {
      table.say(translate("“{value}” already exists.", { value }));
      return true;
    }
    const before = group.values.length;
    const wanted = combinations(group, value);
    if (before && table.staying().length + wanted.length > table.most) {
      table.say(
        translate("“{value}” would create more than {limit} variants, the maximum for this form.", { value, limit: table.most }),
      );
      return false;
    }
    group.values.push(value);
    if (!before) {
      table.rows().forEach((row) => of(row).set(group, value));
    } else {
      wanted.forEach((combination) => {
        const there = table.rows().find((row) => active().every((one) => of(row).get(one) === combination.get(one)));
        const row = there ?? table.add();
        if (there) table.remove(there, false);
        combination.forEach((each, one) => of(row).set(one, each));
      });
      if (table.isNew) sort();
    }
    save();
    const count = table.staying().length;
    table.say(
      count === 1
        ? translate("“{value}” added. The product now has 1 variant.", { value })
        : translate("“{value}” added. The product now has {count} variants.", { value, count }),
    );
    return true;
  };

  const removeValue = (group, value) => {
    const rows = table.staying().filter((row) => of(row).get(group) === value);
    const others = group.values.length > 1;
    group.values = group.values.filter((one) => one !== value);
    if (others) rows.forEach((row) => table.remove(row, true));
    else rows.forEach((row) => of(row).delete(group));
    draw(group);
    save();
    const undo = table.button(translate("Undo"), () => {
      group.values.push(value);
      rows.forEach((row) => {
        of(row).set(group, value);
        table.remove(row, false);
      });
      draw(group);
      save();
      table.say(translate("Change undone."));
    });
    const titles = rows.map((row) => row.querySelector("[data-row-title]").textContent.trim());
    const go = titles.slice(0, 8).join(", ");
    const said = titles.length > 8
      ? translate("“{value}” removed. Variants also removed: {titles} and {number} more.", { value, titles: go, number: titles.length - 8 })
      : translate("“{value}” removed. Variants also removed: {titles}.", { value, titles: go });
    table.say(others && rows.length ? said : translate("“{value}” removed.", { value }), undo);
  };

  const rename = (group, value, text) => {
    const wanted = text.replace(/\s+/g, " ").trim().slice(0, 255);
    if (!wanted || wanted === value) return;
    if (group.values.some((one) => one !== value && one.toLowerCase() === wanted.toLowerCase())) {
      table.say(translate("“{value}” already exists.", { value: wanted }));
      return;
    }
    group.values = group.values.map((one) => (one === value ? wanted : one));
    table.rows().forEach((row) => of(row).get(group) === value && of(row).set(group, wanted));
    save();
  };

  const shift = (group, value, by) => {
    const at = group.values.indexOf(value);
    const to = at + by;
    if (to < 0 || to >= group.values.length) return;
    group.values.splice(to, 0, ...group.values.splice(at, 1));
    sort();
    save();
    table.say(translate("{value}: position {place} of {number}.", { value, place: to + 1, number: group.values.length }));
  };

  const small = (words, name, act) => {
    const made = table.button(words, act);
    made.className = "bo-chip-part";
    made.setAttribute("aria-label", name);
    return made;
  };

  const edit = (group, chip, value) => {
    const input = document.createElement("input");
    input.value = value;
    input.maxLength = 255;
    input.className = "bo-chip-input";
    input.setAttribute("aria-label", translate("Rename {value}", { value }));
    let ended = false;
    const end = (keep) => {
      if (ended) return;
      ended = true;
      if (keep) rename(group, value, input.value);
      const place = group.values.indexOf(value) < 0 ? [...chip.parentElement.children].indexOf(chip) : group.values.indexOf(value);
      draw(group);
      group.chips.children[place]?.querySelector("button")?.focus();
    };
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      end(event.key === "Enter");
    });
    input.addEventListener("blur", () => end(true));
    chip.replaceChildren(input);
    input.focus();
    input.select();
  };

  const chipOf = (group, value, index) => {
    const chip = document.createElement("li");
    chip.className = "bo-chip";
    const name = small(value, translate("Rename {value}", { value }), () => edit(group, chip, value));
    const moved = (by) => () => {
      shift(group, value, by);
      draw(group);
      const place = group.values.indexOf(value);
      const [, back, on] = group.chips.children[place].querySelectorAll("button");
      (by < 0 ? back : on)?.focus();
    };
    const back = small("‹", translate("Earlier: {name}", { name: value }), moved(-1));
    const on = small("›", translate("Later: {name}", { name: value }), moved(1));
    back.disabled = index === 0;
    on.disabled = index === group.values.length - 1;
    const gone = small("×", translate("Remove {name}", { name: value }), () => {
      removeValue(group, value);
      group.entry.focus();
    });
    chip.append(name, back, on, gone);
    return chip;
  };

  const draw = (group) => group.chips.replaceChildren(...group.values.map((value, index) => chipOf(group, value, index)));

  const dropOption = (group) => {
    const rows = table.staying();
    group.values = [];
    group.name.value = "";
    group.id.value = "";
    table.rows().forEach((row) => of(row).delete(group));
    const doubles = rows.filter((row, index) => rows.slice(0, index).some((other) => same(row, other)));
    doubles.forEach((row) => table.remove(row, true));
    group.root.hidden = true;
    more.hidden = false;
    draw(group);
    save();
    table.say(doubles.length
      ? translate("Option removed. Duplicate variants that will be deleted when you save: {number}.", { number: doubles.length })
      : translate("Option removed."));
    more.focus();
  };

  const more = table.button(translate("Add another option"), () => {
    const next = groups.find((group) => group.root.hidden);
    if (!next) return;
    next.root.hidden = false;
    more.hidden = !groups.some((group) => group.root.hidden);
    next.name.focus();
  });

  groups.forEach((group, index) => {
    group.root.hidden = "optionUnused" in group.root.dataset && !group.values.length;
    const line = group.root.querySelector("[data-option-line]");
    line.hidden = true;
    const values = document.createElement("div");
    values.className = "bo-field bo-option-line";
    group.entry = document.createElement("input");
    group.entry.id = `option-${index}-new`;
    group.entry.autocomplete = "off";
    group.entry.placeholder = translate("Type a value and press Enter");
    const label = document.createElement("label");
    label.htmlFor = group.entry.id;
    label.textContent = translate("Values of option {number}", { number: index + 1 });
    group.chips = document.createElement("ul");
    group.chips.className = "bo-chips";
    const enter = () => {
      const left = group.entry.value.split(",").filter((part) => !addValue(group, part));
      group.entry.value = left.join(",");
      draw(group);
    };
    group.entry.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "Enter" || event.key === ",") {
        event.preventDefault();
        enter();
      } else if (event.key === "Backspace" && !group.entry.value && group.values.length) {
        group.chips.lastElementChild.querySelector("button:last-child").focus();
      }
    });
    group.entry.addEventListener("input", () => group.entry.value.includes(",") && enter());
    group.entry.addEventListener("blur", enter);
    group.name.addEventListener("input", save);
    group.name.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      group.entry.focus();
    });
    values.append(label, group.chips, group.entry);
    group.root.append(values);
    if (index) {
      const drop = table.button(translate("Remove"), () => dropOption(group));
      drop.setAttribute("aria-label", translate("Remove option {number}", { number: index + 1 }));
      group.root.append(drop);
    }
  });
  box.append(more);

  // Removing a row removes the option values that no other row uses. Restoring the row restores these values.
  table.sheet.addEventListener("sheet:removed", () => {
    active().forEach((group) => {
      const used = new Set(table.staying().map((row) => of(row).get(group)).filter(Boolean));
      if (!used.size) return;
      group.values = [...group.values.filter((value) => used.has(value)), ...[...used].filter((value) => !group.values.includes(value))];
      draw(group);
    });
    save();
  });

  // Offer to use the image of a variant for all variants of the same color.
  table.sheet.addEventListener("sheet:picture", (event) => {
    const row = event.detail;
    const chosen = table.cell(row, "picture").value;
    const offers = active().flatMap((group) => {
      const value = of(row).get(group);
      const others = table.shown().filter((one) => one !== row && of(one).get(group) === value);
      if (!value || !others.length || group.values.length < 2) return [];
      return [table.button(translate("Also use for other variants with “{value}” ({number})", { number: others.length, value }), () => {
        const before = others.map((one) => [table.cell(one, "picture"), table.cell(one, "picture").value]);
        before.forEach(([input]) => table.write(input, chosen));
        table.undoable(translate("Other variants that now use this image: {number}.", { number: before.length }), before);
      })];
    });
    if (chosen && offers.length) table.say(translate("Use this image"), ...offers);
  });

  window.productOptions = { active, valueIn: (row, group) => of(row).get(group) };
  start();
  groups.forEach(draw);
  more.hidden = !groups.some((group) => group.root.hidden);
  save();
})();
