// Show the number of unseen notifications in the menu and in the title of the page. Poll the server every 30 seconds and
// share the response with the other tabs. Hidden tabs only poll if the user wants sounds or browser notifications.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const part = document.getElementById("unseen-notifications");
  const session = document.getElementById("session");
  if (!part || !session) return;
  const DELAY = 1000;
  const PAUSE = 30000;
  const LONGEST_PAUSE = 300000;
  const PATIENCE = 10000;
  const KEY = `notifications:${session.dataset.person}:${part.dataset.counts}`;
  const title = document.title;
  let state = { kinds: [], announced: {}, etag: "", at: 0 };
  let failures = 0;
  let timer = 0;
  let stopped = false;
  let isListOpen = true; // The list has just been opened, and its notifications are not yet marked as seen.

  const read = () => {
    try {
      const saved = JSON.parse(localStorage.getItem(KEY));
      if (Array.isArray(saved?.kinds) && saved.announced) return saved;
    } catch {
      // Without storage, each tab polls for itself.
    }
    return null;
  };
  const save = () => {
    try {
      localStorage.setItem(KEY, JSON.stringify(state));
    } catch {
      // See above.
    }
  };

  const show = () => {
    document.querySelectorAll(".bo-menu .bo-count").forEach((badge) => badge.remove());
    const shown = state.kinds.filter((kind) => kind.panel && kind.count);
    shown.forEach((kind) => {
      const link = [...document.querySelectorAll(".bo-menu a")].find((entry) => entry.pathname === kind.path);
      if (!link) return;
      const badge = document.createElement("span");
      badge.className = "bo-count";
      badge.title = kind.text;
      const number = document.createElement("span");
      number.setAttribute("aria-hidden", "true");
      number.textContent = kind.number;
      const text = document.createElement("span");
      text.className = "bo-hidden";
      text.textContent = `(${kind.text})`;
      badge.append(number, text);
      link.append(badge);
    });
    const sum = shown.reduce((total, kind) => total + kind.count, 0);
    document.title = sum ? `(${sum > 99 ? "99+" : sum}) ${title.trim()}` : title;
  };

  // Two short tones. Browsers allow sounds only after the user has used the page.
  const ring = () => {
    const Context = window.AudioContext || window.webkitAudioContext;
    if (!Context) return;
    const audio = new Context();
    const gain = audio.createGain();
    gain.connect(audio.destination);
    gain.gain.setValueAtTime(0.08, audio.currentTime);
    gain.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + 0.6);
    [660, 880].forEach((pitch, place) => {
      const tone = audio.createOscillator();
      tone.frequency.value = pitch;
      tone.connect(gain);
      tone.start(audio.currentTime + place * 0.15);
      tone.stop(audio.currentTime + 0.6);
    });
    setTimeout(() => audio.close(), 1500);
  };

  // The buttons on the page of the user's notifications.
  document.querySelectorAll("[data-try-sound]").forEach((button) => {
    button.addEventListener("click", () => {
      ring();
      document.querySelector("[data-sound-played]").hidden = false;
    });
  });

  const pop = (kind) => {
    if (window.Notification?.permission !== "granted") return;
    try {
      const shown = new Notification(part.dataset.shop, { body: kind.text, tag: `${KEY}:${kind.name}` });
      shown.addEventListener("click", () => {
        window.focus();
        location.href = kind.link;
        shown.close();
      });
    } catch {
      // Some phones only allow notifications of service workers.
    }
  };

  // Announce kinds with a newer notification. The first response in a browser announces nothing.
  const announce = (kinds, announced, isFirst) => {
    const fresh = kinds.filter((kind) => kind.count && kind.latest > (announced[kind.name] ?? 0));
    kinds.forEach((kind) => {
      announced[kind.name] = Math.max(kind.latest, announced[kind.name] ?? 0);
    });
    if (isFirst || !fresh.length) return () => {};
    return () => {
      const texts = fresh.filter((kind) => kind.panel).map((kind) => kind.text);
      if (texts.length) part.textContent = texts.join(". ");
      if (fresh.some((kind) => kind.sound)) ring();
      fresh.filter((kind) => kind.browser).forEach(pop);
    };
  };

  // Tell the server which list the user has opened, and how long ago.
  const markSeen = async () => {
    const open = state.kinds.filter((kind) => kind.path === location.pathname && kind.count);
    isListOpen = false;
    for (const kind of open) {
      const body = new URLSearchParams({ kind: kind.name, age: Math.ceil(performance.now()) });
      body.set("csrfmiddlewaretoken", document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "");
      const response = await fetch(part.dataset.seen, { method: "POST", body, redirect: "manual", signal: AbortSignal.timeout(PATIENCE) });
      // The next request counts what has arrived since the list was opened.
      if (response.ok) state = { ...state, etag: "", at: 0 };
    }
    return open.length > 0;
  };

  const stop = () => {
    stopped = true;
    state = { kinds: [], announced: {}, etag: "", at: 0 };
    try {
      localStorage.removeItem(KEY);
    } catch {
      // Nothing was stored.
    }
    show();
  };

  const load = async () => {
    const headers = { Accept: "application/json" };
    if (state.etag) headers["If-None-Match"] = state.etag;
    const response = await fetch(part.dataset.counts, {
      headers,
      redirect: "manual",
      cache: "no-store",
      signal: AbortSignal.timeout(PATIENCE),
    });
    if (response.type === "opaqueredirect" || [401, 403, 404].includes(response.status)) return false;
    if (response.status !== 304 && !response.ok) throw new Error(String(response.status));
    const kinds = response.status === 304 ? state.kinds : (await response.json()).kinds;
    // Another tab may have announced the same notifications a moment ago.
    const known = read();
    const announced = { ...(known ?? state).announced };
    const tell = announce(kinds, announced, known === null && state.at === 0);
    state = { kinds, announced, etag: response.headers.get("ETag") ?? state.etag, at: Date.now() };
    save();
    show();
    tell();
    return true;
  };

  const wantsHidden = () => state.kinds.some((kind) => kind.sound || kind.browser);

  const look = async () => {
    clearTimeout(timer);
    if (stopped) return;
    if (document.hidden && !wantsHidden()) return; // A visible page continues.
    try {
      if (!(await load())) {
        stop();
        return;
      }
      if (isListOpen && (await markSeen())) await load();
      failures = 0;
    } catch {
      failures += 1;
    }
    timer = setTimeout(look, Math.min(PAUSE * 2 ** failures, LONGEST_PAUSE));
  };

  // Wait for the rest of the pause if another tab has just asked.
  const start = () => {
    clearTimeout(timer);
    if (stopped) return;
    const age = Date.now() - state.at;
    const isOpen = isListOpen && state.kinds.some((kind) => kind.path === location.pathname);
    if (age < 0 || age >= PAUSE || isOpen) look();
    else timer = setTimeout(look, PAUSE - age);
  };

  window.addEventListener("storage", (event) => {
    if (event.key !== KEY || stopped) return;
    const known = read();
    if (!known) return;
    state = known;
    show();
    start();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) start();
  });
  document.getElementById("logout-form")?.addEventListener("submit", stop);
  state = read() ?? state;
  show();
  // Let the page load first.
  setTimeout(start, DELAY);
});
