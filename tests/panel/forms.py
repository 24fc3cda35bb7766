"""What a browser would send of a page's form, if nobody touched it."""

from html.parser import HTMLParser

_SILENT = {"submit", "button", "image", "reset", "file"}


class _Forms(HTMLParser):
    """Collects the controls of the forms of a page that are sent by POST."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[list[tuple[str, str]]] = []
        self._open: list[tuple[str, str]] | None = None
        self._textarea: tuple[str, list[str]] | None = None
        self._select: tuple[str, bool, list[tuple[str, bool]]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name = given.get("name", "")
        if tag == "form" and given.get("method", "").lower() == "post":
            self._open = []
            self.forms.append(self._open)
        if self._open is None:
            return
        if tag == "option" and self._select is not None:
            self._select[2].append((given.get("value", ""), "selected" in given))
        if not name or "disabled" in given:
            return
        if tag == "input" and given.get("type") not in _SILENT:
            if given.get("type") not in {"checkbox", "radio"}:
                self._open.append((name, given.get("value", "")))
            elif "checked" in given:
                self._open.append((name, given.get("value", "on")))
        elif tag == "textarea":
            self._textarea = (name, [])
        elif tag == "select":
            self._select = (name, "multiple" in given, [])

    def handle_data(self, data: str) -> None:
        if self._textarea is not None:
            self._textarea[1].append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None
        if self._open is None:
            return
        if tag == "textarea" and self._textarea is not None:
            name, parts = self._textarea
            # HTML drops the first line break, and browsers send all of them as CR LF.
            text = "".join(parts).removeprefix("\n").replace("\r\n", "\n").replace("\n", "\r\n")
            self._open.append((name, text))
            self._textarea = None
        if tag == "select" and self._select is not None:
            name, multiple, options = self._select
            chosen = [value for value, selected in options if selected]
            if not chosen and not multiple and options:
                chosen = [options[0][0]]
            self._open += [(name, value) for value in chosen]
            self._select = None


def untouched(page: str) -> dict[str, list[str]]:
    """The values of the form that a page is about: the one with the most controls."""
    parser = _Forms()
    parser.feed(page)
    sent: dict[str, list[str]] = {}
    for name, value in max(parser.forms, key=len):
        sent.setdefault(name, []).append(value)
    return sent
