// The command palette: select the first result, let Enter open it even before the results arrive, open the palette by
// Ctrl+K from within fields, and switch the theme without a page load.
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
    if (!event.target.matches?.("input, textarea")) return; // The theme handles the key outside of fields.
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

  // The theme's own handler has selected nothing at this point.
  const choose = (event) => {
    if (event.target.id !== "command-results") return;
    asked = event.detail.requestConfig.formData.get("s");
    const [first] = rows();
    if (first) palette().currentIndex = 1;
    const isWaitedFor = hurried && asked === field().value;
    hurried = hurried && !isWaitedFor;
    if (first && isWaitedFor) first.querySelector("a").click();
  };

  // The fragments are the theme's names of the choices; without this handler the link would only set the fragment.
  const switchTheme = (event) => {
    const link = event.target.closest?.(SWITCH);
    if (!link) return;
    event.preventDefault();
    event.stopPropagation();
    palette().switchTheme(link.hash.slice(1));
    field().value = asked = "";
    palette().handleEscape();
    field().blur(); // The hidden field would otherwise receive Ctrl+K until the next repaint.
  };

  document.addEventListener("keydown", open);
  document.addEventListener("keydown", enter, true);
  document.addEventListener("click", switchTheme, true);
  document.addEventListener("input", (event) => isSearch(event.target) && (hurried = false));
  document.addEventListener("htmx:after-swap", choose);
})();
