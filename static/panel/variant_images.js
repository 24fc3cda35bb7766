// Assign an uploaded image to all variants with an option value, such as a color.
(() => {
  "use strict";
  const list = document.querySelector("[data-pictures-list]");
  const { productSheet: table, productOptions: options } = window;
  if (!list || !table || !options) return;

  const cellOf = (row) => table.cell(row, "picture");
  const choices = () =>
    options.active().filter((group) => group.values.length > 1).flatMap((group) =>
      group.values.map((value) => ({ value, rows: table.staying().filter((row) => options.valueIn(row, group) === value) })));

  const show = (tile, wanted) => {
    const before = [];
    table.staying().forEach((row) => {
      const cell = cellOf(row);
      const shall = wanted.includes(row);
      if (!cell || shall === (cell.value === tile.dataset.choice)) return;
      before.push([cell, cell.value]);
      table.write(cell, shall ? tile.dataset.choice : "");
    });
    table.undoable(translate("Variants with a changed image: {number}.", { number: before.length }), before);
  };

  let made = 0;
  const fieldOf = (tile) => {
    const there = tile.querySelector("[data-shown-with]");
    if (there) return there;
    const field = document.createElement("span");
    field.className = "bo-field";
    field.dataset.shownWith = "";
    const label = document.createElement("label");
    const select = document.createElement("select");
    select.id = label.htmlFor = `shown-with-${(made += 1)}`;
    label.textContent = translate("Variants with this image");
    select.setAttribute("aria-label", translate("Variants with {name}", { name: tile.dataset.name }));
    select.addEventListener("change", () => show(tile, choices()[select.value]?.rows ?? []));
    field.append(label, select);
    tile.insertBefore(field, tile.lastElementChild);
    return field;
  };

  const draw = (tile) => {
    const offered = table.rows().some(cellOf) ? choices() : [];
    if (!offered.length) return tile.querySelector("[data-shown-with]")?.remove();
    const select = fieldOf(tile).querySelector("select");
    select.replaceChildren(new Option(translate("None"), ""), ...offered.map(({ value }, at) => new Option(value, at)));
    const shown = offered.findIndex(({ rows }) => rows.length && rows.every((row) => cellOf(row)?.value === tile.dataset.choice));
    if (shown >= 0) select.value = shown;
  };
  const drawAll = () => list.querySelectorAll("[data-picture-tile][data-choice]").forEach(draw);

  table.sheet.addEventListener("sheet:offered", drawAll);
  table.sheet.addEventListener("options:changed", drawAll);
  table.sheet.addEventListener("change", (event) => event.target.dataset.cell === "picture" && drawAll());
  drawAll();
})();
