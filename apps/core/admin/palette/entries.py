"""All pages that the command palette can open: menu pages, account pages, settings and add forms.

An entry with a fragment as its link, such as ``#dark``, is a command that ``navigation.js`` runs.
"""

from collections.abc import Callable, Iterable

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from apps.core.admin.menu import PageEntry, get_account_page_entries, get_add_form_entries, get_page_entries
from apps.core.admin.reverse import get_global_url
from apps.core.registry import Registry

# Functions that return settings pages for the palette. They must check permissions.
settings_entries = Registry[str, Callable[[HttpRequest], Iterable[PageEntry]]]("settings in the command palette")


def get_palette_entries(request: HttpRequest) -> list[PageEntry]:
    """Return the pages that the user may open. The palette lists pages with the same rank in this order."""
    settings = (entry for finder in settings_entries.values() for entry in finder(request))
    return [
        *get_page_entries(request),
        *_get_common_entries(),
        *get_account_page_entries(),
        *_get_account_entries(request),
        *settings,
        *get_add_form_entries(request),
    ]


def _get_common_entries() -> list[PageEntry]:
    guide = _("Help")
    return [
        PageEntry(
            "", _("Home"), "home", 0, reverse("admin:index"), pgettext("search", "dashboard, overview, start, to do")
        ),
        PageEntry(
            "",
            guide,
            "help",
            0,
            reverse("admin:help"),
            pgettext("search", "guide, manual, handbook, instructions, documentation, support, question, keyboard"),
        ),
        PageEntry(
            guide,
            _("Import files"),
            "help",
            0,
            reverse("admin:help_page", args=("imports",)),
            pgettext("search", "import file, columns of a csv file"),
        ),
    ]


def _get_account_entries(request: HttpRequest) -> list[PageEntry]:
    profile = get_global_url("profile")
    pages = [
        (
            _("Panel language"),
            "translate",
            f"{profile}#id_language",
            pgettext("search", "language, locale, translation, german, english"),
        ),
        (
            _("Dark mode"),
            "dark_mode",
            "#dark",
            pgettext("search", "dark, dark theme, theme dark, night mode, black, appearance"),
        ),
        (
            _("Light mode"),
            "light_mode",
            "#light",
            pgettext("search", "light, light theme, theme light, day mode, bright, white, appearance"),
        ),
        (
            _("Use system theme"),
            "computer",
            "#auto",
            pgettext("search", "system mode, system theme, theme like the system, automatic, appearance"),
        ),
        (
            _("Active sessions"),
            "devices",
            f"{profile}#sessions",
            pgettext("search", "session, device, sign out everywhere, security"),
        ),
        (
            _("All shops"),
            "apps",
            get_global_url("shops"),
            pgettext("search", "switch shop, other shop, change shop, stores"),
        ),
        (
            _("Log out"),
            "logout",
            get_global_url("account_logout"),
            pgettext("search", "sign out, log off, logout, leave, exit"),
        ),
    ]
    section = _("Your account")
    account_entries = [PageEntry(section, title, icon, 0, link, words) for title, icon, link, words in pages]
    if request.user.is_superuser:
        account_entries.append(PageEntry(section, _("New shop"), "add_business", 0, get_global_url("new-shop"), ""))
    return account_entries
