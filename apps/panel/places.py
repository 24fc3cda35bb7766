"""Every place that the search from anywhere leads to: pages of the menu, one's own, settings, forms that add a row.

What has only a fragment for its link, such as ``#dark``, leads nowhere: palette.js does it.
"""

from collections.abc import Callable, Iterable

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from apps.panel.addresses import outside_url
from apps.panel.menu import Entry, account_pages, additions, entries

Finder = Callable[[HttpRequest], Iterable[Entry]]
_settings: list[Finder] = []


def add_settings(finder: Finder) -> Finder:
    """Let the search lead to the settings that a function gives; it asks for the permission."""
    _settings.append(finder)
    return finder


def places(request: HttpRequest) -> list[Entry]:
    """What this person may open, in the order in which it stands where a text means several as much."""
    settings = (entry for finder in _settings for entry in finder(request))
    return [
        *entries(request),
        *_of_everybody(),
        *account_pages(),
        *_of_account(request),
        *settings,
        *additions(request),
    ]


def _of_everybody() -> list[Entry]:
    guide = _("Help")
    return [
        Entry(
            "", _("Home"), "home", 0, reverse("admin:index"), pgettext("search", "dashboard, overview, start, to do")
        ),
        Entry(
            "",
            guide,
            "help",
            0,
            reverse("admin:help"),
            pgettext("search", "guide, manual, handbook, instructions, documentation, support, question, keyboard"),
        ),
        Entry(
            guide,
            _("Files for imports"),
            "help",
            0,
            reverse("admin:help_page", args=("imports",)),
            pgettext("search", "import file, columns of a csv file"),
        ),
    ]


def _of_account(request: HttpRequest) -> list[Entry]:
    """Parts of one's own pages, and the way out."""
    profile = outside_url("profile")
    pages = [
        (
            _("Language of the panel"),
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
            _("Light or dark like the system"),
            "computer",
            "#auto",
            pgettext("search", "system mode, system theme, theme like the system, automatic, appearance"),
        ),
        (
            _("Where I am signed in"),
            "devices",
            f"{profile}#sessions",
            pgettext("search", "session, device, sign out everywhere, security"),
        ),
        (
            _("All shops"),
            "apps",
            outside_url("shops"),
            pgettext("search", "switch shop, other shop, change shop, stores"),
        ),
        (
            _("Log out"),
            "logout",
            outside_url("account_logout"),
            pgettext("search", "sign out, log off, logout, leave, exit"),
        ),
    ]
    section = _("Your account")
    found = [Entry(section, title, icon, 0, link, words) for title, icon, link, words in pages]
    if request.user.is_superuser:
        found.append(Entry(section, _("New shop"), "add_business", 0, outside_url("new-shop"), ""))
    return found
