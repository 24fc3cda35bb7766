// The fulfill page: select all or no items, and detect the carrier while tracking numbers are typed.
(() => {
  "use strict";
  const lines = (text) => text.split(/[\n,;]/).map((part) => part.trim()).filter(Boolean);

  const setQuantities = (form, all) =>
    form.querySelectorAll("[data-all]").forEach((input) => {
      input.value = all ? input.dataset.all : 0;
    });

  // Replace only values that this script filled in, never what the user typed.
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
      const response = await fetch(`${form.dataset.fulfil}?number=${encodeURIComponent(number)}`);
      if (!response.ok || numbers.value !== typed) return;
      carriers.push(await response.json());
    }
    const recognized = carriers.filter((carrier) => carrier.company);
    fill(form.querySelector("[data-carrier]"), recognized[0]?.company ?? "");
    fill(form.querySelector("[data-addresses]"), recognized.length === carriers.length ? recognized.map((carrier) => carrier.url).join("\n") : "");
  };

  document.querySelectorAll("form[data-fulfil]").forEach((form) => {
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
