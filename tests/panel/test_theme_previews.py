"""Themes show their screenshot, and files of themes can be previewed without the editor."""

import json
from typing import Any

import pytest
from django.utils import timezone

from apps.content.admin.theme_editor import MAX_PREVIEW
from apps.content.domain import assets, blob_store, themes
from apps.content.domain.theme_files.palettes import SETTINGS_KEY, find_palettes
from apps.content.domain.theme_files.screenshots import find_screenshots
from apps.content.models import Asset, Theme
from apps.core.media.storage import get_content_storage
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support.files.images import make_plain_image
from tests.support.panel.client import Panel, PanelWith

pytestmark = pytest.mark.usefixtures("media_root", "in_shop")
LIST, CHANGE, PREVIEW = "content_theme_changelist", "content_theme_change", "content_theme_preview"


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("themes")


@pytest.fixture
def theme(shop: Shop) -> Theme:
    return Theme.objects.get(role=Theme.Role.MAIN)


def save_file(theme: Theme, key: str, content: bytes) -> None:
    assets.save_asset(theme, key, blob_store.store_blob(content), actor="system", at=timezone.now())


def test_a_theme_shows_its_own_screenshot(panel: Panel, theme: Theme) -> None:
    image = make_plain_image("PNG", (16, 10), color="red")
    save_file(theme, "assets/screenshot.png", image)
    draft = themes.duplicate_theme(theme, actor="system", at=timezone.now())
    assets.delete_asset(draft, "assets/screenshot.png", actor="system", at=timezone.now())

    for page in (panel.get(LIST).content.decode(), panel.get(CHANGE, theme.pk).content.decode()):
        path = page.partition('class="bo-screenshot"')[2].partition('src="')[2].partition('"')[0]
        served = panel.http.get(path.replace("&amp;", "&"))
        assert (served.status_code, served.headers["Content-Type"]) == (200, "image/png")
        assert f'alt="Screenshot of {theme.name}"' in page
    assert panel.get(LIST).content.decode().count("This theme has no screenshot.") == 1


def test_a_theme_without_a_screenshot_shows_the_colors_of_its_settings(panel: Panel, theme: Theme) -> None:
    colors = {"accent": "#7A4B2A", "text": "#111", "name": "red", "scheme": {"ground": "#faf8f3", "again": "#111"}}
    save_file(theme, SETTINGS_KEY, json.dumps({"current": "Warm", "presets": {"Warm": colors}}).encode())

    for page in (panel.get(LIST).content.decode(), panel.get(CHANGE, theme.pk).content.decode()):
        assert 'aria-label="Colors: #7a4b2a, #111, #faf8f3"' in page
        assert page.count("<rect ") == 3
        assert "These are the colors in its settings." in page


@pytest.mark.parametrize(
    "content",
    [b"{}", b"[]", b"no json", b'{"current": "Gone"}', b'{"current": {"a": ""><script>"}}', b"[" * 5000, b"\xff"],
)
def test_a_theme_without_colors_shows_none(panel: Panel, theme: Theme, content: bytes) -> None:
    asset = Asset.objects.get(theme=theme, key=SETTINGS_KEY)
    Asset.objects.filter(pk=asset.pk).update(content=blob_store.store_blob(content))

    page = panel.get(LIST).content.decode()

    assert find_palettes([theme.pk]) == {}
    assert "bo-palette" not in page
    assert "This theme has no screenshot." in page


def test_the_preferred_screenshot_is_shown(panel: Panel, theme: Theme) -> None:
    image = make_plain_image("PNG", (16, 10), color="red")
    for key in ("assets/preview.png", "assets/screenshot.png", "assets/thumbnail.png", "assets/screenshot.svg"):
        save_file(theme, key, image if key.endswith("png") else b"<svg/>")

    page = panel.get(CHANGE, theme.pk).content.decode()

    assert "assets/screenshot.png?v=" in page
    assert "preview.png" not in page


