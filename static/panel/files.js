// Drop zones for files. The chosen files are listed with their sizes, and each can be removed. With
// `data-files-upload`, Save uploads each file on its own, so that a refused file does not affect the others. Other
// forms send the files with their fields.
(() => {
  "use strict";
  const UNITS = [["megabyte", 2 ** 20], ["kilobyte", 2 ** 10], ["byte", 1]];

  const formatSize = (size) => {
    const [unit, factor] = UNITS.find(([, least]) => size >= least) ?? UNITS.at(-1);
    const format = { style: "unit", unit, unitDisplay: factor === 1 ? "long" : "short", maximumFractionDigits: 1 };
    return new Intl.NumberFormat(document.documentElement.lang, format).format(size / factor);
  };

  const create = (tag, className, text = "") => {
    const element = document.createElement(tag);
    element.className = className;
    element.textContent = text;
    return element;
  };

  let copies = 0;

  const begin = (box) => {
    const input = box.querySelector("input[type=file]");
    const list = box.querySelector("[data-files-list]");
    const said = box.querySelector("[data-files-said]");
    const error = box.querySelector("[data-files-error]");
    const form = box.closest("form");
    const { filesUpload: url, filesMost: most, filesSize: size, filesFormats: formats } = box.dataset;
    const types = input.accept.split(",");
    let chosen = []; // The files that are not sent yet, with their rows.
    let sending = false;

    // The form sends the files of the input, so the input must have the same files as the list.
    const sync = () => {
      const files = new DataTransfer();
      chosen.forEach(({ file }) => files.items.add(file));
      input.files = files.files;
    };

    const explain = (file) => {
      const isKnown = types.includes("*/*") || types.some((type) => (type.startsWith(".") ? file.name.toLowerCase().endsWith(type) : file.type === type));
      if (!isKnown) return translate("The file must be in one of the formats {formats}.", { formats });
      return file.size > Number(most) ? translate("The file is larger than {size}.", { size }) : "";
    };

    const showPreview = (row, source) => {
      const image = create("img", "bo-thumb");
      image.src = source;
      image.alt = "";
      image.addEventListener("error", () => image.replaceWith(row.icon));
      row.element.firstElementChild.replaceWith(image);
    };

    const addRow = (file) => {
      const element = create("li", "bo-file");
      const icon = create("span", "bo-thumb bo-file-icon material-symbols-outlined", file.type.startsWith("image/") ? "image" : "description");
      icon.setAttribute("aria-hidden", "true");
      const about = create("span", "bo-file-about");
      const name = create("strong", "", file.name);
      about.append(name, create("span", "bo-small bo-subtle", formatSize(file.size)));
      const remove = create("button", "bo-button", translate("Remove"));
      remove.type = "button";
      remove.setAttribute("aria-label", translate("Remove {name}", { name: file.name }));
      element.append(icon, about, remove);
      list.append(element);
      const row = { file, element, icon, about, name, remove };
      remove.addEventListener("click", () => {
        const next = element.nextElementSibling ?? element.previousElementSibling;
        element.remove();
        chosen = chosen.filter((other) => other !== row);
        sync();
        said.textContent = translate("{name} removed.", { name: file.name });
        (next?.querySelector("button") ?? input).focus();
      });
      return row;
    };

    const showBadge = (row, kind, text) => {
      row.element.querySelector(".bo-badge")?.remove();
      row.about.after(create("span", `bo-badge bo-badge-${kind}`, text));
    };

    const refuse = (row, reason) => {
      row.about.append(create("span", "bo-errors", reason));
      showBadge(row, "danger", url ? translate("Not uploaded") : translate("Can't be used"));
    };

    const choose = (files) => {
      error.replaceChildren();
      input.removeAttribute("aria-invalid");
      if (!input.multiple) {
        chosen = [];
        list.replaceChildren();
      }
      let refused = 0;
      (input.multiple ? [...files] : [...files].slice(0, 1)).forEach((file) => {
        if (chosen.some(({ file: other }) => other.name === file.name && other.size === file.size && other.lastModified === file.lastModified)) return;
        const row = addRow(file);
        const reason = explain(file);
        if (reason) {
          refused += 1;
          refuse(row, reason);
          return;
        }
        chosen.push(row);
        if (file.type.startsWith("image/")) showPreview(row, URL.createObjectURL(file));
      });
      sync();
      said.textContent = translate("Files to upload: {count}.", { count: chosen.length });
      if (refused) said.textContent += ` ${translate("Files that can't be used: {count}.", { count: refused })}`;
    };

    const finish = (row, file) => {
      const link = create("a", "", file.name);
      link.href = file.page;
      row.name.replaceWith(link);
      showPreview(row, file.path);
      const field = create("input", "bo-input");
      Object.assign(field, { id: `file-url-${(copies += 1)}`, value: file.address, readOnly: true });
      field.setAttribute("aria-label", translate("URL of {name}", { name: file.name }));
      const button = create("button", "bo-button");
      button.type = "button";
      button.dataset.copy = field.id;
      const text = create("span", "", translate("Copy URL"));
      text.dataset.copyText = "";
      button.append(text);
      const copy = create("span", "bo-secret");
      copy.append(field, button);
      row.element.append(copy);
      showBadge(row, "success", translate("Uploaded"));
      row.remove.remove();
    };

    const send = (row) =>
      new Promise((resolve) => {
        const bar = document.createElement("progress");
        bar.max = 1;
        bar.value = 0;
        bar.setAttribute("aria-label", translate("Upload progress for {name}", { name: row.file.name }));
        row.about.after(bar);
        row.remove.hidden = true;
        const body = new FormData();
        body.append("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
        body.append("file", row.file);
        const request = new XMLHttpRequest();
        request.open("POST", url);
        request.responseType = "json";
        request.upload.addEventListener("progress", (event) => event.lengthComputable && (bar.value = event.loaded / event.total));
        request.addEventListener("loadend", () => {
          const answer = request.response;
          bar.remove();
          row.remove.hidden = false;
          if (request.status === 200 && answer?.file) finish(row, answer.file);
          else refuse(row, answer?.error ?? translate("The upload failed. Try again. If you were logged out, log in first."));
          resolve(request.status === 200);
        });
        request.send(body);
      });

    const sendAll = async () => {
      sending = true;
      let stored = 0;
      let count = 0;
      // Files can still be added and removed while others are sent.
      while (chosen.length) {
        const [row] = chosen;
        stored += await send(row);
        count += 1;
        chosen = chosen.filter((other) => other !== row);
      }
      sync();
      sending = false;
      said.textContent = translate("Uploaded: {stored} of {count}.", { stored, count });
    };

    form.addEventListener("submit", (event) => {
      const isRefused = !url && list.querySelector(".bo-errors");
      if (!url && !isRefused) return;
      event.preventDefault();
      if (isRefused) {
        input.focus();
        return;
      }
      if (sending) return;
      if (chosen.length) sendAll();
      else {
        error.replaceChildren(create("p", "bo-errors", translate("Choose an image.")));
        input.setAttribute("aria-invalid", "true");
        input.focus();
      }
    });
    window.addEventListener("beforeunload", (event) => url && chosen.length && event.preventDefault());
    input.addEventListener("change", () => choose(input.files));
    ["dragenter", "dragover"].forEach((name) => box.addEventListener(name, (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      box.classList.add("bo-dropping");
    }));
    box.addEventListener("dragleave", (event) => box.contains(event.relatedTarget) || box.classList.remove("bo-dropping"));
    box.addEventListener("drop", (event) => {
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      box.classList.remove("bo-dropping");
      choose(event.dataTransfer.files);
    });
    // After the Back button, the browser keeps the files of the input.
    if (input.files.length) choose(input.files);
  };

  document.querySelectorAll("[data-files]").forEach(begin);
})();
