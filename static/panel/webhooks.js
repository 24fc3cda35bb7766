// The live log of deliveries, which is updated every two seconds while the page is visible and the log is not paused.
(() => {
  "use strict";

  const rows = document.querySelector("[data-live]");
  const toggle = document.querySelector("[data-live-switch]");
  const note = document.querySelector("[data-live-note]");

  const update = async () => {
    const isPaused = toggle.getAttribute("aria-pressed") === "true";
    if (!isPaused && !document.hidden && !rows.contains(document.activeElement)) {
      try {
        const response = await fetch(rows.dataset.live, { credentials: "same-origin", redirect: "error" });
        if (!response.ok) throw new Error(`${response.status}`);
        rows.innerHTML = await response.text();
        note.textContent = translate("Updated at {time}", { time: new Date().toLocaleTimeString(document.documentElement.lang) });
      } catch (error) {
        note.textContent = translate("Update failed ({reason}). Trying again.", { reason: error.message });
      }
    }
    setTimeout(update, 2000);
  };

  toggle.addEventListener("click", () => {
    const isPaused = toggle.getAttribute("aria-pressed") !== "true";
    toggle.setAttribute("aria-pressed", isPaused);
    toggle.textContent = isPaused ? translate("Resume") : translate("Pause");
    if (isPaused) note.textContent = translate("Paused");
  });
  setTimeout(update, 2000);
})();