def test_all_screenshots_are_found_with_one_query(theme: Theme, django_assert_num_queries: Any) -> None:
    save_file(theme, "assets/screenshot.png", make_plain_image("PNG", (16, 10)))
    copies = [themes.duplicate_theme(theme, actor="system", at=timezone.now()) for _ in range(3)]

    with django_assert_num_queries(1):
        found = find_screenshots([theme.pk, *(copy.pk for copy in copies)])

    assert len(found) == 4


def test_an_image_is_previewed_as_an_image(panel: Panel, theme: Theme) -> None:
    save_file(theme, "assets/hat.png", make_plain_image("PNG", (4, 3), color="red"))

    page = panel.get(PREVIEW, theme.pk, key="assets/hat.png").content.decode()

    assert 'alt="assets/hat.png"' in page
    assert "<pre" not in page.partition("<main")[2]


def test_a_text_is_previewed_escaped_and_read_only(panel: Panel, theme: Theme) -> None:
    save_file(theme, "snippets/card.liquid", b"<script>alert({{ x }})</script>")

    page = panel.get(PREVIEW, theme.pk, key="snippets/card.liquid").content.decode()

    assert "&lt;script&gt;alert({{ x }})&lt;/script&gt;" in page
    assert "<textarea" not in page
    assert "Only the beginning" not in page


def test_a_long_text_is_cut_in_the_preview(panel: Panel, theme: Theme) -> None:
    save_file(theme, "assets/long.css", b"a" * (MAX_PREVIEW + 1) + b"END")

    page = panel.get(PREVIEW, theme.pk, key="assets/long.css").content.decode()

    assert "Only the beginning of this file is shown." in page
    assert "aEND" not in page


@pytest.mark.parametrize(("key", "content"), [("assets/a.woff2", b"wOF2\0"), ("assets/b.css", b"\xff\xfe\0")])
def test_other_files_say_why_they_have_no_preview(panel: Panel, theme: Theme, key: str, content: bytes) -> None:
    save_file(theme, key, content)

    page = panel.get(PREVIEW, theme.pk, key=key).content.decode()

    assert "can&#x27;t be shown here" in page or "can't be shown here" in page
    assert "Download the theme to open the file." in page


def test_a_lost_file_says_so(panel: Panel, theme: Theme) -> None:
    save_file(theme, "assets/a.css", b"a {}")
    get_content_storage().delete(Asset.objects.get(theme=theme, key="assets/a.css").content.name)

    page = panel.get(PREVIEW, theme.pk, key="assets/a.css").content.decode()

    assert "The content of this file is missing from storage" in page


def test_the_editor_links_to_the_preview(panel: Panel, theme: Theme) -> None:
    page = panel.get("content_theme_code", theme.pk, key="layout/theme.liquid").content.decode()

    assert f"{panel.url(PREVIEW, theme.pk)}?key=layout%2Ftheme.liquid" in page


def test_previews_of_unknown_files_and_other_shops_are_not_found(panel: Panel, theme: Theme, other_shop: Shop) -> None:
    with shop_scope(other_shop):
        foreign = Theme.objects.get(role=Theme.Role.MAIN)

    assert panel.get(PREVIEW, theme.pk, key="assets/none.png").status_code == 404
    assert panel.get(PREVIEW, foreign.pk, key="layout/theme.liquid").status_code == 404
    assert panel.get(PREVIEW, theme.pk).status_code == 302


def test_a_failed_theme_begins_with_the_reason_and_a_way_on(panel: Panel, shop: Shop) -> None:
    failed = Theme.objects.create(shop=shop, name="Dawn & Co", processing=False, failure="assets/a.css is too large.")

    page = panel.get(CHANGE, failed.pk).content.decode()
    form = panel.open(panel.url("content_theme_add"), name="Dawn & Co").content.decode()

    assert page.index("assets/a.css is too large.") < page.index("No file of this theme was installed.")
    assert f"{panel.url('content_theme_add')}?name=Dawn%20%26%20Co" in page
    assert 'value="Dawn &amp; Co"' in form
