// The live log of deliveries: looks again every two seconds while the page is seen and nobody holds it.
(() => {
  "use strict";

  const rows = document.querySelector("[data-live]");
  const hold = document.querySelector("[data-live-switch]");
  const note = document.querySelector("[data-live-note]");

  const look = async () => {
    const held = hold.getAttribute("aria-pressed") === "true";
    if (!held && !document.hidden && !rows.contains(document.activeElement)) {
      try {
        const answer = await fetch(rows.dataset.live, { credentials: "same-origin", redirect: "error" });
        if (!answer.ok) throw new Error(`${answer.status}`);
        rows.innerHTML = await answer.text();
        note.textContent = translate("Looked at {time}", { time: new Date().toLocaleTimeString(document.documentElement.lang) });
      } catch (error) {
        note.textContent = translate("Could not look ({reason}); tries again.", { reason: error.message });
      }
    }
    setTimeout(look, 2000);
  };

  hold.addEventListener("click", () => {
    const held = hold.getAttribute("aria-pressed") !== "true";
    hold.setAttribute("aria-pressed", held);
    hold.textContent = held ? translate("Go on") : translate("Hold");
    if (held) note.textContent = translate("Held");
  });
  setTimeout(look, 2000);
})();
