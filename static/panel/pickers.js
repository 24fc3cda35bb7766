// The search fields of pickers. An opened picker shows the first rows, typing searches, and Enter selects the first match.
// Without scripts, the button Find sends the form.
(() => {
  "use strict";
  const form = document.querySelector("[data-discount]");
  if (!form) return;
  const DELAY = 250;

  const find = async (picker, input) => {
    const values = new FormData(form);
    values.set("step", "find");
    values.set("open", picker.id);
    const answer = await fetch(location.href, { method: "POST", body: values, credentials: "same-origin" });
    if (!answer.ok) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById(picker.id);
    if (!fresh || input.value.trim() !== values.get(input.name).trim()) return;
    const selected = new Set([...picker.querySelectorAll("input:checked")].map((box) => box.value));
    for (const part of ["[data-chosen]", "[data-found]"]) picker.querySelector(part).innerHTML = fresh.querySelector(part).innerHTML;
    picker.querySelectorAll("input[type=checkbox]").forEach((box) => (box.checked = selected.has(box.value)));
    picker.querySelector(`[name="found-${picker.id}"]`).value = input.value.trim();
    picker.dataset.shown = input.value.trim();
  };

  const search = (picker, input) =>
    find(picker, input).catch(() => {
      picker.querySelector("[data-found] [role=status]").textContent = translate(
        "The page could not be updated. Check the connection, or log in again in another tab, then try again.",
      );
    });

  const select = async (picker, input) => {
    if (!input.value.trim()) return;
    if (picker.dataset.shown !== input.value.trim()) await search(picker, input);
    const box = picker.querySelector("[data-found] input[type=checkbox]");
    if (!box) return;
    box.checked = true;
    picker.querySelector("[data-chosen]").append(box.closest("label"));
    input.value = "";
    await search(picker, input);
  };

  form.querySelectorAll(".bo-picker").forEach((picker) => {
    const input = picker.querySelector("input[type=text]");
    if (!input) return;
    let timer;
    input.addEventListener("focus", () => "shown" in picker.dataset || search(picker, input));
    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => search(picker, input), DELAY);
    });
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      clearTimeout(timer);
      select(picker, input);
    });
  });
})();
