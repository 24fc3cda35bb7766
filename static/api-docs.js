// The API reference: the search, and a form that sends a request with the user's access token.
(() => {
  "use strict";

  const { search: indexUrl, pages, header } = document.body.dataset;

  // --- search ---

  const box = document.querySelector(".search");
  const input = document.getElementById("search");
  const list = document.getElementById("found");
  const count = document.getElementById("found-count");
  const MOST = 20;
  const WEIGHT = { Resource: 30, Route: 10, Field: 0 };
  let entries = null;
  let chosen = -1;

  const load = async () => {
    if (!entries) {
      const answer = await fetch(indexUrl, { credentials: "omit" });
      entries = (await answer.json()).map((one) => ({ ...one, title: one.t.toLowerCase(), text: one.s.toLowerCase() }));
    }
    return entries;
  };

  const score = (one, words) => {
    let points = WEIGHT[one.k];
    for (const word of words) {
      if (one.title.startsWith(word)) points += 12;
      else if (one.title.includes(word)) points += 8;
      else if (one.text.includes(word)) points += 3;
      else return -1;
    }
    return points - one.title.length / 100;
  };

  const choose = (place) => {
    const options = [...list.children];
    chosen = options.length ? (place + options.length) % options.length : -1;
    options.forEach((option, at) => option.setAttribute("aria-selected", String(at === chosen)));
    if (chosen < 0) {
      input.removeAttribute("aria-activedescendant");
    } else {
      input.setAttribute("aria-activedescendant", options[chosen].id);
      options[chosen].scrollIntoView({ block: "nearest" });
    }
  };

  const close = () => {
    list.hidden = true;
    list.replaceChildren();
    input.setAttribute("aria-expanded", "false");
    choose(-1);
  };

  const go = (option) => {
    close();
    location.assign(option.dataset.href);
  };

  const show = async () => {
    const asked = input.value;
    const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) {
      count.textContent = "";
      return close();
    }
    const all = await load();
    if (asked !== input.value) return;
    const found = all
      .map((one) => [score(one, words), one])
      .filter(([points]) => points >= 0)
      .sort((one, other) => other[0] - one[0]);
    const shown = found.slice(0, MOST).map(([, one], at) => {
      const option = document.createElement("li");
      const title = document.createElement("b");
      const text = document.createElement("small");
      title.textContent = one.t;
      text.textContent = `${one.k} · ${one.s}`;
      option.append(title, text);
      option.id = `found-${at}`;
      option.setAttribute("role", "option");
      option.dataset.href = pages + one.u;
      option.addEventListener("click", () => go(option));
      return option;
    });
    list.replaceChildren(...shown);
    list.hidden = !shown.length;
    input.setAttribute("aria-expanded", String(shown.length > 0));
    count.textContent = `${found.length} found`;
    choose(shown.length ? 0 : -1);
  };

  if (box) {
    box.hidden = false;
    input.addEventListener("input", show);
    input.addEventListener("focus", () => load().catch(() => {}), { once: true });
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        if (list.hidden) show();
        else choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
      } else if (event.key === "Enter" && chosen >= 0) {
        event.preventDefault();
        go(list.children[chosen]);
      } else if (event.key === "Escape") {
        close();
      }
    });
    input.addEventListener("blur", () => setTimeout(close, 150));
    document.addEventListener("keydown", (event) => {
      const typing = event.target.closest("input, textarea, select");
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        input.focus();
      }
    });
  }

  // --- trying a route ---

  const token = document.getElementById("token");

  // The token must be stored only in its field. Clear the field when the user leaves, because the browser may keep the
  // page for the Back button.
  const forget = () => { if (token) token.value = ""; };
  addEventListener("pagehide", forget);
  addEventListener("pageshow", (event) => { if (event.persisted) forget(); });

  const line = (tag, text, name) => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (name) made.className = name;
    return made;
  };

  const complain = (result, text, field) => {
    result.replaceChildren(line("p", text, "wrong"));
    field.focus();
  };

  const addressOf = (form) => {
    let path = form.dataset.path;
    const address = new URL(location.origin);
    for (const field of form.querySelectorAll("[data-in]")) {
      const value = field.value.trim();
      if (field.dataset.in === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(value));
      if (field.dataset.in === "query" && value) address.searchParams.append(field.name, value);
    }
    address.pathname = path;
    return address;
  };

  const pretty = (text) => {
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text;
    }
  };

  const send = async (form, result) => {
    const body = form.querySelector('[data-in="body"]');
    const headers = { [header]: token.value.trim(), Accept: "application/json" };
    if (body && body.value.trim()) headers["Content-Type"] = "application/json";
    const begun = performance.now();
    const answer = await fetch(addressOf(form), {
      method: form.dataset.method,
      headers,
      body: body && body.value.trim() ? body.value : undefined,
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
    const text = await answer.text();
    const took = Math.round(performance.now() - begun);
    const output = line("pre", pretty(text), "answer");
    output.tabIndex = 0;
    result.replaceChildren(line("strong", `${answer.status} ${answer.statusText} · ${took} ms`), output);
  };

  const prepare = (form) => {
    const button = form.querySelector("button");
    const result = form.querySelector(".result");
    const calm = () => {
      delete button.dataset.sure;
      button.textContent = "Send";
    };
    form.hidden = false;
    form.addEventListener("input", calm);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const body = form.querySelector('[data-in="body"]');
      if (!token.value.trim()) return complain(result, "Enter an access token first.", token);
      if (!/^[\x21-\x7e]+$/.test(token.value.trim())) return complain(result, "This is not a valid access token.", token);
      if (body && body.value.trim()) {
        try {
          JSON.parse(body.value);
        } catch (error) {
          return complain(result, `The body is not valid JSON: ${error.message}`, body);
        }
      }
      if ("writes" in button.dataset && !("sure" in button.dataset)) {
        button.dataset.sure = "";
        button.textContent = "Send and change the shop";
        return undefined;
      }
      calm();
      button.disabled = true;
      result.replaceChildren(line("p", "Waiting for the response…"));
      try {
        await send(form, result);
      } catch {
        result.replaceChildren(line("p", "No response. Check the network and try again.", "wrong"));
      }
      button.disabled = false;
      return undefined;
    });
  };

  if (token) {
    document.querySelector(".token").hidden = false;
    document.querySelectorAll("form.try").forEach(prepare);
  }
})();
