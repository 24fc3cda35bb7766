// The rules of a smart collection: add and remove rows, hide invalid operators, and preview the matching products.
(() => {
  "use strict";
  const rules = document.querySelector("[data-rules]");
  const preview = document.querySelector("[data-preview]");
  if (!rules) return;
  const form = rules.closest("form");
  const into = preview?.querySelector("[data-preview-into]");
  const add = rules.querySelector("[data-rule-add]");
  const rows = () => [...rules.querySelectorAll("[data-rule]")];
  let timer = 0;
  let asked = 0;

  const fit = (row) => {
    const [column, relation] = row.querySelectorAll("select");
    const fitting = column.selectedOptions[0]?.dataset.relations?.split(" ");
    [...relation.options].forEach((option) => {
      option.disabled = option.hidden = Boolean(fitting) && !fitting.includes(option.value);
    });
    if (relation.selectedOptions[0]?.disabled) relation.value = fitting[0];
  };

  const number = () => {
    rows().forEach((row, index) => {
      row.setAttribute("aria-label", translate("Rule {number}", { number: index + 1 }));
      row.querySelector("[data-rule-remove]").hidden = false;
    });
    add.hidden = rows().length >= Number(rules.dataset.most);
  };

  const show = async () => {
    if (!into) return;
    const mine = ++asked;
    const query = new URLSearchParams();
    new FormData(form).forEach((value, name) => {
      if (name.startsWith("rules-") || name === "disjunctive") query.append(name, value);
    });
    try {
      const response = await fetch(`${preview.dataset.preview}?${query}`, { credentials: "same-origin" });
      const text = await response.text();
      if (mine === asked) into.innerHTML = response.ok ? text : `<p class="bo-empty">${translate("The preview is not available.")}</p>`;
    } catch {
      if (mine === asked) into.innerHTML = `<p class="bo-empty">${translate("The preview is not available.")}</p>`;
    }
  };

  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(show, 300);
  };

  add.addEventListener("click", () => {
    const row = rows()[0].cloneNode(true);
    row.querySelectorAll("select").forEach((select) => (select.selectedIndex = 0));
    row.querySelector("input").value = "";
    row.querySelector("select").removeAttribute("id");
    rows().at(-1).after(row);
    fit(row);
    number();
    row.querySelector("select").focus();
  });
  rules.addEventListener("click", (event) => {
    const row = event.target.closest("[data-rule-remove]")?.closest("[data-rule]");
    if (!row) return;
    if (rows().length > 1) row.remove();
    else row.querySelectorAll("select, input").forEach((field) => (field.value = ""));
    number();
    soon();
    add.focus();
  });
  form.addEventListener("input", (event) => {
    const row = event.target.closest("[data-rule]");
    if (row) fit(row);
    if (row || event.target.name === "disjunctive") soon();
  });
  rows().forEach(fit);
  number();
  show();
})();
