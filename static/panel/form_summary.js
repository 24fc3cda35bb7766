// The summary of a form. After each change, the server describes the input, and nothing is saved. The answer is the form's
// page, or the summary alone if the summary has a URL.
(() => {
  "use strict";
  const summary = document.getElementById("form-summary");
  const form = summary?.closest("form");
  if (!form) return;
  const DELAY = 400;
  let timer = 0;
  let latest = 0;

  const update = async () => {
    const request = ++latest;
    const values = new FormData(form);
    values.delete("form_key"); // The key must only be used to save the form.
    values.set("step", "summary");
    try {
      const answer = await fetch(summary.dataset.url ?? location.href, { method: "POST", body: values });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = summary.dataset.url && answer.ok ? page.body : page.getElementById("form-summary");
      if (request === latest && fresh && fresh.innerHTML !== summary.innerHTML) summary.innerHTML = fresh.innerHTML;
    } catch {
      // The summary shows the input again after the next change, or after saving.
    }
  };
  const updateSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(update, DELAY);
  };
  ["input", "change"].forEach((name) => form.addEventListener(name, updateSoon));
})();
