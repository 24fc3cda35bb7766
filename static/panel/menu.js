// The menu: remember which sections are open. The section of the current page is always open at first. Without this
// script, only the current section is open.
(() => {
  "use strict";

  const KEY = "menuSections";
  let remembered = {};
  try {
    remembered = JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    // Without storage, only the current section is open.
  }

  const remember = (section) => {
    // The click has not opened or closed the section yet.
    remembered[section.dataset.section] = !section.open;
    try {
      localStorage.setItem(KEY, JSON.stringify(remembered));
    } catch {
      // See above.
    }
  };

  document.querySelectorAll(".bo-menu details").forEach((section) => {
    section.open ||= remembered[section.dataset.section] === true;
    section.querySelector("summary").addEventListener("click", () => remember(section));
  });
})();
