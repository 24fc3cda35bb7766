"""Extract the data that a browser would submit for an unchanged form."""

from html.parser import HTMLParser

_SILENT = {"submit", "button", "image", "reset", "file"}


class _Forms(HTMLParser):
    """Collects the controls of a page's POST forms."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[list[tuple[str, str]]] = []
        self._open: list[tuple[str, str]] | None = None
        self._textarea: tuple[str, list[str]] | None = None
        self._select: tuple[str, bool, list[tuple[str, bool]]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        fields = {name: value or "" for name, value in attrs}
        name = fields.get("name", "")
        if tag == "form" and fields.get("method", "").lower() == "post":
            self._open = []
            self.forms.append(self._open)
        if self._open is None:
            return
        if tag == "option" and self._select is not None:
            self._select[2].append((fields.get("value", ""), "selected" in fields))
        if not name or "disabled" in fields:
            return
        if tag == "input" and fields.get("type") not in _SILENT:
            if fields.get("type") not in {"checkbox", "radio"}:
                self._open.append((name, fields.get("value", "")))
            elif "checked" in fields:
                self._open.append((name, fields.get("value", "on")))
        elif tag == "textarea":
            self._textarea = (name, [])
        elif tag == "select":
            self._select = (name, "multiple" in fields, [])

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
            # Browsers ignore a line break after the opening tag, and send all line breaks as CR LF.
            text = "".join(parts).removeprefix("\n").replace("\r\n", "\n").replace("\n", "\r\n")
            self._open.append((name, text))
            self._textarea = None
        if tag == "select" and self._select is not None:
            name, multiple, options = self._select
            selected_options = [value for value, selected in options if selected]
            if not selected_options and not multiple and options:
                selected_options = [options[0][0]]
            self._open += [(name, value) for value in selected_options]
            self._select = None


def get_untouched_data(page: str) -> dict[str, list[str]]:
    """Return the values of the page's main form, which is the form with the most controls."""
    parser = _Forms()
    parser.feed(page)
    form_data: dict[str, list[str]] = {}
    for name, value in max(parser.forms, key=len):
        form_data.setdefault(name, []).append(value)
    return form_data
