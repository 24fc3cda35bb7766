// The search from anywhere: what stands first is chosen from the beginning, Enter opens it also where it is pressed before
// the answer is there, and Ctrl K opens the search out of a field, too.
(() => {
  "use strict";
  const isSearch = (element) => element.id === "search-input-command";
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
    if (asked === event.target.value && rows().length) return;
    event.preventDefault();
    event.stopPropagation();
    hurried = asked !== event.target.value;
  };

  // The theme's own handler has chosen none by then.
  const choose = (event) => {
    if (event.target.id !== "command-results") return;
    asked = event.detail.requestConfig.formData.get("s");
    const [first] = rows();
    const field = document.getElementById("search-input-command");
    if (first) window.Alpine.$data(field).currentIndex = 1;
    if (first && hurried && asked === field.value) window.location.assign(first.querySelector("a").href);
    hurried = hurried && asked !== field.value;
  };

  document.addEventListener("keydown", open);
  document.addEventListener("keydown", enter, true);
  document.addEventListener("input", (event) => isSearch(event.target) && (hurried = false));
  document.addEventListener("htmx:after-swap", choose);
})();
