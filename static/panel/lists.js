// Lists: a click on a row opens the row, and a bar shows the actions for the selected rows. Without this script, the
// links, checkboxes and buttons of a list still work.
(() => {
  "use strict";

  const OPERABLE = "a[href], button, input, label, select, textarea, summary";
  const form = document.getElementById("changelist-form");
  const bar = form?.querySelector(".bo-selection");
  const status = form?.querySelector("[data-selection-status]");
  const everything = form?.elements.select_across;
  const toggle = document.getElementById("action-toggle");
  const boxes = [...(form?.querySelectorAll("#result_list .action-select") ?? [])];
  let latest = null;

  // Return the link of the row that was clicked, unless the click was on a control or selected text.
  const findLink = (event) => {
    const row = event.target.closest("tr.data-row");
    if (!row || event.defaultPrevented || event.target.closest(`${OPERABLE}, .action-checkbox`)) return null;
    return getSelection().isCollapsed ? row.querySelector("a.bo-to") : null;
  };

  const openRow = (event) => {
    const cell = event.target.closest(".action-checkbox");
    if (cell && event.target === cell) cell.querySelector("input")?.click();
    const link = findLink(event);
    if (!link) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button === 1) window.open(link.href, "_blank", "noopener");
    else link.click();
  };

  const showSelection = (announces) => {
    const chosen = boxes.filter((box) => box.checked).length;
    if (everything && !chosen) everything.checked = false;
    const count = everything?.checked ? everything.dataset.count : String(chosen);
    bar.querySelector(".bo-selected-count").textContent = count;
    if (toggle) toggle.checked = chosen === boxes.length;
    if (!announces) return;
    status.textContent = chosen
      ? translate("Selected: {count}. Press Enter in a checkbox to go to the actions.", { count })
      : translate("Nothing is selected.");
  };

  // Set all checkboxes between the previous checkbox and this one.
  const selectRange = (box) => {
    const [first, last] = [boxes.indexOf(latest), boxes.indexOf(box)].sort((a, b) => a - b);
    if (first >= 0) for (const other of boxes.slice(first, last + 1)) other.checked = box.checked;
  };

  const select = (event) => {
    const box = event.target;
    if (!boxes.includes(box)) return;
    if (event.shiftKey && latest) selectRange(box);
    latest = box;
    if (everything && !box.checked) everything.checked = false;
  };

  const selectPage = () => {
    for (const box of boxes) box.checked = toggle.checked;
    if (everything) everything.checked = false;
  };

  // Enter in a checkbox moves the focus to the actions, and Escape moves it back.
  const moveFocus = (event) => {
    const box = event.target;
    if (event.key === "Enter" && box.type === "checkbox") {
      event.preventDefault();
      if (boxes.some((other) => other.checked)) bar.querySelector(".bo-verbs button").focus();
    } else if (event.key === "Escape" && bar.contains(box)) {
      (latest ?? boxes[0]).focus();
    }
  };

  document.querySelector(".bo-tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  const rows = document.querySelector("#result_list tbody");
  rows?.addEventListener("click", openRow);
  rows?.addEventListener("auxclick", (event) => event.button === 1 && openRow(event));
  // The middle mouse button would start scrolling.
  rows?.addEventListener("mousedown", (event) => event.button === 1 && findLink(event) && event.preventDefault());
  if (!bar) return;
  form.addEventListener("click", select);
  toggle?.addEventListener("change", selectPage);
  form.addEventListener("change", () => showSelection(true));
  form.addEventListener("keydown", moveFocus);
  form.addEventListener("reset", () => setTimeout(() => {
    showSelection(true);
    (latest ?? boxes[0]).focus();
  }));
  // After the Back button, the browser restores the checkboxes.
  window.addEventListener("pageshow", () => showSelection(false));
})();

// Load the images of a list when their rows come into view, because browsers load lazy images much earlier. The page is
// hidden until Alpine starts, so no image has been requested yet.
(() => {
  "use strict";
  const BLANK = 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"/>';
  const load = (image) => {
    image.src = image.dataset.src;
    observer.unobserve(image);
  };
  const observer = new IntersectionObserver((entries) =>
    entries.filter((entry) => entry.isIntersecting).forEach((entry) => load(entry.target)),
  );
  const images = [...document.querySelectorAll("#result_list img[loading=lazy]")].filter((image) => !image.complete);
  for (const image of images) {
    image.dataset.src = image.src;
    image.src = BLANK;
    observer.observe(image);
  }
  window.addEventListener("beforeprint", () => images.filter((image) => image.src === BLANK).forEach(load));
})();
