// Parts of a page that come after it: whatever they need, the rest is there at once. Until then, and without scripts, a
// link to the whole stands in their place.
(() => {
  "use strict";
  const fill = async (place) => {
    try {
      const answer = await fetch(place.dataset.part, { credentials: "same-origin", redirect: "error" });
      if (!answer.ok) throw new Error(answer.statusText);
      place.innerHTML = await answer.text();
    } catch {
      const note = document.createElement("p");
      note.className = "bo-subtle";
      note.textContent = translate("It could not be shown here just now.");
      place.append(note);
    }
  };

  document.querySelectorAll("[data-part]").forEach(fill);
})();
