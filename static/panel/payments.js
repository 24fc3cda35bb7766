// The payment handler form. The page previews the published entry while the user types.
(() => {
  "use strict";
  const preview = document.querySelector("[data-published]");
  const form = preview?.closest("form");
  if (!form) return;
  const output = preview.querySelector("[data-published-into]");
  const unavailable = `<p class="bo-empty">${translate("The preview is not available.")}</p>`;
  let timer = 0;
  let latestRequest = 0;

  const update = async () => {
    const request = ++latestRequest;
    const body = new FormData(form);
    // The idempotency key must only be used to save the form.
    body.delete("form_key");
    try {
      const response = await fetch(preview.dataset.published, { method: "POST", body });
      const text = await response.text();
      if (request === latestRequest) output.innerHTML = response.ok ? text : unavailable;
    } catch {
      if (request === latestRequest) output.innerHTML = unavailable;
    }
  };

  const scheduleUpdate = () => {
    clearTimeout(timer);
    timer = setTimeout(update, 300);
  };

  form.addEventListener("input", scheduleUpdate);
  form.addEventListener("change", scheduleUpdate);
  update();
})();
