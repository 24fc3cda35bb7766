// Additions to the panel theme: keyboard access, accessible names and landmarks, and protection against double
// submission. `translate` returns a text in the user's language. `manage.py messages` builds `words.<code>.js` from the
// catalogs. The name is not `gettext`, because Django's own scripts on the same pages define that function.
window.translate = (text, values = {}) =>
  (window.panelWords?.[text] ?? text).replace(/\{(\w+)\}/g, (placeholder, name) => values[name] ?? placeholder);

// Protect form input if the session has expired. Before a form is submitted, ask the server for the current user. If
// the session has expired, the user logs in again in another tab, and the submission continues. The response also
// contains the CSRF token, which changes at login.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const about = document.getElementById("session");
  if (!about) return;
  const { person, check } = about.dataset;
  let dialog = null;
  let waiting = null; // The delayed form and its submit button.

  // Delete stored input of other users from this window.
  try {
    Object.keys(sessionStorage)
      .filter((key) => key.startsWith("code:") && !key.startsWith(`code:${person}:`))
      .forEach((key) => sessionStorage.removeItem(key));
  } catch {
    // If session storage is not available, nothing is stored.
  }

  // Return the session's state: "mine", "over", "another's", or "unknown" if the server does not respond.
  const ask = async () => {
    try {
      const answer = await fetch(check, {
        headers: { Accept: "application/json" },
        redirect: "manual",
        cache: "no-store",
        signal: AbortSignal.timeout(10000),
      });
      if (answer.type === "opaqueredirect") return "over";
      if (!answer.ok) return "unknown";
      const { person: now, token } = await answer.json();
      if (String(now) !== person) return "another's";
      document.querySelectorAll("input[name=csrfmiddlewaretoken]").forEach((input) => {
        input.value = token;
      });
      return "mine";
    } catch {
      return "unknown";
    }
  };

  const show = (state) => {
    dialog ??= document.body.appendChild(about.content.cloneNode(true).querySelector("dialog"));
    dialog.querySelectorAll("[data-state]").forEach((part) => {
      part.hidden = part.dataset.state !== state;
      if (!part.hidden) dialog.setAttribute("aria-label", part.querySelector("h2").textContent);
    });
    if (state === "another's") {
      // Another user must not see the input.
      document.querySelectorAll("main, #content, #main").forEach((part) => part.replaceChildren());
      waiting = null;
    }
    if (!dialog.open) dialog.showModal();
  };

  const go = async () => {
    if (!waiting || waiting.asking) return;
    waiting.asking = true;
    const state = await ask();
    waiting.asking = false;
    if (state !== "mine") {
      show(state);
      return;
    }
    const { form, button } = waiting;
    waiting = null;
    dialog?.close();
    form.dataset.checked = "";
    form.requestSubmit(button);
  };

  const hold = (event) => {
    const form = event.target;
    if (form.method !== "post" || form.id === "logout-form") return;
    if ("checked" in form.dataset) {
      delete form.dataset.checked;
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation();
    if (waiting || form.dataset.sent) return;
    waiting = { form, button: event.submitter };
    go();
  };

  document.addEventListener("submit", hold, true);
  window.addEventListener("focus", () => {
    if (dialog?.open) go();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-session]");
    if (!button) return;
    if (button.dataset.session === "again") go();
    else if (button.dataset.session === "leave") {
      dialog.close();
      waiting = null;
    } else window.location.reload();
  });
});

