"""The template tag of the menu."""

from collections.abc import Iterable
from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from apps.core.admin.staff_request import Context

register = template.Library()

# The title, icon and URL of a menu entry, and whether its page is open.
Entry = tuple[str, str, str, bool]


@register.simple_tag
def menu_entries(groups: Iterable[Context]) -> SafeString:
    """Render the entries of the menu.

    The cache is keyed by all that the template shows. A change of permissions, shop or language changes the entries.
    """
    return _render_groups(tuple((group["title"], tuple(map(_get_entry, group["items"]))) for group in groups))


def _get_entry(item: Context) -> Entry:
    return str(item["title"]), item["icon"], item["link"], item["active"]


@lru_cache(maxsize=256)
def _render_groups(groups: tuple[tuple[str | None, tuple[Entry, ...]], ...]) -> SafeString:
    return render_to_string("panel/menu_entries.html", {"groups": groups})
