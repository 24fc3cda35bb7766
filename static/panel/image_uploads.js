// Image uploads in the product form. Dropped or selected files are uploaded immediately and saved with the product.
(() => {
  "use strict";
  const box = document.querySelector("[data-pictures]");
  const input = box?.querySelector("input[type=file]");
  if (!input) return;
  const form = box.closest("form");
  const list = box.querySelector("[data-pictures-list]");
  const said = box.querySelector("[data-pictures-said]");
  const stored = box.querySelectorAll("img.bo-thumb").length;
  let made = list.children.length;
  let underway = 0;
  let waiting = null;

  const tiles = () => [...list.querySelectorAll("[data-picture-tile]")];
  const say = (words, isError) => {
    const line = document.createElement("p");
    if (isError) line.className = "bo-errors";
    line.textContent = words;
    said.append(line);
  };
  const offer = () => window.productSheet?.offer(tiles().filter((tile) => tile.dataset.choice).map((tile, index) => {
    const alt = tile.querySelector('[name="picture-alt"]')?.value.trim();
    const number = stored + index + 1;
    const label = translate("Image {number}, {name}", { number, name: alt || tile.dataset.name });
    return { choice: tile.dataset.choice, address: tile.dataset.address, label };
  }));

  const button = (words, name, act) => {
    const one = document.createElement("button");
    one.type = "button";
    one.className = "bo-button";
    one.textContent = words;
    one.setAttribute("aria-label", name);
    one.addEventListener("click", act);
    return one;
  };
  const finish = (tile, name) => {
    tile.dataset.name = name;
    const row = document.createElement("span");
    row.className = "bo-row";
    const step = (by) => (event) => {
      const other = by < 0 ? tile.previousElementSibling : tile.nextElementSibling;
      if (other) by < 0 ? list.insertBefore(tile, other) : list.insertBefore(other, tile);
      event.currentTarget.focus();
      offer();
    };
    row.append(
      button(translate("Earlier"), translate("Earlier: {name}", { name }), step(-1)),
      button(translate("Later"), translate("Later: {name}", { name }), step(1)),
      button(translate("Remove"), translate("Remove {name}", { name }), () => {
        tile.remove();
        offer();
        input.focus();
      }),
    );
    tile.append(row);
    tile.querySelector('[name="picture-alt"]')?.addEventListener("change", offer);
  };

  const fillTile = (tile, answer) => {
    const number = (made += 1);
    tile.dataset.choice = answer.choice;
    tile.dataset.address = answer.address;
    const image = new Image();
    image.src = answer.address;
    image.alt = "";
    const ticket = document.createElement("input");
    ticket.type = "hidden";
    ticket.name = "picture";
    ticket.value = answer.ticket;
    const field = document.createElement("span");
    field.className = "bo-field";
    const label = document.createElement("label");
    const alt = document.createElement("input");
    alt.id = label.htmlFor = `picture-alt-${number}`;
    label.textContent = translate("Alternative text");
    alt.name = "picture-alt";
    alt.maxLength = 512;
    field.append(label, alt);
    tile.replaceChildren(image, ticket, field);
    finish(tile, answer.name);
  };

  const ended = () => {
    underway -= 1;
    offer();
    if (underway || !waiting) return;
    const { submitter } = waiting;
    waiting = null;
    form.requestSubmit(submitter);
  };

  const send = (file) => {
    const tile = document.createElement("li");
    tile.className = "bo-tile";
    tile.dataset.pictureTile = "";
    const bar = document.createElement("progress");
    bar.max = 1;
    bar.value = 0;
    bar.setAttribute("aria-label", translate("Upload progress for {name}", { name: file.name }));
    const name = document.createElement("span");
    name.textContent = file.name;
    tile.append(name, bar);
    list.append(tile);
    underway += 1;
    const body = new FormData();
    body.append("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
    body.append("file", file);
    const request = new XMLHttpRequest();
    request.open("POST", box.dataset.pictures);
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => event.lengthComputable && (bar.value = event.loaded / event.total));
    request.addEventListener("loadend", () => {
      const answer = request.response;
      if (request.status === 200 && answer?.ticket) fillTile(tile, answer);
      else {
        tile.remove();
        const failed = translate("The upload failed. Try again. If you were logged out, log in first.");
        say(`${file.name}: ${answer?.error ?? failed}`, true);
      }
      ended();
    });
    request.send(body);
  };
  const sendAll = (files) => {
    said.replaceChildren();
    [...files].forEach(send);
  };

  input.addEventListener("change", () => {
    sendAll(input.files);
    input.value = "";
  });
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
    sendAll(event.dataTransfer.files);
  });
  form.addEventListener("submit", (event) => {
    if (!underway) return;
    event.preventDefault();
    waiting = { submitter: event.submitter };
    say(translate("The product will be saved as soon as all images are uploaded."));
  });
  tiles().forEach((tile) => finish(tile, tile.dataset.name));
})();
