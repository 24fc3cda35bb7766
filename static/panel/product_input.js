// Keep the options and variants of a new product for the Back button. The browser restores only the fields that the
// server rendered. Without the options and the other rows, the restored first row could not be saved.
(() => {
  "use strict";
  const table = window.productSheet;
  if (!table?.isNew) return;
  const form = table.sheet.closest("form");
  const { person, shop } = document.getElementById("session")?.dataset ?? {};
  const fields = () =>
    [...form.elements].filter(({ name, type }) => /^(options|variants)-/.test(name) && !/-TOTAL_FORMS$/.test(name) && type !== "file");

  const restore = (values) => {
    fields().forEach((field) => {
      const value = values[field.name];
      if (value === undefined) return;
      if (field.type === "checkbox") field.checked = value;
      // An uploaded image is no longer a choice.
      else if (field.tagName !== "SELECT" || [...field.options].some((option) => option.value === value)) field.value = value;
    });
  };

  // The input belongs to this entry of the tab's history. Another user of the tab, or another shop, must not get it.
  const kept = history.state?.product;
  if (kept?.person === person && kept.shop === shop) {
    while (table.rows().length < kept.rows) table.add();
    restore(kept.values);
    const place = (row) => Number(row.querySelector('[name$="-place"]')?.value);
    table.order(table.rows().sort((one, other) => place(one) - place(other)));
    table.say(translate("Your input is still here. If you have already saved it, saving again creates another product."));
  }
  window.addEventListener("pagehide", () => {
    const values = Object.fromEntries(fields().map((field) => [field.name, field.type === "checkbox" ? field.checked : field.value]));
    if (!Object.keys(values).some((name) => /^options-\d-name$/.test(name) && values[name])) return;
    history.replaceState({ ...history.state, product: { person, shop, values, rows: table.rows().length } }, "");
  });
})();
