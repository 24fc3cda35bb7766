// A page that shows how far some work is: its part is fetched again until the work is done, then the whole page.
(() => {
  "use strict";
  const PAUSE = 2000;
  const part = (page) => page.querySelector("[data-progress]");

  const look = async () => {
    try {
      const response = await fetch(location.href);
      if (response.ok) {
        const next = part(new DOMParser().parseFromString(await response.text(), "text/html"));
        if (!next) return location.reload();
        part(document).replaceWith(document.importNode(next, true));
      }
    } catch {
      // The server is away for a moment; the next look finds it again.
    }
    setTimeout(look, PAUSE);
  };

  if (part(document)) setTimeout(look, PAUSE);
})();
