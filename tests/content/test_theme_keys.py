"""Tests that single files and archives follow the same rule for theme file keys."""

import io
from typing import BinaryIO, cast

import pytest
from django.utils import timezone

from apps.content.domain import assets, blob_store, theme_extraction
from apps.content.domain.theme_archive import DEFAULT_LIMITS, ArchiveRefused
from apps.content.models import Asset, Theme
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from tests.collect_failures import Subtests
from tests.conftest import ApiClient
from tests.content.conftest import LAYOUT, SMALL_THEME, create_zip
from tests.content.test_themes import get_main_theme

REFUSED = {
    "layout/theme.liquid/x": "The file conflicts with layout/theme.liquid: a path can't be both a file and a folder",
    "Layout/theme.liquid": "key is invalid",
    "layout/Theme.liquid": "The file layout/theme.liquid already exists, and the names differ only in case",
    "assets/con.txt": "key is invalid",
    "assets/COM1": "key is invalid",
    "assets/nul/x.css": "key is invalid",
    "assets/a./b.css": None,
    "assets/./b.css": "key is invalid",
    "assets//b.css": "key is invalid",
    "assets/b.css/": "key is invalid",
}


def test_a_key_that_no_archive_may_have_is_refused(api: ApiClient, shop: Shop) -> None:
    theme = get_main_theme(api)
    with Subtests() as checks:
        for key, reason in REFUSED.items():
            with checks(key):
                response = api.put(f"themes/{theme['id']}/assets.json", {"asset": {"key": key, "value": "x"}})
                if reason is None:
                    assert response.status_code == 200
                else:
                    assert (response.status_code, response.json()) == (422, {"errors": {"asset": [reason]}})


def test_a_file_is_no_folder_of_another(api: ApiClient) -> None:
    path = f"themes/{get_main_theme(api)['id']}/assets.json"
    assert api.put(path, {"asset": {"key": "assets/icons/a.svg", "value": "x"}}).status_code == 200

    file = api.put(path, {"asset": {"key": "assets/icons", "value": "x"}})
    other_case = api.put(path, {"asset": {"key": "assets/Icons/b.svg", "value": "x"}})

    assert file.json() == {
        "errors": {"asset": ["The file conflicts with assets/icons/a.svg: a path can't be both a file and a folder"]}
    }
    assert other_case.status_code == 200


def test_every_key_that_can_be_saved_comes_back_from_the_archive_of_its_theme(api: ApiClient, shop: Shop) -> None:
    """PUT each key, download the theme with all accepted keys, and import the archive completely."""
    path = f"themes/{get_main_theme(api)['id']}/assets.json"
    keys = [
        *REFUSED,
        "assets/a.b.c",
        "assets/-_.css",
        "snippets/x.liquid",
        "templates/customers/login.json",
        "a",
        "x/y",
    ]
    used_keys = [key for key in keys if api.put(path, {"asset": {"key": key, "value": "{}"}}).status_code == 200]

    with shop_scope(shop):
        theme = Theme.objects.get(role="main")
        with theme_extraction.create_theme_archive(theme) as file:
            second_file_count = theme_extraction.store_archive_files(cast("BinaryIO", file), lambda result, total: None)
        assert second_file_count.keys() == set(Asset.objects.filter(theme=theme).values_list("key", flat=True))
    assert set(used_keys) <= second_file_count.keys()
    assert len(used_keys) >= 5


def test_a_theme_grows_no_larger_than_its_archive_may_be(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    small = DEFAULT_LIMITS.__class__(entries=5, unpacked_bytes=10_000)
    monkeypatch.setattr(assets, "DEFAULT_LIMITS", small)
    with shop_scope(shop):
        theme = Theme.objects.get(role="main")
        Asset.objects.filter(theme=theme).exclude(key=LAYOUT).delete()

        def save(key: str, size: int) -> None:
            assets.save_asset(theme, key, blob_store.store_blob(bytes(size)), actor="system", at=timezone.now())

        with pytest.raises(assets.AssetRefused, match="With this file, the theme would be larger than"):
            save("assets/a.png", 10_000)
        for number in range(4):
            save(f"assets/{number}.png", number)
        with pytest.raises(assets.AssetRefused, match="The theme already has the maximum of 5 files"):
            save("assets/5.png", 1)
        save("assets/3.png", 2)

        assert Asset.objects.filter(theme=theme).count() == 5


def test_an_archive_without_a_layout_is_no_theme(shop: Shop) -> None:
    files = {key: data for key, data in SMALL_THEME.items() if key != LAYOUT}
    with shop_scope(shop), pytest.raises(ArchiveRefused, match=r"no layout/theme\.liquid"):
        theme_extraction.store_archive_files(io.BytesIO(create_zip(files)), lambda result, total: None)
