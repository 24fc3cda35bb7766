"""Tests of importing themes with their files."""

from base64 import b64encode
from collections import Counter
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import CommandError
from django.utils import timezone

from apps.content.domain import assets, blob_store
from apps.content.domain.themes import create_empty_theme, publish_theme
from apps.content.models import Asset, Theme
from apps.core.tenancy.scope import shop_scope
from apps.store_imports.domain import runner
from apps.store_imports.models import ImportProblem, StreamState
from apps.store_imports.resources.content import themes
from tests.store_imports.conftest import StoreImporter
from tests.store_imports.faulty_proxy import FaultyProxy
from tests.store_imports.test_following import follow
from tests.store_imports.test_import_store import OWN_TABLES, get_counts
from tests.support.databases.snapshots import assert_database_unchanged
from tests.support.types import JsonObject

FILES = {
    "layout/theme.liquid": b"<html>{{ content_for_layout }}</html>",
    "config/settings_data.json": b'{"current": {}}',
    "assets/pixel.gif": b"GIF89a\xff\x00\x01",
    "snippets/empty.liquid": b"",
    "templates/index.liquid": b"Caf\xc3\xa9",
}
NAME = "Summer"


def add_theme(importer: StoreImporter, name: str, *, published: bool = False) -> int:
    """Add a theme with files to the store."""
    now = timezone.now()
    with shop_scope(importer.source.installation.shop):
        theme = create_empty_theme(name=name, created_at=now, actor="system", at=now)
    for key, data in FILES.items():
        put_file(importer, theme.pk, key, data)
    if published:
        with shop_scope(importer.source.installation.shop):
            publish_theme(theme, actor="system", at=now)
    return theme.pk


def put_file(importer: StoreImporter, theme_id: int, key: str, data: bytes) -> None:
    asset = {"key": key, "attachment": b64encode(data).decode()} if data else {"key": key, "value": ""}
    response = importer.source.put(f"themes/{theme_id}/assets.json", {"asset": asset})
    assert response.status_code in {200, 201}, response.content


def get_downloads(proxy: FaultyProxy) -> Counter[str]:
    """Return how often the content of each theme file was requested."""
    queries = [parse_qs(urlsplit(path).query) for path in proxy.paths]
    return Counter(query["asset[key]"][0] for query in queries if "asset[key]" in query)


def get_files(importer: StoreImporter, name: str) -> dict[str, bytes]:
    with shop_scope(importer.shop):
        rows = Asset.objects.select_related("content").filter(theme__name=name)
        return {row.key: blob_store.read_blob(row.content) for row in rows}


def test_themes_are_imported_as_drafts_and_only_changed_files_are_downloaded_again(
    importer: StoreImporter, proxy: FaultyProxy
) -> None:
    theme_id = add_theme(importer, NAME, published=True)
    add_theme(importer, "Winter")

    output = importer.run()

    assert get_files(importer, NAME) == get_files(importer, "Winter") == FILES
    assert f"themes {theme_id}: note: This is the store's published theme" in output
    with shop_scope(importer.shop):
        assert set(Theme.objects.filter(name__in=[NAME, "Winter"]).values_list("role", flat=True)) == {"unpublished"}
    # Both themes have the same files, which are downloaded for one of them only.
    assert {key: count for key, count in get_downloads(proxy).items() if key in FILES} == dict.fromkeys(FILES, 1)
    proxy.paths.clear()
    with assert_database_unchanged(ignored_tables=OWN_TABLES):
        importer.run()
    assert get_downloads(proxy) == {}
    put_file(importer, theme_id, "templates/index.liquid", b"New")

    counts = get_counts(importer.run())

    assert get_downloads(proxy) == {"templates/index.liquid": 1}
    assert get_files(importer, NAME) == {**FILES, "templates/index.liquid": b"New"}
    assert counts["theme_files"][:2] == [0, 1]


