// Show the columns of the variant grid in two groups if they do not fit next to each other. The first group has prices,
// codes and, if there is room, the stock. The second group has everything about the stock.
(() => {
  "use strict";
  const sheet = document.querySelector("[data-sheet]");
  const choice = sheet?.querySelector("[data-column-groups]");
  if (!choice) return;
  const scroll = sheet.querySelector(".bo-sheet-scroll");
  const narrow = matchMedia("(max-width: 700px)");
  const buttons = [...choice.querySelectorAll("button")];
  const hasError = (name) => [...sheet.querySelectorAll("td[data-column] .errorlist")].some(
    (list) => /^(stock|tracked|inventory_policy)/.test(list.closest("td").dataset.column) === (name === "stock"));
  let first = "prices";
  let chosen = hasError("stock") && !hasError("first") ? "stock" : "first";
  let width = -1;

  const fits = () => scroll.scrollWidth <= scroll.clientWidth;
  const show = () => {
    if (choice.hidden) delete sheet.dataset.columns;
    else sheet.dataset.columns = chosen === "stock" ? "stock" : first;
    buttons.forEach((button) => {
      button.setAttribute("aria-pressed", String(button.value === chosen));
      button.classList.toggle("bo-wrong", hasError(button.value));
    });
    choice.querySelectorAll("[data-if-columns]").forEach((text) => {
      text.hidden = text.dataset.ifColumns !== first;
    });
    // A region gets the focus only so that the keyboard can scroll it.
    if (fits()) scroll.removeAttribute("tabindex");
    else scroll.tabIndex = 0;
  };
  const fit = () => {
    if (!scroll.clientWidth || scroll.clientWidth === width) return; // The grid is hidden, or only its height changed.
    width = scroll.clientWidth;
    delete sheet.dataset.columns;
    choice.hidden = !narrow.matches && fits();
    sheet.dataset.columns = "frequent";
    first = !narrow.matches && fits() ? "frequent" : "prices";
    show();
  };
  choice.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    chosen = button.value;
    show();
  });
  new ResizeObserver(fit).observe(scroll);
  fit();
})();

// On phones, fold the variants of a product with many variants. A folded variant shows its price or its stock.
(() => {
  "use strict";
  const grid = window.productSheet;
  const rows = grid?.rows().filter((row) => "stored" in row.dataset) ?? [];
  if (rows.length <= 3) return;
  const narrow = matchMedia("(max-width: 700px)");
  const folds = rows.map((row) => {
    const button = grid.button(translate("All fields"), () => fold(!row.hasAttribute("data-folded")));
    const fold = (isFolded) => {
      row.toggleAttribute("data-folded", isFolded);
      button.setAttribute("aria-expanded", String(!isFolded));
    };
    button.classList.add("bo-fold");
    button.setAttribute("aria-label", `${button.textContent}, ${row.querySelector("[data-row-title]").textContent.trim()}`);
    row.querySelector("th").append(button);
    return () => fold(narrow.matches && !row.querySelector(".errorlist"));
  });
  const foldAll = () => folds.forEach((fold) => fold());
  narrow.addEventListener("change", foldAll);
  foldAll();
})();
