"""Parse a page's forms into the data that a browser would submit for unchanged forms."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

from apps.core.types import Attrs

NOT_SENT = {"submit", "button", "image", "reset", "file"}


@dataclass
class PageForm:
    attrs: dict[str, str]  # the attributes of the form tag
    fields: list[tuple[str, str]] = field(default_factory=list)  # submitted, in order, without unchecked checkboxes
    names: set[str] = field(default_factory=set)  # including unchecked checkboxes, files and buttons
    choices: dict[str, list[str]] = field(default_factory=dict)  # the values of selects, checkboxes and radio buttons

    @property
    def data(self) -> dict[str, list[str]]:
        """Return the values by name, without the empty template row of inline formsets."""
        data: dict[str, list[str]] = {}
        for name, value in self.fields:
            if "__prefix__" not in name:
                data.setdefault(name, []).append(value)
        return data

    def new_row(self, prefix: str, **typed: str) -> dict[str, list[str]]:
        """Return the fields of a row added with "Add another", with the typed values filled in."""
        index = int(self.data[f"{prefix}-TOTAL_FORMS"][0])
        row = {
            name.replace("__prefix__", str(index)): [value]
            for name, value in self.fields
            if name.startswith(f"{prefix}-__prefix__-")
        }
        typed_row = {f"{prefix}-{index}-{name}": [value] for name, value in typed.items()}
        return row | typed_row | {f"{prefix}-TOTAL_FORMS": [str(index + 1)]}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[PageForm] = []
        self.form: PageForm | None = None
        self.area: str | None = None
        self.select: Attrs | None = None
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        fields = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.form = PageForm(fields)
            self.forms.append(self.form)
        elif self.form is not None and "disabled" not in fields:
            self._control(self.form, tag, fields)

    def _control(self, form: PageForm, tag: str, attrs: dict[str, str]) -> None:
        name = attrs.get("name", "")
        if name:
            form.names.add(name)
        if tag == "input" and name:
            kind = attrs.get("type", "text")
            if kind in {"checkbox", "radio"}:
                form.choices.setdefault(name, []).append(attrs.get("value", "on"))
            if kind not in NOT_SENT and (kind not in {"checkbox", "radio"} or "checked" in attrs):
                form.fields.append((name, attrs.get("value", "on" if kind == "checkbox" else "")))
        elif tag == "textarea":
            self.area, self.text = name, ""
        elif tag == "select":
            self.select = {"name": name, "multiple": "multiple" in attrs, "first": None, "chosen": []}
        elif tag == "option" and self.select is not None:
            value = attrs.get("value", "")
            form.choices.setdefault(self.select["name"], []).append(value)
            self.select["first"] = value if self.select["first"] is None else self.select["first"]
            if "selected" in attrs:
                self.select["chosen"].append(value)

    def handle_data(self, data: str) -> None:
        if self.area is not None:
            self.text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.form = None
        elif tag == "textarea" and self.form is not None and self.area is not None:
            # A line break after the opening tag is not part of the value.
            self.form.fields.append((self.area, self.text.removeprefix("\r\n").removeprefix("\n")))
            self.area = None
        elif tag == "select" and self.form is not None and self.select is not None:
            selected = self.select["chosen"]
            if not selected and not self.select["multiple"] and self.select["first"] is not None:
                selected = [self.select["first"]]
            self.form.fields += [(self.select["name"], value) for value in selected]
            self.select = None


def get_forms(page: bytes) -> list[PageForm]:
    reader = _Reader()
    reader.feed(page.decode())
    return [form for form in reader.forms if form.attrs.get("method", "").lower() == "post"]


def get_form(page: bytes, *names: str, model: str = "") -> PageForm:
    """Return the page's first form with all these fields. With ``model``, only consider the model's edit form."""
    return next(
        form
        for form in get_forms(page)
        if form.names.issuperset(names) and (not model or form.attrs.get("id") == f"{model}_form")
    )


def get_untouched_data(page: str) -> dict[str, list[str]]:
    """Return the values of the page's main form, which is the form with the most fields."""
    return max(get_forms(page.encode()), key=lambda form: len(form.fields)).data
