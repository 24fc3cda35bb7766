// Apply the stored light or dark mode to pages that do not use the panel theme.
(() => {
  "use strict";
  const KEY = "adminTheme";
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  const stored = () => {
    try {
      return JSON.parse(localStorage.getItem(KEY)) || "auto";
    } catch {
      return "auto";
    }
  };
  const apply = () => {
    const choice = stored();
    document.documentElement.classList.toggle("dark", choice === "dark" || (choice === "auto" && dark.matches));
  };

  apply();
  dark.addEventListener("change", apply);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-switch-theme]")) return;
    localStorage.setItem(KEY, JSON.stringify(document.documentElement.classList.contains("dark") ? "light" : "dark"));
    apply();
  });
})();
