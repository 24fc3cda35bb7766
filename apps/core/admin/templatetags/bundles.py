"""Template tags and filters that include style sheets and scripts."""

from collections.abc import Sequence
from typing import Any

from django import template
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.forms import Media, Script
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import get_language

register = template.Library()


@register.simple_tag
def style_urls() -> Sequence[str]:
    return _get_urls("panel/all.css")


@register.simple_tag
def script_urls() -> Sequence[str]:
    return _get_urls(f"panel/all.{get_language() or 'en'}.js")


def _get_urls(bundle: str) -> Sequence[str]:
    """Return the URL of the combined file or, if static files have not been collected, of each source file."""
    if bundle in getattr(staticfiles_storage, "hashed_files", ()):
        return [static(bundle)]
    return [static(part) for part in settings.STATIC_BUNDLES[bundle]]


@register.filter
def deferred(media: Media) -> Media:
    """Make all scripts of a form run after the page is parsed, and add the texts of Django's calendar if it is used."""
    known: Any = media  # Django has no public API for the contents of a Media object.
    scripts = known._js
    if any(str(script).endswith("/DateTimeShortcuts.js") for script in scripts):
        scripts = [reverse("admin:jsi18n"), *scripts]
    late: Any = [script if isinstance(script, Script) else Script(script, defer=True) for script in scripts]
    return Media(css=known._css, js=late)
