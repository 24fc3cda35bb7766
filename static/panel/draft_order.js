// The page that creates an order. The server runs each step and calculates all amounts. This script sends the form in
// the background and replaces the parts of the page that have changed. Without it, each step loads the page again.
(() => {
  "use strict";
  const form = document.querySelector("[data-draft]");
  if (!form) return;
  let queue = Promise.resolve();
  let pending = 0; // The number of steps that the server has not answered.
  let latest = 0;
  let timer = 0;
  let changed = false;
  let waiting = false;
  const codeErrors = []; // Errors of codes that were scanned in one go, so that the next code hides none.

  const send = async (values) => {
    const body = new FormData(form);
    const sent = new FormData(form);
    body.delete("form_key"); // The key must only be used to save the form.
    Object.entries({ part: "1", ...values }).forEach(([name, value]) => body.set(name, value));
    const response = await fetch(form.action, { method: "POST", body });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (!response.ok || !page.getElementById("draft-totals")) throw new Error(response.statusText);
    return { page, sent };
  };

  const isTyped = (field, sent) => {
    if (field.type === "radio") return field.checked && field.value !== sent.get(field.name);
    return field.type === "checkbox" ? field.checked !== sent.has(field.name) : field.value !== (sent.get(field.name) ?? "");
  };

  // Replace parts of the page. What the user has typed or opened since the form was sent stays. Return true if the user
  // has typed something.
  const replace = ({ page, sent }, selector) => {
    const fields = [...form.elements].filter((field) => field.name && field.type !== "hidden" && field.type !== "submit");
    const typed = fields.filter((field) => isTyped(field, sent));
    const opened = [...form.querySelectorAll("details[open]")];
    const active = document.activeElement;
    const { id, selectionStart, selectionEnd } = active;
    form.querySelectorAll(selector).forEach((part) => {
      const fresh = page.getElementById(part.id);
      if (part.isConnected && fresh && fresh.innerHTML !== part.innerHTML) part.innerHTML = fresh.innerHTML;
    });
    typed.forEach(({ name, value, checked }) => {
      const field = form.elements[name];
      if (field) Object.assign(field, { value, checked });
    });
    opened.forEach((details) => details.id && (document.getElementById(details.id) ?? details).setAttribute("open", ""));
    const field = active.isConnected || !id ? null : document.getElementById(id);
    field?.focus();
    if (field?.matches("input[type=text]")) field.setSelectionRange(selectionStart, selectionEnd);
    return typed.length > 0;
  };

  const fail = () => {
    const note = document.createElement("p");
    note.className = "bo-note bo-note-error";
    note.textContent = translate("The page could not be updated. Check the connection, or log in again in another tab, then try again.");
    document.getElementById("draft-errors").replaceChildren(note);
  };

  // Run a step of the form, such as adding a product. Steps run one after the other, because a scanner can be faster
  // than the server. ``start`` is the element that had the focus when the user began the step.
  const step = async (values, start) => {
    latest += 1;
    try {
      const answer = await send(values);
      const active = document.activeElement;
      const stayed = [start, document.body].includes(active) || (start.id && start.id === active.id);
      if (replace(answer, "[data-live]")) updateSoon();
      const error = document.getElementById("code-error");
      if (values.step === "find" && error.textContent.trim()) codeErrors.push(error.innerHTML);
      error.innerHTML = codeErrors.join("");
      const target = stayed && document.getElementById(answer.page.querySelector("[autofocus]")?.id);
      if (!target) return;
      target.focus();
      if (target.getAttribute("aria-invalid") && target.value === (values.code ?? values.term ?? values.gift_card_code)) target.select();
    } catch {
      fail();
      Object.entries(values).forEach(([name, text]) => {
        const field = document.getElementById(name);
        if (field?.dataset.step && !field.value) field.value = text;
      });
    }
  };

  const run = (values) => {
    clearTimeout(timer);
    if (!pending) codeErrors.length = 0;
    pending += 1;
    changed = true;
    const start = document.activeElement;
    queue = queue.then(() => step(values, start)).finally(() => (pending -= 1));
  };

  // Show the totals, errors and suggestions for what the user has typed.
  const update = async () => {
    const request = ++latest;
    if (pending) return;
    try {
      const answer = await send({ step: "suggest" });
      if (request === latest) replace(answer, "[data-live=output]");
    } catch {
      if (request === latest) fail();
    }
  };

  const updateSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(update, 300);
  };

  form.addEventListener("input", () => {
    changed = true;
    updateSoon();
  });

  const enter = (event) => {
    const field = event.target;
    event.preventDefault();
    const text = field.dataset.step ? field.value.trim() : "";
    if (text) {
      field.value = "";
      run({ step: field.dataset.step, [field.name]: text });
      return;
    }
    const next = field.dataset.next ?? (field.closest("#draft-items") ? "code" : "");
    (document.getElementById(next) ?? (next && document.getElementById("id_shipping_title")))?.focus?.();
  };

  // The arrow keys move between a search field and its results.
  const move = (event) => {
    const box = event.target.closest("[data-search]");
    if (!box) return;
    const stops = [box.querySelector("[data-step]"), ...box.querySelectorAll("[data-live=output] button")];
    const next = stops[stops.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)];
    if (!stops.includes(event.target) || !next) return;
    event.preventDefault();
    next.focus();
  };

  form.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" && event.target.matches("input")) enter(event);
    else if (["ArrowDown", "ArrowUp"].includes(event.key)) move(event);
  });

  form.addEventListener("click", (event) => {
    const button = event.target.closest("button[name]");
    if (!button || button.closest("[data-saves]")) return;
    event.preventDefault();
    run({ [button.name]: button.value });
  });

  // What is still being looked up must not be missing from what is saved.
  form.addEventListener("submit", async (event) => {
    if (!pending) {
      changed = false;
      return;
    }
    event.preventDefault();
    if (waiting) return;
    waiting = true;
    await queue;
    waiting = false;
    form.requestSubmit(event.submitter);
  });
  window.addEventListener("beforeunload", (event) => changed && event.preventDefault());
})();