(() => {
  "use strict";

  // Adjust the theme's data of the page before Alpine starts.
  const adjustTheme = () => {
    const build = window.theme;
    // The styles show the menu next to the content in windows of at least this width.
    const isWide = () => window.innerWidth >= 1280;
    const isOpen = () => isWide() && localStorage.getItem("sidebarOpen") !== "0";
    window.theme = (...values) => {
      const data = build(...values);
      const press = data.themeBindings["x-on:keydown.window"];
      data.sidebarOpen = isOpen();
      data.sidebarToggle = function () {
        this.sidebarOpen = !this.sidebarOpen;
        if (isWide()) localStorage.setItem("sidebarOpen", this.sidebarOpen ? "1" : "0");
      };
      data.themeBindings["x-resize.window"] = function () {
        this.sidebarOpen = isOpen();
      };
      // Except "/" for searching, the theme's shortcuts of one character, such as "c" for adding an object, are turned
      // off, because speech input and typing in a select box would trigger them by accident.
      data.themeBindings["x-on:keydown.window"] = function (event) {
        if (event.key === "/" || event.ctrlKey || event.metaKey) press.call(this, event);
      };
      return data;
    };
  };
  document.addEventListener("alpine:init", adjustTheme);

  const NATIVE = "a[href], button, input, select, textarea, label, summary, form";
  const NAMES = {
    close: translate("Close"),
    add: translate("Add"),
    arrow_back: translate("Back"),
    search: translate("Search"),
    storefront: translate("Home"),
    dock_to_right: translate("Show or hide the menu"),
    unfold_more: translate("More"),
    more_vert: translate("Actions for this row"),
    more_horiz: translate("Actions for this row"),
    light_mode: translate("Light"),
    dark_mode: translate("Dark"),
    computer: translate("System"),
  };

  const clickable = (element) =>
    [...element.attributes].some(({ name }) => /^(x-on:click|@click)(?!\.(outside|away))/.test(name));

  const nameOf = (element) => {
    const icon = element.matches(".material-symbols-outlined")
      ? element
      : element.querySelector(".material-symbols-outlined");
    const words = [...element.childNodes].map((node) => node.textContent).join(" ").trim();
    const symbol = icon?.textContent.trim();
    return words && words !== symbol ? null : NAMES[symbol];
  };

  const nameIfIconOnly = (element) => {
    const name = element.hasAttribute("aria-label") || element.title ? null : nameOf(element);
    if (name) element.setAttribute("aria-label", name);
  };

  const makeOperable = (element) => {
    if (element.matches(NATIVE) || element.closest("[data-operable]") === element) return;
    if (element.id === "changelist-filter-close") return; // The backdrop. Escape also closes the filters.
    element.dataset.operable = "";
    element.tabIndex = 0;
    if (element.tagName !== "TR") element.setAttribute("role", "button");
    nameIfIconOnly(element);
    element.addEventListener("keydown", (event) => {
      if (event.target !== element || !["Enter", " "].includes(event.key)) return;
      event.preventDefault();
      element.click();
    });
  };

  // The theme's script writes the name of a selected file into the text field of the theme's file widget. For other
  // file inputs, the script would fail or overwrite a form field.
  const keepFileNames = (input) => {
    if (!input.closest(":has(> label > input[type=text]:disabled)")) input.hasChangeListener = true;
  };

  const enhance = (root) => {
    root.querySelectorAll("input[type=file]").forEach(keepFileNames);
    root.querySelectorAll("*").forEach((element) => {
      if (clickable(element)) makeOperable(element);
    });
    root.querySelectorAll("a[href], button").forEach(nameIfIconOnly);
    root.querySelectorAll(".material-symbols-outlined:not([data-operable])").forEach((icon) => {
      if (!icon.closest("[aria-label]")?.isSameNode(icon)) icon.setAttribute("aria-hidden", "true");
    });
  };

  // Mark empty cells, which phones hide.
  const markEmptyCells = () =>
    document.querySelectorAll("#result_list tbody td").forEach((cell) => {
      const isPlain = !cell.firstElementChild || cell.firstElementChild.matches(".bo-badge:only-child");
      if (isPlain && ["", "-", "–", "—"].includes(cell.textContent.trim())) cell.dataset.empty = "";
    });

  const landmarks = () => {
    const menu = document.getElementById("nav-sidebar-inner");
    menu?.setAttribute("aria-label", translate("Menu"));
    menu?.querySelectorAll("nav").forEach((nav) => nav.setAttribute("aria-label", translate("Your account")));
    menu?.querySelectorAll("a.active").forEach((link) => link.setAttribute("aria-current", "page"));
    const search = document.getElementById("search-input-command");
    search?.setAttribute("aria-label", translate("Search"));
    document.getElementById("command-submit")?.setAttribute("aria-label", translate("Search now"));
    document.getElementById("searchbar")?.setAttribute("aria-label", translate("Search this list"));
  };

  // Name field groups after their headings, so that screen readers distinguish the cities of two addresses.
  const groups = () =>
    document.querySelectorAll("fieldset.module").forEach((group) => {
      const heading = group.querySelector("h2")?.textContent.trim();
      if (heading) group.setAttribute("aria-label", heading);
    });

  // Focus the field with autofocus, because browsers do not do so reliably, or the first field of an add form.
  const beginForm = () => {
    if (document.activeElement !== document.body || document.querySelector(":target")) return;
    const fields = [...(document.querySelector("[data-begins]")?.form.elements ?? [])];
    const first = fields.find((field) => field.matches("input, select, textarea") && !field.disabled && field.checkVisibility());
    (document.querySelector("[autofocus]") ?? first)?.focus();
  };

  // Prevent a double click from submitting a form twice.
  const sendOnce = (event) => {
    const form = event.target;
    if (form.method !== "post" || event.defaultPrevented) return;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "1";
    // If the user comes back to this page with the Back button, the form must work again.
    window.addEventListener("pageshow", () => delete form.dataset.sent, { once: true });
  };

  const copy = async (button) => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.value);
      button.querySelector("[data-copy-text]").textContent = translate("Copied");
    } catch {
      source.select();
    }
  };

  const choosePreset = (button) => {
    const chosen = new Set(button.dataset.preset.split(" ").filter(Boolean));
    document.querySelectorAll("select[name=permissions]:not(:disabled)").forEach((level) => {
      const offered = [...level.options].filter((option) => !option.disabled);
      const wanted = offered.findLast((option) => chosen.has(option.value) || chosen.has(option.value.replace(/:view$/, "")));
      level.value = wanted?.value ?? "";
    });
    document.dispatchEvent(new Event("change"));
  };

  const setAll = (button) => {
    document.querySelectorAll(`input[type=radio][value="${button.dataset.setAll}"]`).forEach((radio) => {
      radio.checked = true;
    });
  };

  const narrow = (input) => {
    const term = input.value.trim().toLowerCase();
    document.querySelectorAll("[data-narrow-text]").forEach((row) => {
      row.hidden = term !== "" && !row.dataset.narrowText.toLowerCase().includes(term);
    });
  };

  // Close drop-downs on Escape and when the focus leaves them.
  const closeDrops = (event) => {
    document.querySelectorAll("details[data-drop][open]").forEach((drop) => {
      if (event.type !== "keydown" ? drop.contains(event.target) : event.key !== "Escape") return;
      const held = drop.contains(document.activeElement);
      drop.open = false;
      if (held && event.type === "keydown") drop.querySelector("summary").focus();
    });
  };
  // Focus the first field of an opened drop-down, unless a field in it already has the focus.
  const openDrop = (event) => {
    if (!event.target.matches?.("details[data-drop][open]")) return;
    if (event.target.querySelector("form")?.contains(document.activeElement)) return;
    const field = event.target.querySelector(":target:enabled") ?? event.target.querySelector("input:not([type=hidden]):enabled");
    field?.focus();
  };

  // Enter in a field with `data-enter` clicks the named button instead of the form's first button. Ctrl+S saves the
  // form.
  const pressByKey = (event) => {
    if (event.isComposing || event.defaultPrevented) return;
    const saves = event.key.toLowerCase() === "s" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    const named = event.key === "Enter" && event.target.dataset?.enter;
    const button = saves ? document.querySelector("button[name=_save], .bo-actions-bar [name=step][value=save]") : named && document.getElementById(named);
    if (!button) return;
    event.preventDefault();
    document.activeElement.blur(); // Some fields process their input on blur.
    button.click();
  };
  // Move the focus into the filters when they are opened, and back to the filter button when they are closed.
  const followFilters = (event) => {
    const filters = document.getElementById("changelist-filter");
    const opener = document.querySelector("[x-on\\:click='filterOpen = true']");
    if (!filters || !opener || (event.type === "keydown" && event.key !== "Escape")) return;
    const wasOpen = filters.checkVisibility();
    // The filters change in one of the next frames. On a slow machine, this is not the first frame.
    const look = (frames) => {
      if (wasOpen !== filters.checkVisibility())
        (wasOpen ? opener : filters.querySelector("select, input:not([type=hidden]), li a"))?.focus();
      else if (frames) requestAnimationFrame(() => look(frames - 1));
    };
    setTimeout(look, 0, 30);
  };
  // Omit unset filters from the URL, because an empty value could be a valid filter value.
  const sendChosen = (event) => {
    if (event.target.id !== "filter-form") return;
    for (const field of event.target.querySelectorAll("select, input:not([type=hidden])")) {
      const chosen = field.tagName === "SELECT" ? field.selectedIndex > 0 : field.value.trim();
      if (!chosen) event.formData.delete(field.name);
    }
  };

  ["click", "focusin", "keydown"].forEach((name) => document.addEventListener(name, closeDrops));
  ["click", "keydown"].forEach((name) => document.addEventListener(name, followFilters, true));
  document.addEventListener("formdata", sendChosen);
  document.addEventListener("toggle", openDrop, true);
  document.addEventListener("keydown", pressByKey);
  document.addEventListener("submit", sendOnce);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy], [data-set-all], [data-print], [data-preset]");
    if (button?.dataset.copy) copy(button);
    else if (button && "preset" in button.dataset) {
      event.preventDefault();
      choosePreset(button);
    }
    else if (button && "print" in button.dataset) window.print();
    else if (button) setAll(button);
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches?.("[data-narrow]")) narrow(event.target);
  });
  // Enter in the search field of a list must not send the form.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches?.("[data-narrow]")) event.preventDefault();
  });
  // After a failed save, focus the first invalid field.
  const focusWrong = () => [...document.querySelectorAll("[aria-invalid=true]")].find((field) => field.checkVisibility())?.focus();

  document.addEventListener("DOMContentLoaded", () => {
    focusWrong();
    beginForm();
    landmarks();
    groups();
    markEmptyCells();
    enhance(document);
    new MutationObserver((changes) => {
      for (const { addedNodes } of changes) addedNodes.forEach((node) => node.nodeType === 1 && enhance(node.parentElement ?? node));
    }).observe(document.body, { childList: true, subtree: true });
  });
})();

// Load the editors after the page, because they are larger than all other scripts together.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const hidePreviews = () => document.querySelectorAll(".bo-visual-preview").forEach((preview) => preview.remove());
  const urls = new Set([...document.querySelectorAll("[data-late-script]")].map((part) => part.dataset.lateScript));
  window.addEventListener("load", () => {
    urls.forEach((url) => {
      const script = document.createElement("script");
      script.src = url;
      script.async = false;
      script.addEventListener("error", hidePreviews); // Users can still edit the HTML source.
      document.head.append(script);
    });
  });
  if (urls.size && localStorage.getItem("bo-visual") === "source") hidePreviews();
});

// The theme moves tabs that do not fit into a menu, but measures them before the fonts are loaded. Measure again.
addEventListener("load", () => {
  "use strict";
  const tabs = document.querySelectorAll("#tabs-wrapper a").length;
  for (let tab = 0; tab < tabs; tab += 1) dispatchEvent(new Event("resize"));
});