def test_a_damaged_file_is_refused_and_imported_by_the_next_run(importer: StoreImporter, proxy: FaultyProxy) -> None:
    add_theme(importer, NAME)

    def spoil(path: str, data: JsonObject) -> None:
        if data.get("asset", {}).get("key") == "templates/index.liquid":
            data["asset"]["value"] = "Cut"

    proxy.edit = spoil

    with pytest.raises(CommandError, match="1 object was not imported"):
        importer.run()

    output = importer.output.getvalue()
    assert "The file templates/index.liquid was not imported: " in output
    assert "content does not match its checksum" in output
    assert get_downloads(proxy)["templates/index.liquid"] == 2
    proxy.edit = None
    importer.run()
    assert get_files(importer, NAME) == FILES


def test_an_import_continues_within_a_theme(
    importer: StoreImporter, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_theme(importer, NAME)
    save = runner._advance
    pages = Counter[str]()

    def fail_once(state: StreamState, *arguments: object) -> None:
        pages[state.name] += 1
        save(state, *arguments)  # type: ignore[arg-type]
        if (state.name, pages[state.name]) == ("theme_files", 3):
            raise RuntimeError("killed")

    monkeypatch.setattr(runner, "_advance", fail_once)
    monkeypatch.setattr(themes, "PAGE_SIZE", 2)
    with pytest.raises(RuntimeError):
        importer.run()

    counts = get_counts(importer.run())

    assert get_files(importer, NAME) == FILES
    assert set(get_downloads(proxy).values()) == {1}
    assert counts["theme_files"][0] == len(get_all_files(importer))


def get_all_files(importer: StoreImporter) -> list[str]:
    with shop_scope(importer.source.installation.shop):
        return list(Asset.objects.values_list("key", flat=True))


def test_files_of_themes_with_long_ids_are_imported_once(
    importer: StoreImporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Move the imported themes to the ids of an installation with an id range."""

    def create_with_long_id(**values: Any) -> Theme:
        pk = create_empty_theme(**values).pk
        Theme.objects.filter(pk=pk).update(id=9 * 10**12 + pk)
        return Theme.objects.get(pk=9 * 10**12 + pk)

    monkeypatch.setattr(themes, "create_empty_theme", create_with_long_id)
    add_theme(importer, NAME)
    importer.run()

    assert get_files(importer, NAME) == FILES
    assert get_counts(importer.run())["theme_files"][:2] == [0, 0]


def test_files_have_different_numbers_that_stay_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(themes, "KEY_BITS", 8)
    keys = [f"assets/{number}.css" for number in range(200)]

    numbers = themes._number_keys(keys)

    assert len(set(numbers.values())) == 200
    assert 0 not in numbers.values()
    assert themes._number_keys(reversed(keys)) == numbers


def test_themes_and_files_deleted_in_the_store_are_deleted_here(importer: StoreImporter) -> None:
    ids = {name: add_theme(importer, name) for name in (NAME, "Winter", "Used")}
    with follow(importer) as passes:
        next(passes)
        publish_theme(Theme.objects.get(name="Used"), actor="staff:1", at=timezone.now())
        summer = Theme.objects.get(name=NAME)
        content = blob_store.store_blob(b"Changed")
        assets.save_asset(summer, "assets/pixel.gif", content, actor="staff:1", at=timezone.now())
        files = [
            f"themes/{ids[NAME]}/assets.json?asset[key]={key}" for key in ("assets/pixel.gif", "templates/index.liquid")
        ]
        for path in (*files, f"themes/{ids['Winter']}.json", f"themes/{ids['Used']}.json"):
            assert importer.source.delete(path).status_code == 200

        assert next(passes).deleted == 2
        assert next(passes).deleted == 0

        assert set(get_files(importer, NAME)) == set(FILES) - {"templates/index.liquid"}
        assert set(get_files(importer, "Used")) == set(FILES)
        assert not Theme.objects.filter(name="Winter").exists()
        notes = {row.stream: row.reason for row in ImportProblem.objects.all()}
        assert all(notes[name].endswith("because it was changed in this shop.") for name in ("themes", "theme_files"))
