"""The template tag of the menu."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from apps.core.admin.staff_request import Context

register = template.Library()


@dataclass(frozen=True, slots=True)
class Entry:
    """A menu entry, with the icon for entries outside of sections."""

    title: str
    link: str
    is_active: bool
    icon: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A link to the first page of a section, and the entries that the section opens and closes.

    The first page is not among the entries if the section has its name. ``label`` names the button that opens the
    section.
    """

    head: Entry
    key: str = ""
    label: str = ""
    entries: tuple[Entry, ...] = ()

    @property
    def is_current(self) -> bool:
        return self.head.is_active or any(entry.is_active for entry in self.entries)


@register.simple_tag
def menu_entries(groups: Iterable[Context]) -> SafeString:
    """Render the entries of the menu.

    The cache is keyed by all that the template shows. A change of permissions, shop or language changes the entries.
    """
    return _render_sections(tuple(map(_get_section, groups)))


def _get_section(group: Context) -> Section:
    """Return a group of the navigation. A group with one page is shown as that page."""
    first, *others = (Entry(str(item["title"]), item["link"], item["active"], item["icon"]) for item in group["items"])
    if not others:
        return Section(first)
    title, label = group["title"], _("Pages in {section}").format(section=group["title"])
    has_own_page = first.title == title
    entries = tuple(
        Entry(entry.title, entry.link, entry.is_active) for entry in (others if has_own_page else [first, *others])
    )
    head = Entry(title, first.link, has_own_page and first.is_active, group["icon"])
    return Section(head, group["key"], label, entries)


@lru_cache(maxsize=256)
def _render_sections(sections: tuple[Section, ...]) -> SafeString:
    return render_to_string("panel/menu_entries.html", {"sections": sections})
