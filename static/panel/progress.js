// Poll the progress of a job. Refresh parts of the page until the job is done, then reload the page. Stop with a
// message if the session has expired or the server does not respond.
(() => {
  "use strict";
  const PAUSE = 2000;
  const PATIENCE = 10000;
  const MISSES = 5;
  let missed = 0;
  const parts = (page) => [...page.querySelectorAll("[data-progress]")];
  // Return the current states. Other content of the page depends on the states, so a change reloads the page.
  const standing = (found) => found.map((part) => part.dataset.progress).join();

  const stop = (words, link) => {
    const note = document.createElement("div");
    note.className = "bo-note bo-note-warning";
    note.setAttribute("role", "alert");
    const text = document.createElement("p");
    const again = document.createElement("a");
    again.href = location.href;
    again.textContent = link;
    text.append(`${words} `, again);
    note.append(text);
    const shown = parts(document);
    shown[0].before(note);
    shown.forEach((part) => part.querySelectorAll("progress").forEach((bar) => bar.remove()));
  };

  const look = async () => {
    let response;
    let page;
    try {
      response = await fetch(location.href, {
        headers: { Accept: "text/html" },
        redirect: "manual",
        cache: "no-store",
        signal: AbortSignal.timeout(PATIENCE),
      });
      page = new DOMParser().parseFromString(await response.text(), "text/html");
    } catch {
      response = null;
    }
    if (response?.type === "opaqueredirect") {
      stop(translate("You are no longer logged in. The job continues in the background."), translate("Log in again"));
      return;
    }
    if (response?.ok) {
      missed = 0;
      const next = parts(page);
      const shown = parts(document);
      if (next.length !== shown.length || standing(next) !== standing(shown)) {
        location.reload();
        return;
      }
      shown.forEach((part, place) => part.replaceWith(document.importNode(next[place], true)));
    } else if (response && response.status < 500 && response.status !== 429) {
      location.reload();
      return;
    } else if ((missed += 1) >= MISSES) {
      stop(translate("The server is not responding. The job will continue as soon as the server is back."), translate("Reload"));
      return;
    }
    setTimeout(look, PAUSE);
  };

  if (parts(document).length) setTimeout(look, PAUSE);
})();
