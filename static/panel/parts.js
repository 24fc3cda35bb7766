// Load slow parts of a page when they become visible. Until then, or without JavaScript, each part contains a link to
// its full content. Parts with `data-part-of` show the selected option of a field, such as an example of a topic.
(() => {
  "use strict";
  const fill = async (place) => {
    const url = place.dataset.part;
    try {
      const answer = await fetch(url, { credentials: "same-origin", redirect: "error" });
      if (!answer.ok) throw new Error(answer.statusText);
      const content = await answer.text();
      if (url === place.dataset.part) place.innerHTML = content;
    } catch {
      if (url !== place.dataset.part) return;
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

  document.querySelectorAll("[data-part-of]").forEach((place) => {
    const { partOf: name, partUrl: url } = place.dataset;
    const form = place.closest("form");
    const update = () => {
      const value = new FormData(form).get(name);
      if (!value) return;
      place.dataset.part = `${url}?${new URLSearchParams({ [name]: value })}`;
      fill(place);
    };
    form.addEventListener("change", (event) => {
      if (event.target.name === name) update();
    });
    update();
  });
})();
