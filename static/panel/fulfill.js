// The fulfillment page: select all items or none, and detect the carrier while the user types a tracking number.
(() => {
  "use strict";
  const lines = (text) => text.split(/[\n,;]/).map((part) => part.trim()).filter(Boolean);

  const setQuantities = (form, all) =>
    form.querySelectorAll("[data-all]").forEach((input) => {
      input.value = all ? input.dataset.all : 0;
    });

  // Replace only a value that this script has filled in, never a value that the user typed.
  const fill = (input, value) => {
    if (input.value && input.value !== input.dataset.filled) return;
    input.value = value;
    input.dataset.filled = value;
  };

  const detectCarrier = async (form) => {
    const numbers = form.querySelector("[data-tracking]");
    const typed = numbers.value;
    const carriers = [];
    for (const number of lines(typed).slice(0, 10)) {
      const response = await fetch(`${form.dataset.fulfill}?number=${encodeURIComponent(number)}`);
      if (!response.ok || numbers.value !== typed) return;
      carriers.push(await response.json());
    }
    const recognized = carriers.filter((carrier) => carrier.company);
    fill(form.querySelector("[data-carrier]"), recognized[0]?.company ?? "");
    fill(form.querySelector("[data-addresses]"), recognized.length === carriers.length ? recognized.map((carrier) => carrier.url).join("\n") : "");
  };

  document.querySelectorAll("form[data-fulfill]").forEach((form) => {
    let timer;
    form.querySelectorAll("[data-units]").forEach((group) => (group.hidden = false));
    form.querySelector("[data-units-all]")?.addEventListener("click", () => setQuantities(form, true));
    form.querySelector("[data-units-none]")?.addEventListener("click", () => setQuantities(form, false));
    if (form.querySelector("[data-tracking]").value) detectCarrier(form);
    form.querySelector("[data-tracking]").addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => detectCarrier(form), 300);
    });
  });
})();
