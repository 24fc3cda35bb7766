"""The base classes of the parts of the page that creates an order: their forms, and the steps that change values."""

import re
from typing import cast

from django import forms
from django.http import QueryDict

from apps.core.admin.forms.styled import StyledForm
from apps.inventory.domain.item_lookup import MAX_CODE_LENGTH

_ID = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)


class PartForm(StyledForm):
    def __init__(self, data: QueryDict, *, prefix: str | None = None, is_saving: bool = False, focus: str = "") -> None:
        """Create the form. Values that are only missing are errors if the form ``is_saving``."""
        super().__init__(data, prefix=prefix)
        self.is_saving = is_saving
        for name, field in self.fields.items():
            field.widget.attrs["autofocus"] = focus == self.add_prefix(name)

    def set_choices(self, name: str, choices: list[tuple[str, str]]) -> None:
        cast("forms.ChoiceField", self.fields[name]).choices = choices


class Steps:
    """The steps of a part of the page with a search field. They change ``data``, the values of the form.

    Attributes:
        term: The text in the search field.
        focus: The field that gets the focus, such as ``code`` or ``line-3-title``.
        message: What the step has changed, for screen readers.
        error: Why the search did not lead to a result.
    """

    search_field = ""

    def __init__(self, data: QueryDict) -> None:
        self.data = data
        self.term = str(data.get(self.search_field, "")).replace("\0", "").strip()[:MAX_CODE_LENGTH]
        self.focus = self.search_field
        self.message = self.error = ""


def parse_form_id(text: object) -> int | None:
    """Return the ID that a form sent, or None if it is not an ID."""
    return int(str(text)) if _ID.fullmatch(str(text)) else None
