// Articles, themes and the code editor: previews, progress, completion of tags, and a word before work is lost.
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
    // The frame's sandbox lets nothing run, and the server has cleaned the markup before.
    if (response.ok) frame.srcdoc = text;
    else frame.srcdoc = new Option(text).innerHTML;
  };

  const follow = async (card) => {
    const answer = await fetch(card.dataset.progress, { headers: { Accept: "application/json" } });
    if (!answer.ok) return;
    const { processing, done, total } = await answer.json();
    if (!processing) {
      window.location.reload();
      return;
    }
    const bar = card.querySelector("progress");
    if (total) {
      bar.max = total;
      bar.value = done;
    }
    card.querySelector("[data-progress-text]").textContent = total ? `${done} of ${total} files` : "Waiting for the files";
    setTimeout(() => follow(card), 1500);
  };

  // Of several tags in one field the last one is being typed: the list offers it behind those that stand before.
  const complete = (input) => {
    const list = document.getElementById(input.getAttribute("list"));
    list.known ??= [...list.options].map((option) => option.value);
    const cut = input.value.lastIndexOf(",") + 1;
    const before = cut ? `${input.value.slice(0, cut)} ` : "";
    list.replaceChildren(...list.known.map((word) => new Option("", before + word)));
  };

  const guard = (form) => {
    let dirty = false;
    const mark = () => {
      dirty = true;
      const note = form.querySelector("[data-unsaved]");
      if (note) note.hidden = false;
    };
    form.addEventListener("input", mark);
    form.addEventListener("submit", () => {
      dirty = false;
    });
    window.addEventListener("beforeunload", (event) => {
      if (dirty) event.preventDefault();
    });
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-preview-now]");
    if (button) preview(button.closest("[data-preview]"));
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches("[data-complete=tags]")) complete(event.target);
  });
  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-progress]").forEach(follow);
    document.querySelectorAll("form[data-guard]").forEach(guard);
  });
})();
