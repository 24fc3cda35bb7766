// The list of items in a stock receipt or transfer. Scanned codes add lines without loading the page, and the focus
// stays in the field for codes. The server does the same for browsers without scripts.
(() => {
  "use strict";
  const box = document.querySelector("[data-receive]");
  if (!box) return;
  const form = box.closest("form");
  const field = box.querySelector("[name=code]");
  const last = box.querySelector("[name=last]");
  const body = box.querySelector("[data-receive-lines]");
  const template = box.querySelector("[data-receive-template]");
  const said = box.querySelector("[data-receive-said]");
  const errors = box.querySelector("[data-receive-errors]");
  const found = box.querySelector("[data-receive-found]");
  const total = box.querySelector("[data-receive-total]");
  const most = Number(box.dataset.most);
  // Only count listed items, and add no lines.
  const counts = "receiveCounts" in box.dataset;
  let changed = false;
  let queue = Promise.resolve();
  let pending = 0;
  let waiting = false;

  const lines = () => [...body.querySelectorAll("[data-line]")];
  const lineOf = (id) => lines().find((line) => line.dataset.line === String(id));
  const inputOf = (line) => line.querySelector("input");
  const nameOf = (line) => line.dataset.name ?? line.querySelector("[data-line-name]").textContent;
  const amount = (line) => (/^\+?\d+$/.test(inputOf(line).value.trim()) ? Number(inputOf(line).value) : 0);

  const refresh = () => {
    if (counts) return;
    box.querySelector("[data-receive-table]").hidden = !lines().length;
    const units = lines().reduce((sum, line) => sum + amount(line), 0);
    total.textContent = lines().length ? translate("Items: {items}. Quantity: {units}.", { items: lines().length, units }) : "";
  };

  const warn = (text, code) => {
    said.textContent = "";
    const line = document.createElement("p");
    line.className = "bo-errors";
    line.textContent = text;
    errors.append(line);
    // Another code may already have been scanned into the field.
    if (field.value) return;
    field.value = code;
    field.setAttribute("aria-invalid", "true");
    field.select();
  };

  const clearErrors = () => {
    errors.replaceChildren();
    found.replaceChildren();
    field.removeAttribute("aria-invalid");
  };

  const write = (line, quantity) => {
    inputOf(line).value = quantity;
    said.textContent = translate("{name}: {quantity}", { name: nameOf(line), quantity });
    changed = true;
    refresh();
  };

  const create = (item) => {
    const line = template.content.firstElementChild.cloneNode(true);
    const input = inputOf(line);
    const button = line.querySelector("button");
    line.dataset.line = item.id;
    line.querySelector("[data-line-name]").textContent = item.name;
    line.querySelector("[data-line-sku]").textContent = item.sku === item.name ? "" : item.sku;
    line.querySelector("[data-line-untracked]").hidden = item.tracked;
    input.name = input.id = `quantity-${item.id}`;
    const named = line.querySelector("[data-line-named]");
    named.name = `name-${item.id}`;
    named.value = item.name;
    input.setAttribute("aria-label", translate("Quantity of {name}", { name: item.name }));
    button.value = item.id;
    button.setAttribute("aria-label", translate("Remove {name}", { name: item.name }));
    return line;
  };

  const count = (item) => {
    const line = lineOf(item.id);
    if (!line) return warn(translate("{name} is not missing from this transfer.", { name: item.name }), "");
    if (!last.value) lines().forEach((other) => (inputOf(other).value = 0));
    last.value = item.id;
    write(line, amount(line) + 1);
  };

  const add = (item) => {
    if (counts) return count(item);
    const known = lineOf(item.id);
    if (!known && lines().length >= most) return warn(translate("The list is full: {most} items.", { most }), "");
    const line = known ?? create(item);
    body.prepend(line);
    last.value = item.id;
    write(line, known ? amount(known) + 1 : 1);
  };

  const offer = (items) => {
    found.replaceChildren(
      ...items.map((item) => {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "bo-button bo-button-named";
        button.textContent = translate("Add {name}", { name: item.sku && item.sku !== item.name ? `${item.name} (${item.sku})` : item.name });
        button.addEventListener("click", () => {
          clearErrors();
          field.value = "";
          add(item);
          field.focus();
        });
        return button;
      }),
    );
  };

  // A short number is the quantity of the last line, unless it is the code of an item. "+12" is always a quantity.
  const look = async (code) => {
    const number = /^(\+?)(\d{1,5})$/.exec(code);
    if (number?.[1] && lineOf(last.value)) return write(lineOf(last.value), amount(lineOf(last.value)) + Number(number[2]));
    let result;
    try {
      const response = await fetch(`${box.dataset.receive}?code=${encodeURIComponent(code)}`, { headers: { Accept: "application/json" } });
      result = await response.json();
    } catch {
      return warn(translate("“{code}” could not be looked up. Check the connection, or log in again in another tab, then press Enter.", { code }), code);
    }
    if (result.exact) return add(result.items[0]);
    if (number && !result.coded && lineOf(last.value)) return write(lineOf(last.value), Number(number[2]));
    if (!result.items.length) return warn(translate("No item has the SKU or barcode “{code}”.", { code }), code);
    warn(translate("“{code}” matches several items. Choose one.", { code }), code);
    offer(result.items);
  };

  // Codes are processed one after the other, because a scanner can be faster than the server.
  const enter = (text) => {
    const code = text.trim();
    if (!code) return;
    pending += 1;
    queue = queue.then(() => look(code)).finally(() => (pending -= 1));
  };

  const submitField = () => {
    const text = field.value;
    // Corrected errors disappear. Errors of other codes stay until then, so that fast scanning hides none.
    if (field.hasAttribute("aria-invalid")) clearErrors();
    field.value = "";
    enter(text);
    field.focus();
  };

  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    submitField();
  });
  box.querySelector("[data-receive-add]").addEventListener("click", (event) => {
    event.preventDefault();
    submitField();
  });
  body.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    event.preventDefault();
    const line = button.closest("tr");
    said.textContent = translate("{name} removed.", { name: nameOf(line) });
    line.remove();
    changed = true;
    refresh();
    field.focus();
  });
  body.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
    event.preventDefault();
    field.focus();
  });
  form.addEventListener("input", (event) => {
    changed ||= event.target !== field;
    refresh();
  });

  const refuse = () => {
    const code = field.value.trim();
    const text = code
      ? translate("Nothing was saved yet. Press Enter to look up “{code}”, or clear the field.", { code })
      : translate("Nothing was saved yet.");
    if (errors.lastElementChild?.textContent !== text) warn(text, "");
    field.focus();
  };

  // Codes that are still being looked up, or that were not entered, must not be missing from what is saved.
  form.addEventListener("submit", async (event) => {
    const button = event.submitter;
    if (pending) {
      event.preventDefault();
      if (waiting) return;
      waiting = true;
      const before = errors.childElementCount;
      await queue;
      waiting = false;
      if (errors.childElementCount > before) return refuse();
      return form.requestSubmit(button);
    }
    if (button?.name === "step" && button.value !== "find" && field.value.trim()) {
      event.preventDefault();
      return refuse();
    }
    changed = false;
  });
  window.addEventListener("beforeunload", (event) => changed && event.preventDefault());
  refresh();
})();
