// Sortable lists. Users drag an item or click its buttons. The order of the form fields is the new order.
(() => {
  "use strict";
  const status = document.querySelector("[data-sort-said]");

  const items = (list) => [...list.querySelectorAll(":scope > [data-sort-item]")];

  const announce = (list, item) => {
    const position = items(list).indexOf(item) + 1;
    if (status) status.textContent = translate("{name}: position {place} of {number}. Save to keep the new position.", {
      name: item.dataset.name,
      place: position,
      number: items(list).length,
    });
  };

  const move = (list, item, by) => {
    const other = by < 0 ? item.previousElementSibling : item.nextElementSibling;
    if (!other) return;
    if (by < 0) list.insertBefore(item, other);
    else list.insertBefore(other, item);
    announce(list, item);
  };

  const itemAt = (list, x, y) =>
    items(list).find((item) => {
      const box = item.getBoundingClientRect();
      return x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
    });

  const enable = (list) => {
    let dragged = null;
    items(list).forEach((item) => {
      item.draggable = true;
      item.addEventListener("dragstart", (event) => {
        if (event.target.closest("input, button, a, label") && event.target !== item) return event.preventDefault();
        dragged = item;
        item.classList.add("bo-dragged");
        event.dataTransfer.effectAllowed = "move";
        event.dataTransfer.setData("text/plain", "");
      });
      item.addEventListener("dragend", () => {
        item.classList.remove("bo-dragged");
        if (dragged) announce(list, dragged);
        dragged = null;
      });
    });
    list.addEventListener("dragover", (event) => {
      if (!dragged) return;
      event.preventDefault();
      const over = itemAt(list, event.clientX, event.clientY);
      if (!over || over === dragged) return;
      const all = items(list);
      list.insertBefore(dragged, all.indexOf(over) > all.indexOf(dragged) ? over.nextSibling : over);
    });
    list.addEventListener("drop", (event) => event.preventDefault());
    list.addEventListener("click", (event) => {
      const button = event.target.closest("[data-move]");
      if (!button) return;
      event.preventDefault();
      move(list, button.closest("[data-sort-item]"), Number(button.dataset.move));
      button.focus();
    });
  };

  document.querySelectorAll("[data-sortable]").forEach(enable);
})();
