// The screen that sends: all or none of the units at once, and carriers recognised while their numbers are typed.
(() => {
  "use strict";
  const lines = (text) => text.split(/[\n,;]/).map((part) => part.trim()).filter(Boolean);

  const setUnits = (form, all) =>
    form.querySelectorAll("[data-all]").forEach((input) => {
      input.value = all ? input.dataset.all : 0;
    });

  // What was filled in by us may be replaced by us; what a person typed stays.
  const fill = (input, value) => {
    if (input.value && input.value !== input.dataset.filled) return;
    input.value = value;
    input.dataset.filled = value;
  };

  const recognise = async (form) => {
    const numbers = form.querySelector("[data-tracking]");
    const typed = numbers.value;
    const found = [];
    for (const number of lines(typed).slice(0, 10)) {
      const answer = await fetch(`${form.dataset.fulfil}?number=${encodeURIComponent(number)}`);
      if (!answer.ok || numbers.value !== typed) return;
      found.push(await answer.json());
    }
    const known = found.filter((each) => each.company);
    fill(form.querySelector("[data-carrier]"), known[0]?.company ?? "");
    fill(form.querySelector("[data-addresses]"), known.length === found.length ? known.map((each) => each.url).join("\n") : "");
  };

  document.querySelectorAll("form[data-fulfil]").forEach((form) => {
    let wait;
    form.querySelectorAll("[data-units]").forEach((group) => (group.hidden = false));
    form.querySelector("[data-units-all]")?.addEventListener("click", () => setUnits(form, true));
    form.querySelector("[data-units-none]")?.addEventListener("click", () => setUnits(form, false));
    if (form.querySelector("[data-tracking]").value) recognise(form);
    form.querySelector("[data-tracking]").addEventListener("input", () => {
      clearTimeout(wait);
      wait = setTimeout(() => recognise(form), 300);
    });
  });
})();
