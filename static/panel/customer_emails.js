// Email fields that suggest customers by name or email while you type. Without this script, the address can be typed.
(() => {
  "use strict";
  const DELAY = 250, SHORTEST = 2;
  const list = document.querySelector("datalist[data-customers]");
  if (!list) return;
  let timer, latest = "";

  const find = async (term) => {
    const answer = await fetch(`${list.dataset.customers}?${new URLSearchParams({ q: term })}`, { credentials: "same-origin" });
    if (!answer.ok || term !== latest) return;
    const { customers } = await answer.json();
    list.replaceChildren(
      ...customers.map(({ email, name }) => {
        const option = document.createElement("option");
        option.value = email;
        option.label = name === email ? email : `${name} (${email})`;
        return option;
      }),
    );
  };

  document.querySelectorAll(`input[list="${list.id}"]`).forEach((input) => {
    input.addEventListener("input", () => {
      latest = input.value.trim();
      clearTimeout(timer);
      if (latest.length >= SHORTEST) timer = setTimeout(() => find(latest).catch(() => {}), DELAY);
    });
  });
})();
