// Protect form input if the session has expired. Before a form is submitted, ask the server for the current user. If
// the session has expired, the user logs in again in another tab, and the submission continues. The response also
// contains the CSRF token, which changes at login.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const about = document.getElementById("session");
  if (!about) return;
  const { person, check } = about.dataset;
  let dialog = null;
  let waiting = null; // The delayed form and its submit button.

  // Delete stored input of other users from this window.
  try {
    Object.keys(sessionStorage)
      .filter((key) => key.startsWith("code:") && !key.startsWith(`code:${person}:`))
      .forEach((key) => sessionStorage.removeItem(key));
  } catch {
    // If session storage is not available, nothing is stored.
  }

  // Return the session's state: "mine", "over", "another's", or "unknown" if the server does not respond.
  const ask = async () => {
    try {
      const answer = await fetch(check, {
        headers: { Accept: "application/json" },
        redirect: "manual",
        cache: "no-store",
        signal: AbortSignal.timeout(10000),
      });
      if (answer.type === "opaqueredirect") return "over";
      if (!answer.ok) return "unknown";
      const { person: now, token } = await answer.json();
      if (String(now) !== person) return "another's";
      document.querySelectorAll("input[name=csrfmiddlewaretoken]").forEach((input) => {
        input.value = token;
      });
      return "mine";
    } catch {
      return "unknown";
    }
  };

  const show = (state) => {
    dialog ??= document.body.appendChild(about.content.cloneNode(true).querySelector("dialog"));
    dialog.querySelectorAll("[data-state]").forEach((part) => {
      part.hidden = part.dataset.state !== state;
      if (!part.hidden) dialog.setAttribute("aria-label", part.querySelector("h2").textContent);
    });
    if (state === "another's") {
      // Another user must not see the input.
      document.querySelectorAll("main, #content, #main").forEach((part) => part.replaceChildren());
      waiting = null;
    }
    if (!dialog.open) dialog.showModal();
  };

  const go = async () => {
    if (!waiting || waiting.asking) return;
    waiting.asking = true;
    const state = await ask();
    waiting.asking = false;
    if (state !== "mine") {
      show(state);
      return;
    }
    const { form, button } = waiting;
    waiting = null;
    dialog?.close();
    form.dataset.checked = "";
    form.requestSubmit(button);
  };

  const hold = (event) => {
    const form = event.target;
    if (form.method !== "post" || form.id === "logout-form") return;
    if ("checked" in form.dataset) {
      delete form.dataset.checked;
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation();
    if (waiting || form.dataset.sent) return;
    waiting = { form, button: event.submitter };
    go();
  };

  document.addEventListener("submit", hold, true);
  window.addEventListener("focus", () => {
    if (dialog?.open) go();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-session]");
    if (!button) return;
    if (button.dataset.session === "again") go();
    else if (button.dataset.session === "leave") {
      dialog.close();
      waiting = null;
    } else window.location.reload();
  });
});
