"""What a task costs the person who does it: every click and every key, counted as it is made."""

import base64
from typing import Any

from playwright.sync_api import Locator, Page

DROP = """([box, files]) => {
    const transfer = new DataTransfer();
    files.forEach(([name, type, data]) =>
        transfer.items.add(new File([Uint8Array.from(atob(data), c => c.charCodeAt(0))], name, {type})));
    for (const kind of ['dragenter', 'dragover', 'drop'])
        box.dispatchEvent(new DragEvent(kind, {dataTransfer: transfer, bubbles: true, cancelable: true}));
}"""


class Hands:
    """The hands of one person at one page; the page is touched through them alone.

    Attributes:
        clicks: Of the mouse. A drop of files costs one; a choice from a list or of a file two: opening and choosing.
        keys: That were pressed and wrote nothing: Tab, Enter, arrows; a key held with Ctrl counts once.
        characters: That were typed into what had the focus, which a click, a key or the page itself gives.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = self.keys = self.characters = 0

    def click(self, target: Locator) -> None:
        """A click."""
        target.click()
        self.clicks += 1

    def choose(self, target: Locator, label: str) -> None:
        """A choice of a drop-down list."""
        target.select_option(label=label)
        self.clicks += 2

    def drop(self, target: Locator, *files: tuple[str, str, bytes]) -> None:
        """Files ``(name, type, content)``, dragged onto a place from outside of the browser."""
        packed = [(name, kind, base64.b64encode(content).decode()) for name, kind, content in files]
        self.page.evaluate(DROP, [target.element_handle(), packed])
        self.clicks += 1

    def choose_file(self, target: Locator, name: str, kind: str, content: bytes) -> None:
        """A file of the dialog that a click on its field opens."""
        self.clicks += 1
        with self.page.expect_file_chooser() as dialog:
            self.click(target)
        file: Any = {"name": name, "mimeType": kind, "buffer": content}
        dialog.value.set_files(file)

    def type(self, text: str) -> None:
        """Text for whatever has the focus."""
        self.page.keyboard.type(text)
        self.characters += len(text)

    def press(self, key: str, times: int = 1) -> None:
        """A key, or one held with others, such as ``Control+k``."""
        for _ in range(times):
            self.page.keyboard.press(key)
        self.keys += times
