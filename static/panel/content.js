// Articles and the theme editor: previews, tag completion, and a warning before unsaved changes are lost.
(() => {
  "use strict";

  const preview = async (box) => {
    const frame = box.querySelector("iframe");
    const body = new FormData();
    body.set("html", document.getElementById(box.dataset.preview).value);
    body.set("csrfmiddlewaretoken", document.querySelector("[name=csrfmiddlewaretoken]").value);
    const response = await fetch(box.dataset.previewUrl, { method: "POST", body });
    const text = await response.text();
    frame.hidden = false;
    // The sandbox blocks scripts, and the server has sanitized the markup.
    if (response.ok) frame.srcdoc = text;
    else frame.srcdoc = new Option(text).innerHTML;
  };

  // Suggest completions for the last tag in the list. Each option contains the whole list, because the browser replaces
  // the whole value.
  const complete = (input) => {
    const list = document.getElementById(input.getAttribute("list"));
    list.known ??= [...list.options].map((option) => option.value);
    const cut = input.value.lastIndexOf(",") + 1;
    const before = cut ? `${input.value.slice(0, cut)} ` : "";
    list.replaceChildren(...list.known.map((word) => new Option("", before + word)));
  };

  // The tabs of open theme files. Session storage contains the tabs and their unsaved text, so that users can switch
  // between tabs without losing changes.
  const openTabs = (nav) => {
    const { tabs: theme, tab: current } = nav.dataset;
    // The key contains the user's ID, so that panel/panel.js can delete the entries of other users.
    const place = `code:${document.getElementById("session").dataset.person}:${theme}`;
    const form = document.querySelector("form[data-guard]");
    const area = form?.querySelector("textarea[data-editor]");
    const there = new Set([...document.querySelectorAll("[data-file]")].map((link) => link.dataset.file));
    const note = form?.querySelector("[data-unsaved]");
    let tabs = [];
    try {
      tabs = JSON.parse(sessionStorage.getItem(place)) ?? [];
    } catch {
      // The entry is not valid JSON, so start without tabs.
    }
    tabs = tabs.filter((tab) => there.has(tab.key) || tab.key === current || tab.text !== undefined);
    if (current && !tabs.some((tab) => tab.key === current)) tabs.push({ key: current });
    const mine = tabs.find((tab) => tab.key === current);

    const keep = () => {
      try {
        sessionStorage.setItem(place, JSON.stringify(tabs));
        return true;
      } catch {
        return false;
      }
    };
    const address = (key) => `?key=${encodeURIComponent(key)}`;
    const close = (tab) => {
      if (tab.text !== undefined && !window.confirm(translate("{name} has unsaved changes. Close the file and discard the changes?", { name: tab.key }))) return;
      const index = tabs.indexOf(tab);
      tabs.splice(index, 1);
      keep();
      if (tab !== mine) {
        show();
        nav.querySelector("a")?.focus();
        return;
      }
      leaving = true;
      const next = tabs[index] ?? tabs[index - 1];
      window.location.assign(next ? address(next.key) : window.location.pathname);
    };
    const show = () => {
      nav.hidden = tabs.length === 0;
      nav.querySelector("ul").replaceChildren(
        ...tabs.map((tab) => {
          const item = document.createElement("li");
          const link = document.createElement("a");
          link.href = address(tab.key);
          link.textContent = tab.key.split("/").slice(1).join("/");
          link.title = tab.key;
          if (tab === mine) link.setAttribute("aria-current", "page");
          if (tab.text !== undefined) {
            const mark = document.createElement("span");
            mark.className = "bo-badge bo-badge-warning";
            mark.textContent = translate("not saved");
            link.append(" ", mark);
          }
          const button = document.createElement("button");
          button.type = "button";
          button.setAttribute("aria-label", translate("Close {name}", { name: tab.key }));
          button.textContent = "×";
          button.addEventListener("click", () => close(tab));
          item.append(link, button);
          return item;
        }),
      );
      const active = nav.querySelector("[aria-current]")?.closest("li");
      if (active) nav.scrollLeft = active.offsetLeft - nav.clientWidth + active.offsetWidth + 8;
    };

    let leaving = false;
    const remember = () => {
      mine.text = area.value;
      mine.expected = form.elements.expected.value;
    };
    if (mine && area && form.hasAttribute("data-dirty")) remember();
    else if (mine && area && mine.text !== undefined) {
      // Submit the checksum of the version that was edited, so that the server detects changes by someone else.
      area.value = mine.text;
      form.elements.expected.value = mine.expected;
      if (note) note.hidden = false;
    }
    keep();
    show();

    area?.addEventListener("input", () => {
      if (!mine) return;
      const first = mine.text === undefined;
      remember();
      if (note) note.hidden = false;
      if (first) show();
    });
    form?.addEventListener("submit", () => {
      leaving = true;
      if (mine) delete mine.text;
      keep();
    });
    document.addEventListener("click", (event) => {
      const another = event.ctrlKey || event.metaKey || event.shiftKey;
      if (event.target.closest(".bo-code a[href^='?key=']") && !another && keep()) leaving = true;
    });
    document.addEventListener("submit", (event) => {
      if (event.target.matches("[role=search]") && keep()) leaving = true;
    });
    window.addEventListener("pageshow", (event) => {
      if (event.persisted) window.location.reload();
    });
    window.addEventListener("beforeunload", (event) => {
      if (leaving || !tabs.some((tab) => tab.text !== undefined)) return;
      event.preventDefault();
    });
    // The user has confirmed leaving the page, so discard the unsaved text.
    window.addEventListener("pagehide", () => {
      if (leaving) return;
      tabs.forEach((tab) => {
        delete tab.text;
      });
      keep();
    });
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-preview-now]");
    if (button) preview(button.closest("[data-preview]"));
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches("[data-complete=tags]")) complete(event.target);
  });
  document.querySelectorAll(".bo-tree").forEach((tree) => {
    const link = tree.querySelector("[aria-current]");
    if (link) tree.scrollTop = link.offsetTop - tree.clientHeight / 2;
  });
  // Must run before the editor, which replaces the textarea on DOMContentLoaded.
  document.querySelectorAll("[data-tabs]").forEach(openTabs);
})();
