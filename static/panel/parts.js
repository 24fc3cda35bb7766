// Parts of a page that are asked for once somebody comes to where they stand, as they may take long. Until then, and
// without scripts, a link to the whole stands in their place.
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

  const observer = new IntersectionObserver((places) => {
    for (const { target } of places.filter(({ isIntersecting }) => isIntersecting)) {
      observer.unobserve(target);
      fill(target);
    }
  });
  document.querySelectorAll("[data-part]").forEach((place) => observer.observe(place));
})();
