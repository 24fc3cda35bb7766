"""Fields of HTML: written as it will look or as its source, and kept byte for byte where nobody changed it.

The visual editor (``frontend/visual.js``) works on the field's source; without scripts the field is the source. Links
to rows of the shop are found on the screens that have a ``storefront_path``; ``keep_pictures_at`` says where pictures
are kept.
"""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from apps.ground.markup import harmless, refusal_of
from apps.ground.retelling import retold
from apps.panel.theme import ThemedTextarea

_pictures: list[str] = []


def keep_pictures_at(url_name: str) -> None:
    """Say which route lists the shop's pictures (GET ``q``) and stores one (POST ``file``), as JSON."""
    _pictures[:] = [url_name]


def as_before(before: str, sent: str) -> str:
    """The text of a form with the line ends of the text that the form was made of; unedited text stays as it was.

    Browsers send every line end as CR LF, whatever it was.
    """
    plain = _plain(sent)
    if plain == _plain(before):
        return before
    return plain.replace("\n", "\r\n") if before.count("\r\n") * 2 > before.count("\n") else plain


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


class MarkupArea(ThemedTextarea):
    """A textarea with the visual editor beside it."""

    class Media:
        css: Mapping[str, tuple[str, ...]] = {"all": ("panel/visual.css",)}
        js = (forms.Script("panel/visual.js", defer=True),)

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        """Where links and pictures are found; the routes are those of the shop that is being asked."""
        context: dict[str, Any] = super().get_context(name, value, attrs)
        offered = {"data-visual": True, "data-links": reverse("admin:links")}
        if _pictures:
            offered["data-files"] = reverse(_pictures[0])
        context["widget"]["attrs"] = {**offered, **context["widget"]["attrs"]}
        return context


class MarkupField(forms.CharField):
    """HTML as it is typed, blanks and all; within the limits of what can be cleaned wherever it is shown."""

    widget = MarkupArea

    def __init__(self, **options: Any) -> None:
        """Empty is allowed."""
        super().__init__(**{"required": False, "strip": False, **options})

    def validate(self, value: str | None) -> None:
        """Refuse what could not be shown.

        Raises:
            ValidationError: It is too large or too deep.
        """
        super().validate(value)
        if (refusal := refusal_of(value or "")) is not None:
            raise forms.ValidationError(_("This {refusal}.").format(refusal=retold(refusal)))

    def shown(self, value: str) -> SafeString:
        """The text as it will look, for those who may only look."""
        return format_html('<div class="bo-visual-text">{}</div>', SafeString(harmless(value)))

    def has_changed(self, initial: str | None, data: str | None) -> bool:
        """Whether somebody changed more than a browser does to line ends."""
        return super().has_changed(_plain(initial or ""), _plain(data or ""))
