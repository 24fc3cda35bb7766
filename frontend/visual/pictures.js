// Insert images into a text by drag and drop, by pasting, from the shop's files, or by URL.
import { insertPicture } from "./commands.js";
import { askFor, field } from "./toolbar.js";
import { translate } from "./words.js";

const csrf = () => document.querySelector("[name=csrfmiddlewaretoken]").value;

// Upload an image to the shop's files, and return {address, name}. If the upload fails, throw the server's message.
const upload = async (area, file) => {
  const body = new FormData();
  body.set("file", file);
  body.set("csrfmiddlewaretoken", csrf());
  let answer;
  try {
    answer = await fetch(area.dataset.files, { method: "POST", body, headers: { Accept: "application/json" } });
  } catch {
    throw new Error(translate("The server did not respond. Nothing was uploaded. Try again."));
  }
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(said.error ?? translate("The upload failed ({status}). Try again.", { status: answer.status }));
  return said.file;
};

const note = (area, text) => {
  const frame = area.previousElementSibling;
  let line = frame.querySelector("[role=status]");
  if (!line) {
    line = document.createElement("p");
    line.className = "bo-visual-note";
    line.setAttribute("role", "status");
    frame.append(line);
  }
  line.textContent = text;
};

// Upload dropped or pasted images one at a time, and insert them at the selection.
export const dropped = (area) => (view, event) => {
  const files = [...(event.dataTransfer ?? event.clipboardData)?.files ?? []].filter((file) => file.type.startsWith("image/"));
  if (!files.length || !area.dataset.files) return false;
  event.preventDefault();
  (async () => {
    for (const file of files) {
      note(area, translate("Uploading {name} …", { name: file.name }));
      try {
        const stored = await upload(area, file);
        insertPicture(stored.address, "")(view.state, view.dispatch);
        note(area, translate("{name} was added to the shop's files.", { name: stored.name }));
      } catch (problem) {
        note(area, `${file.name}: ${problem.message}`);
        return;
      }
    }
  })();
  return true;
};

export const choosePicture = (area, insert) => {
  const address = field("address", translate("Image URL"), "", { placeholder: "https://…" });
  const alt = field("alt", translate("Alternative text (for people who can't see the image)"), "");
  const parts = [];
  if (area.dataset.files) {
    const status = Object.assign(document.createElement("p"), { className: "bo-subtle" });
    status.setAttribute("role", "status");
    const choice = field("file", translate("Upload a new image"), "", { type: "file", accept: "image/*" });
    const search = field("search", translate("Or choose from the shop's files"), "", { type: "search", autocomplete: "off" });
    const found = Object.assign(document.createElement("ul"), { className: "bo-visual-pictures" });
    const choose = (file) => {
      address.lastChild.value = file.address;
      status.textContent = translate("Selected: {name}", { name: file.name });
      alt.lastChild.focus();
    };
    const look = async () => {
      const term = search.lastChild.value.trim();
      const answer = await fetch(`${area.dataset.files}?q=${encodeURIComponent(term)}`, { headers: { Accept: "application/json" } });
      const { files } = answer.ok ? await answer.json() : { files: null };
      if (search.lastChild.value.trim() !== term) return;
      if (!files?.length) status.textContent = files ? (term ? translate("No matching files.") : translate("No images yet.")) : translate("The files could not be loaded.");
      found.replaceChildren(
        ...(files ?? []).map((file) => {
          const item = document.createElement("li");
          const button = Object.assign(document.createElement("button"), { type: "button", title: file.name });
          const picture = Object.assign(document.createElement("img"), { src: file.path, alt: file.name, loading: "lazy" });
          button.append(picture);
          button.addEventListener("click", () => choose(file));
          item.append(button);
          return item;
        }),
      );
    };
    choice.lastChild.addEventListener("change", async () => {
      const [file] = choice.lastChild.files;
      if (!file) return;
      status.textContent = translate("Uploading {name} …", { name: file.name });
      try {
        choose(await upload(area, file));
        await look();
      } catch (problem) {
        status.textContent = problem.message;
      }
    });
    let waiting;
    search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(look, 200);
    });
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") event.preventDefault();
    });
    look();
    parts.push(choice, search, found, status);
  }
  askFor(translate("Image"), [...parts, address, alt], translate("Insert image")).then((answer) => {
    if (answer?.address.trim()) insert(answer.address.trim(), answer.alt.trim());
  });
};
