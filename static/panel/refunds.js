// The refund form. The server calculates the refund while the user types.
(() => {
  "use strict";
  const form = document.querySelector("[data-refund]");
  if (!form) return;
  const summary = document.getElementById("form-summary");
  const review = form.querySelector("[data-with-refund]");
  const failed = `<p class="bo-subtle">${translate("The refund could not be calculated. Review the refund to check the amounts.")}</p>`;
  let timer = 0;
  let latest = 0;

  // A blank amount stands for the calculated amount, so show the calculated amount as the placeholder.
  const suggest = () => {
    form.querySelectorAll("input[name^=payment-]").forEach((input) => (input.placeholder = ""));
    summary.querySelectorAll("[data-suggested]").forEach((suggestion) => {
      const input = form.elements[suggestion.dataset.suggested];
      if (input) input.placeholder = suggestion.value;
    });
  };

  const updateLabel = () => {
    const amount = summary.querySelector("[data-refund-amount]");
    const { plain, withRefund } = review.dataset;
    review.textContent = amount ? withRefund.replace("{amount}", amount.textContent) : plain;
  };

  const updateShipping = () => {
    const refundAll = form.elements.full_shipping;
    if (refundAll && form.elements.shipping) form.elements.shipping.readOnly = refundAll.checked;
  };

  const update = async () => {
    const request = ++latest;
    const body = new FormData(form);
    // The idempotency key must only be used to submit the form.
    body.delete("form_key");
    try {
      const response = await fetch(form.dataset.refund, { method: "POST", body });
      const text = await response.text();
      if (request === latest) summary.innerHTML = response.ok ? text : failed;
    } catch {
      if (request === latest) summary.innerHTML = failed;
    }
    if (request !== latest) return;
    suggest();
    updateLabel();
  };

  const updateSoon = () => {
    updateShipping();
    clearTimeout(timer);
    timer = setTimeout(update, 300);
  };

  form.addEventListener("input", updateSoon);
  form.addEventListener("change", updateSoon);
  updateShipping();
  update();
})();
