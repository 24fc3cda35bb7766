// The form of a refund: what it comes to, worked out by the server as somebody types.
(() => {
  "use strict";
  const form = document.querySelector("[data-refund]");
  if (!form) return;
  const into = form.querySelector("[data-refund-into]");
  const gone = `<p class="bo-subtle">${translate("It cannot be worked out just now. Press Calculate.")}</p>`;
  let timer = 0;
  let asked = 0;

  // An amount that is left blank is the one that was worked out; the field shows it in grey.
  const suggest = () => {
    form.querySelectorAll("input[name^=payment-]").forEach((input) => (input.placeholder = ""));
    into.querySelectorAll("[data-suggested]").forEach((found) => {
      const input = form.elements[found.dataset.suggested];
      if (input) input.placeholder = found.value;
    });
  };

  const fit = () => {
    const all = form.elements.full_shipping;
    if (all && form.elements.shipping) form.elements.shipping.readOnly = all.checked;
  };

  const show = async () => {
    const mine = ++asked;
    const body = new FormData(form);
    // The key that lets the form work once is for sending it.
    body.delete("form_key");
    try {
      const response = await fetch(form.dataset.refund, { method: "POST", body });
      const text = await response.text();
      if (mine === asked) into.innerHTML = response.ok ? text : gone;
    } catch {
      if (mine === asked) into.innerHTML = gone;
    }
    if (mine === asked) suggest();
  };

  const soon = () => {
    fit();
    clearTimeout(timer);
    timer = setTimeout(show, 300);
  };

  form.addEventListener("input", soon);
  form.addEventListener("change", soon);
  fit();
  show();
})();
