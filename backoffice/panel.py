"""The settings of the staff panel: the theme's, and those of login pages that go with it."""

from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.utils.translation import get_language

FORMAT_MODULE_PATH = "backoffice.formats"
CSRF_FAILURE_VIEW = "apps.panel.error_pages.csrf_failure"
# Who asks for a new password under an address that nobody has, gets no mail: it would go to a stranger.
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False


def _file(name: str) -> Any:
    """The address of a static file, asked for when a page is rendered: the manifest is not known earlier."""

    def address(request: HttpRequest | None = None) -> str:
        return static(f"panel/{name}")

    return address


def _words(request: HttpRequest | None = None) -> str:
    """What scripts say in the language of the page."""
    return static(f"panel/words.{get_language() or 'en'}.js")


# Colours stand in static/panel/panel.css, which the pages outside of the theme share.
UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Backoffice",
    "SITE_HEADER": "apps.panel.menu.shop_name",
    "SITE_SUBHEADER": "apps.panel.menu.shop_domain",
    "SITE_URL": None,
    "SITE_SYMBOL": "storefront",
    "SITE_DROPDOWN": "apps.panel.menu.shop_switcher",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": _file("favicon.svg")}],
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "BORDER_RADIUS": "8px",
    "STYLES": [_file("panel.css")],
    "SCRIPTS": [_words, _file("session.js"), _file("panel.js"), _file("palette.js")],
    "ACCOUNT": {"navigation": "apps.panel.menu.account_links"},
    "COMMAND": {"search_models": False, "show_history": False},
    "SIDEBAR": {
        "show_search": True,
        "command_search": True,
        "show_all_applications": False,
        "navigation": "apps.panel.menu.navigation",
    },
}
