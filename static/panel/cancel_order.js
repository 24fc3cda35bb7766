// The button that cancels an order names the refund that the user has entered.
(() => {
  "use strict";
  const form = document.querySelector("[data-cancel]");
  const { amount, currency, named_refund: named, refund_now: choice } = form?.elements ?? {};
  if (!choice) return;
  const button = form.querySelector("[data-refund]");
  const initial = { named: named.value, label: button.textContent, sum: `${amount.value} ${currency.value}` };

  const update = () => {
    const isLater = choice.value === "no";
    const sum = `${amount.value.trim()} ${currency.value}`;
    const { plain, refund } = button.dataset;
    // The server asks for a confirmation if this differs from the refund that was entered.
    named.value = isLater ? "" : initial.named;
    if (isLater || !amount.value.trim()) button.textContent = plain;
    else button.textContent = sum === initial.sum ? initial.label : refund.replace("{money}", sum);
  };

  form.addEventListener("input", update);
})();
