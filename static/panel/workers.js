// Keep the warning that no worker is running up to date. If the server does not respond, the warning stays as it is.
(() => {
  "use strict";
  const PAUSE = 5000;
  const PATIENCE = 10000;

  const look = async (part) => {
    try {
      if (!document.hidden) {
        const response = await fetch(part.dataset.workers, {
          headers: { Accept: "text/html" },
          redirect: "manual",
          cache: "no-store",
          signal: AbortSignal.timeout(PATIENCE),
        });
        if (response.type === "opaqueredirect") return;
        const warning = response.ok ? (await response.text()).trim() : null;
        // An unchanged warning stays in place, so that screen readers do not read it again.
        if (warning !== null && warning !== shown.get(part)) {
          shown.set(part, warning);
          part.innerHTML = warning;
        }
      }
    } catch {
      // The next request may succeed.
    }
    setTimeout(look, PAUSE, part);
  };

  const shown = new WeakMap();
  document.querySelectorAll("[data-workers]").forEach((part) => {
    shown.set(part, part.innerHTML.trim());
    setTimeout(look, PAUSE, part);
  });
})();
