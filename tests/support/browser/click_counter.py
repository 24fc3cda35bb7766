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


class InputCounter:
    """Counts clicks and key presses. Tests of tasks use the page only through this class.

    Dropping files is one click; choosing an option or a file is two: opening and choosing. Keys are presses that type
    no text, such as Tab or Enter. A combination with Ctrl counts as one.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = self.keys = self.characters = 0

    def click(self, target: Locator) -> None:
        target.click()
        self.clicks += 1

    def choose(self, target: Locator, label: str) -> None:
        target.select_option(label=label)
        self.clicks += 2

    def drop(self, target: Locator, *files: tuple[str, str, bytes]) -> None:
        """Drag files ``(name, type, content)`` from outside the browser onto an element."""
        packed = [(name, kind, base64.b64encode(content).decode()) for name, kind, content in files]
        self.page.evaluate(DROP, [target.element_handle(), packed])
        self.clicks += 1

    def choose_file(self, target: Locator, name: str, kind: str, content: bytes) -> None:
        self.clicks += 1
        with self.page.expect_file_chooser() as dialog:
            self.click(target)
        file: Any = {"name": name, "mimeType": kind, "buffer": content}
        dialog.value.set_files(file)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)
        self.characters += len(text)

    def press(self, key: str) -> None:
        """Press a key or a combination such as ``Control+k``."""
        self.page.keyboard.press(key)
        self.keys += 1
