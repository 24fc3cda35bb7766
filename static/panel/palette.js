// The search from anywhere: what stands first is chosen from the beginning, Enter opens it also where it is pressed before
// the answer is there, and Ctrl K opens the search out of a field, too. Light and dark are switched at once.
(() => {
  "use strict";
  const isSearch = (element) => element.id === "search-input-command";
  const SWITCH = '#command-results-list a[href^="#"]';
  const field = () => document.getElementById("search-input-command");
  const palette = () => window.Alpine.$data(field());
  const rows = () => document.querySelectorAll("#command-results-list > li");
  let asked = null; // The text whose rows are shown.
  let hurried = false; // Enter was pressed before they were.

  const open = (event) => {
    if (event.key?.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    if (!event.target.matches?.("input, textarea")) return; // Elsewhere the theme does.
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

  // The theme's own handler has chosen none by then.
  const choose = (event) => {
    if (event.target.id !== "command-results") return;
    asked = event.detail.requestConfig.formData.get("s");
    const [first] = rows();
    if (first) palette().currentIndex = 1;
    const isWaitedFor = hurried && asked === field().value;
    hurried = hurried && !isWaitedFor;
    if (first && isWaitedFor) first.querySelector("a").click();
  };

  // The theme knows the choices by these names; its own row would lead to the fragment.
  const switchTheme = (event) => {
    const link = event.target.closest?.(SWITCH);
    if (!link) return;
    event.preventDefault();
    event.stopPropagation();
    palette().switchTheme(link.hash.slice(1));
    field().value = asked = "";
    palette().handleEscape();
    field().blur(); // Hidden as it is, it would keep Ctrl K to itself until the page is drawn.
  };

  document.addEventListener("keydown", open);
  document.addEventListener("keydown", enter, true);
  document.addEventListener("click", switchTheme, true);
  document.addEventListener("input", (event) => isSearch(event.target) && (hurried = false));
  document.addEventListener("htmx:after-swap", choose);
})();
