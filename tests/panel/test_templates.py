import re
from pathlib import Path
from runpy import run_path

import pytest
from django.conf import settings
from django.contrib import admin
from django.test import Client
from fontTools.ttLib import TTFont

from tests.support.panel.client import PASSWORD, Panel

ROOT = Path(__file__).parents[2]
LONGEST = 160
# Django renders a tag as text if the tag does not end on the line on which it begins.
OPEN_TAG = re.compile(r"\{\{(?!.*\}\})|\{%(?!.*%\})")


def get_templates() -> list[Path]:
    return [*(ROOT / "templates").rglob("*.html"), *(ROOT / "apps").glob("*/templates/**/*.html")]


def find_lines(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}"
        for path in get_templates()
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if pattern.search(line)
    ]


def test_lines_of_templates_fit_on_a_screen() -> None:
    assert get_templates()
    assert find_lines(re.compile(f".{{{LONGEST + 1}}}")) == []


def test_tags_of_templates_end_on_their_line() -> None:
    assert OPEN_TAG.search("{{ name")
    assert OPEN_TAG.search("{{ one }} {% if two")
    assert not OPEN_TAG.search("{{ one }}")
    assert find_lines(OPEN_TAG) == []


# An icon in a template: the text of an icon element, or the argument of an included template.
_ICON = re.compile(r'material-symbols-outlined[^>]*>\s*([a-z0-9_]+)\s*<|\bicon="([a-z0-9_]+)"')


def test_the_font_has_each_icon_that_a_template_names() -> None:
    fonts = run_path(str(ROOT / "frontend/fonts.py"))
    all_icons, existing = (fonts["ligatures"](TTFont(fonts[folder] / fonts["ICONS"])) for folder in ("OTHERS", "OWN"))
    files = [path for root in (ROOT, fonts["THEME"]) for path in (root / "templates").rglob("*.html")]

    matches = {name for path in files for match in _ICON.finditer(path.read_text()) for name in match.groups() if name}

    assert {"close", "arrow_downward_alt"} <= matches
    assert matches & all_icons.keys() <= {*existing}


def test_the_font_has_each_icon_of_the_menu() -> None:
    fonts = run_path(str(ROOT / "frontend/fonts.py"))
    existing = fonts["ligatures"](TTFont(fonts["OWN"] / fonts["ICONS"]))
    icons = {menu.icon for screen in admin.site._registry.values() if (menu := getattr(screen, "menu", None))}

    assert "receipt_long" in icons
    assert icons <= {*existing}


def test_the_font_has_each_icon_that_a_style_names() -> None:
    fonts = run_path(str(ROOT / "frontend/fonts.py"))
    existing = fonts["ligatures"](TTFont(fonts["OWN"] / fonts["ICONS"]))
    styles = "".join(path.read_text() for path in (ROOT / "static/panel").glob("*.css"))

    matches = set(re.findall(r'content: "(\w+)"[^}]*Material Symbols', styles))

    assert "add_a_photo" in matches
    assert matches <= {*existing}


def test_the_font_has_each_icon_of_the_visual_editor() -> None:
    fonts = run_path(str(ROOT / "frontend/fonts.py"))
    existing = fonts["ligatures"](TTFont(fonts["OWN"] / fonts["ICONS"]))

    matches = set(re.findall(r'icon: "(\w+)"|mark\("(\w+)"', (ROOT / "frontend/visual/toolbar.js").read_text()))

    assert ("link", "") in matches
    assert {name for match in matches for name in match if name} <= {*existing}


def get_script_sources(header: str) -> list[str]:
    """Return the policy's script sources."""
    directives = [part.split() for part in header.split(";")]
    return next(values for name, *values in directives if name == "script-src")


@pytest.mark.parametrize("secure", [False, True])
def test_scripts_come_from_the_path_of_our_own_static_files_alone(owner_client: Panel, secure: bool) -> None:
    response = owner_client.http.get(owner_client.url("index"), secure=secure, headers={"host": "localhost:8443"})

    scheme = "https" if secure else "http"
    assert get_script_sources(response["Content-Security-Policy"]) == [
        f"{scheme}://localhost:8443/static/",
        f"{scheme}://localhost:8443/s/acme/admin/jsi18n/",
        "'unsafe-eval'",
    ]


def test_pages_outside_of_the_panel_have_the_same_policy(db: None) -> None:
    response = Client().get("/accounts/login/")

    assert get_script_sources(response["Content-Security-Policy"])[0] == "http://testserver/static/"


def test_pages_cannot_be_framed_and_no_script_reads_the_session(owner_client: Panel) -> None:
    pages = [owner_client.http.get(owner_client.url("index")), Client().get("/accounts/login/")]

    for page in pages:
        assert "frame-ancestors 'none'" in page["Content-Security-Policy"]
        assert page["X-Frame-Options"] == "DENY"
    owner_client.user.set_password(PASSWORD)
    owner_client.user.save()
    browser = Client()
    browser.post("/accounts/login/", {"login": owner_client.user.email, "password": PASSWORD})
    session = browser.cookies[settings.SESSION_COOKIE_NAME]
    assert (session["httponly"], session["samesite"]) == (True, "Lax")
