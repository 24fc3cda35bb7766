// The command palette: select the first result, open it with Enter even if Enter is pressed before the results arrive,
// open the palette with Ctrl+K while a field has the focus, and switch the color theme without a page load.
(() => {
  "use strict";
  const isSearch = (element) => element.id === "search-input-command";
  const SWITCH = '#command-results-list a[href^="#"]';
  const field = () => document.getElementById("search-input-command");
  const palette = () => window.Alpine.$data(field());
  const rows = () => document.querySelectorAll("#command-results-list > li");
  let asked = null; // The search text of the displayed results.
  let hurried = false; // Enter was pressed before the results arrived.

  const open = (event) => {
    if (event.key?.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    if (!event.target.matches?.("input, textarea")) return; // Outside fields, the panel theme handles the key.
    event.preventDefault();
    if (!isSearch(event.target)) window.dispatchEvent(new CustomEvent("opencommand"));
  };

  const enter = (event) => {
    if (event.key !== "Enter" || !isSearch(event.target) || event.isComposing) return;
    const chosen = rows()[palette().currentIndex - 1]?.querySelector(SWITCH);
    const isShown = asked === event.target.value && rows().length;
    if (isShown && !chosen) return;
    event.preventDefault();
    event.stopPropagation();
    if (isShown) chosen.click();
    hurried = asked !== event.target.value;
  };

  // At this point, the theme's own handler has not selected a result yet.
  const choose = (event) => {
    if (event.target.id !== "command-results") return;
    asked = event.detail.requestConfig.formData.get("s");
    const [first] = rows();
    if (first) palette().currentIndex = 1;
    const isWaitedFor = hurried && asked === field().value;
    hurried = hurried && !isWaitedFor;
    if (first && isWaitedFor) first.querySelector("a").click();
  };

  // The URL fragments name the color themes. Without this handler, a link would only change the URL.
  const switchTheme = (event) => {
    const link = event.target.closest?.(SWITCH);
    if (!link) return;
    event.preventDefault();
    event.stopPropagation();
    palette().switchTheme(link.hash.slice(1));
    field().value = asked = "";
    palette().handleClear();
    field().blur(); // Otherwise, the hidden field would receive Ctrl+K until the next repaint.
  };

  document.addEventListener("keydown", open);
  document.addEventListener("keydown", enter, true);
  document.addEventListener("click", switchTheme, true);
  document.addEventListener("input", (event) => isSearch(event.target) && (hurried = false));
  document.addEventListener("htmx:after-swap", choose);
})();

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
