"""Settings for the staff panel: the admin theme and the login pages."""

from pathlib import Path
from typing import Any

from django.conf.locale import LANG_INFO
from django.templatetags.static import static

FORMAT_MODULE_PATH = "backoffice.formats"
CSRF_FAILURE_VIEW = "apps.core.admin.pages.error_pages.csrf_failure"
# Never send an email to an unknown address when a visitor requests a password reset for it.
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False


def _static_url(name: str) -> Any:
    """Return a function that builds the URL of a static file later, when Django can read the manifest of files."""
    return lambda request=None: static(f"panel/{name}")


# Colors are set in static/panel/panel.css, because pages without the theme also use them.
UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Backoffice",
    "SITE_HEADER": "apps.core.admin.menu.get_shop_name",
    "SITE_SUBHEADER": "apps.core.admin.menu.get_shop_domain",
    "SITE_URL": None,
    "SITE_SYMBOL": "storefront",
    "SITE_DROPDOWN": "apps.core.admin.menu.build_shop_switcher",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": _static_url("favicon.svg")}],
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "BORDER_RADIUS": "8px",
    "ACCOUNT": {"navigation": "apps.core.admin.menu.get_account_links"},
    "COMMAND": {"search_models": False, "show_history": False},
    "SIDEBAR": {"show_all_applications": False},
}


def find_languages(folder: Path) -> list[tuple[str, str]]:
    """Return English and each language with a catalog in the folder. Each name is written in the language itself."""
    codes = sorted(path.parts[-3].lower().replace("_", "-") for path in folder.glob("*/LC_MESSAGES/django.po"))
    return [(code, LANG_INFO.get(code, {}).get("name_local", code)) for code in ("en", *codes)]


def get_static_bundles(languages: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the name of each combined style sheet or script, and its source files in order.

    All pages of the panel load the style sheet and the script of their language.
    """
    plugins = [f"unfold/js/alpine/alpine.{name}.js" for name in ("anchor", "focus", "persist", "resize", "sort")]
    theme = ["unfold/js/htmx/htmx.js", "unfold/js/app.js", *plugins]
    panel = [f"panel/{name}.js" for name in ("panel", "navigation", "notifications", "lists")]
    # Alpine comes last, because it starts the page.
    scripts = [*theme, *panel, "unfold/js/alpine/alpine.js"]
    return {
        "panel/all.css": ["panel/panel.css", "unfold/css/styles.css", "panel/catalog.css"],
        **{f"panel/all.{code}.js": [f"panel/words.{code}.js", *scripts] for code, _ in languages},
    }
