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
        note.textContent = `Looked at ${new Date().toLocaleTimeString()}`;
      } catch (error) {
        note.textContent = `Could not look (${error.message}); tries again.`;
      }
    }
    setTimeout(look, 2000);
  };

  hold.addEventListener("click", () => {
    const held = hold.getAttribute("aria-pressed") !== "true";
    hold.setAttribute("aria-pressed", held);
    hold.textContent = held ? "Go on" : "Hold";
    if (held) note.textContent = "Held";
  });
  setTimeout(look, 2000);
})();
