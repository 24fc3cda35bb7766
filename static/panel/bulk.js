// A bulk edit that is under way: its page shows how far it is, until it has ended.
(() => {
  "use strict";
  const WAIT = 1000;
  const again = () => setTimeout(look, WAIT);
  const look = async () => {
    const shown = document.getElementById("bulk-edit");
    if (!shown || !("live" in shown.dataset)) return;
    try {
      const response = await fetch(location.href, { headers: { Accept: "text/html" } });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const found = page.getElementById("bulk-edit");
      // A button that somebody is at stays under their finger until there is news of another kind.
      const busy = shown.contains(document.activeElement) && found && "live" in found.dataset;
      if (response.ok && found && !busy) shown.replaceWith(found);
      else if (busy) shown.querySelector("[data-progress]")?.replaceWith(found.querySelector("[data-progress]") ?? "");
    } catch {
      // The server may be away for a moment.
    }
    again();
  };
  again();
})();
