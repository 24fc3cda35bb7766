"""HTML form fields with a visual editor and a source view. Unchanged HTML is saved byte for byte.

The visual editor (``frontend/visual.js``) edits the field's source. It loads after the page. Until then, the page shows
the beginning of the text in the editor's place. Without JavaScript, users edit the source directly.
The editor can link to rows of model admins with a ``storefront_path`` and inserts images through the route in
``image_routes``.
"""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from apps.core.admin.theme import ThemedTextarea
from apps.core.i18n.messages import translate
from apps.core.registry import Registry
from apps.core.sanitizing import find_html_error, sanitize_html

# The name of the JSON route that lists the shop's images (GET ``q``) and stores an image (POST ``file``).
image_routes = Registry[str, str]("image routes of HTML editors")


def restore_line_endings(original: str, submitted: str) -> str:
    """Return the submitted text with the line endings of the original text.

    Browsers submit every line ending as CR LF. If only line endings differ, the original text is returned.
    """
    plain = _normalize_line_endings(submitted)
    if plain == _normalize_line_endings(original):
        return original
    return plain.replace("\n", "\r\n") if original.count("\r\n") * 2 > original.count("\n") else plain


def _normalize_line_endings(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


# More text than fits into the editor (70 % of the window's height).
_PREVIEW_LENGTH = 5_000


class MarkupArea(ThemedTextarea):
    class Media:
        css: Mapping[str, tuple[str, ...]] = {"all": ("panel/visual.css",)}

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        editor_attrs = {
            "data-visual": True,
            "data-late-script": static("panel/visual.js"),
            "data-links": reverse("admin:links"),
        }
        if image_routes:
            editor_attrs["data-files"] = reverse(next(iter(image_routes.values())))
        context["widget"]["attrs"] = {**editor_attrs, **context["widget"]["attrs"]}
        return context

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        preview = sanitize_html(str(value or "")[:_PREVIEW_LENGTH])
        return format_html(
            '<div class="bo bo-visual bo-visual-preview" data-open inert><div class="bo-visual-text">{}</div></div>{}',
            SafeString(preview),
            super().render(name, value, attrs, renderer),
        )


class MarkupField(forms.CharField):
    """A form field for HTML that preserves whitespace and enforces the limits of the HTML sanitizer."""

    widget = MarkupArea

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"required": False, "strip": False, **options})

    def validate(self, value: str | None) -> None:
        super().validate(value)
        if (problem := find_html_error(value or "")) is not None:
            raise forms.ValidationError(_("The text {refusal}.").format(refusal=translate(problem)))

    def render_read_only(self, value: str) -> SafeString:
        return format_html('<div class="bo-visual-text">{}</div>', SafeString(sanitize_html(value)))

    def has_changed(self, initial: str | None, data: str | None) -> bool:
        return super().has_changed(_normalize_line_endings(initial or ""), _normalize_line_endings(data or ""))
