// Load slow parts of a page when they become visible. Until then, or without JavaScript, each part contains a link to
// its full content.
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
      note.textContent = translate("This content could not be loaded.");
      place.append(note);
    }
  };

  const observer = new IntersectionObserver((places) => {
    for (const { target } of places.filter(({ isIntersecting }) => isIntersecting)) {
      observer.unobserve(target);
      fill(target);
    }
  });
  document.querySelectorAll("[data-part]").forEach((place) => observer.observe(place));
})();
