// The form of a payment handler: shows, as it is typed, what the world would read.
(() => {
  "use strict";
  const preview = document.querySelector("[data-published]");
  const form = preview?.closest("form");
  if (!form) return;
  const into = preview.querySelector("[data-published-into]");
  const gone = `<p class="bo-empty">${translate("The preview is not available.")}</p>`;
  let timer = 0;
  let asked = 0;

  const show = async () => {
    const mine = ++asked;
    const body = new FormData(form);
    // The key that lets the form work once is for saving it.
    body.delete("form_key");
    try {
      const response = await fetch(preview.dataset.published, { method: "POST", body });
      const text = await response.text();
      if (mine === asked) into.innerHTML = response.ok ? text : gone;
    } catch {
      if (mine === asked) into.innerHTML = gone;
    }
  };

  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(show, 300);
  };

  form.addEventListener("input", soon);
  form.addEventListener("change", soon);
  show();
})();
