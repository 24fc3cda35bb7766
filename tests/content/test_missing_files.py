"""Tests for files that the storage lost or cannot store: clean errors, a log entry, and recovery."""

import logging
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from apps.content.domain import assets, blob_store, script_loader, theme_extraction, themes
from apps.content.models import Asset, AssetVersion, FileContent, Theme
from apps.ground.tenancy import shop_scope
from apps.jobs.models import Job
from apps.media.storage import ContentFileStorage, StorageFailed, get_content_storage
from apps.shops.models import Shop
from tests import factories
from tests.conftest import ApiClient
from tests.content.conftest import LAYOUT, SMALL_THEME, FileServer, create_zip
from tests.content.test_scripts import make_tag
from tests.panel.conftest import Panel

STYLE = b"a { color: red }"
KEY = "assets/colours.css"
pytestmark = pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning")


@pytest.fixture
def main_theme_with_lost_file(shop: Shop) -> Theme:
    """Return the published theme after deleting one of its files from the storage."""
    with shop_scope(shop):
        theme = Theme.objects.get(role="main")
        content = blob_store.store_blob(STYLE)
        assets.save_asset(theme, KEY, content, actor="system", at=timezone.now())
        get_content_storage().delete(content.name)
    return theme


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Simulate a full disk."""

    def save(*_: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ContentFileStorage, "_save", save)
    yield
    monkeypatch.undo()


def list_assets(theme: Theme) -> str:
    return f"themes/{theme.pk}/assets.json"


def test_a_lost_file_is_a_clean_refusal_that_the_log_explains(
    api: ApiClient, shop: Shop, main_theme_with_lost_file: Theme, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "apps.media.storage"):
        single = api.get(list_assets(main_theme_with_lost_file), **{"asset[key]": KEY})
        copied = api.put(
            list_assets(main_theme_with_lost_file), {"asset": {"key": "assets/copy.css", "source_key": KEY}}
        )
        public = Client().get(f"/storefront/{shop.domain}/themes/{main_theme_with_lost_file.pk}/{KEY}")
    response = api.get(list_assets(main_theme_with_lost_file))

    assert (single.status_code, single.json()) == (
        503,
        {"errors": {"base": ["The file could not be read: No such file or directory"]}},
    )
    assert float(single["Retry-After"]) > 0
    assert [copied.status_code, public.status_code, response.status_code] == [503, 503, 200]
    notes = [record.getMessage() for record in caplog.records if record.name == "apps.media.storage"]
    assert len(notes) == 3
    assert all(f"File shops/{shop.pk}/content/" in note and "could not be read" in note for note in notes)


def test_uploading_the_same_bytes_again_heals_every_theme_that_has_them(
    api: ApiClient, shop: Shop, main_theme_with_lost_file: Theme
) -> None:
    with shop_scope(shop):
        copy = themes.duplicate_theme(main_theme_with_lost_file, actor="system", at=timezone.now())
    assert api.get(list_assets(copy), **{"asset[key]": KEY}).status_code == 503

    second_response = api.put(list_assets(main_theme_with_lost_file), {"asset": {"key": KEY, "value": STYLE.decode()}})

    assert second_response.status_code == 200
    assert api.get(list_assets(copy), **{"asset[key]": KEY}).json()["asset"]["value"] == STYLE.decode()


def test_a_full_disk_refuses_the_upload_and_changes_nothing(api: ApiClient, shop: Shop, full_disk: None) -> None:
    with shop_scope(shop):
        main = Theme.objects.get(role="main")

    refused = api.put(list_assets(main), {"asset": {"key": KEY, "value": "new"}})

    assert (refused.status_code, refused.json()) == (
        503,
        {"errors": {"base": ["The file could not be stored: No space left on device"]}},
    )
    with shop_scope(shop):
        assert not Asset.objects.filter(key=KEY).exists()
        assert not FileContent.objects.filter(stored=False).exclude(pk__in=blob_store.get_unreferenced_blobs()).exists()


def test_the_panel_says_that_a_file_is_lost_and_takes_another(shop: Shop, main_theme_with_lost_file: Theme) -> None:
    panel = Panel(factories.make_member(shop, "themes"), shop)
    page = panel.get("content_theme_code", main_theme_with_lost_file.pk, key=KEY)
    searched = panel.get("content_theme_code", main_theme_with_lost_file.pk, q="charset")
    downloaded = panel.get("content_theme_download", main_theme_with_lost_file.pk)
    md5 = page.context["asset"].content.md5

    saved = panel.post(
        "content_theme_code", main_theme_with_lost_file.pk, key=KEY, expected=md5, text="b { color: blue }"
    )

    assert (page.status_code, searched.status_code) == (200, 200)
    assert b"The content of this file is missing from storage" in page.content
    assert [hit.key for hit in searched.context["hits"]] == [LAYOUT]
    assert downloaded.status_code == 302
    assert saved.status_code == 302
    assert panel.get("content_theme_code", main_theme_with_lost_file.pk, key=KEY).context["text"] == "b { color: blue }"
    with shop_scope(shop):
        version = AssetVersion.objects.get(theme=main_theme_with_lost_file, key=KEY)
    compared = panel.get("content_theme_version", main_theme_with_lost_file.pk, version.pk)
    restored = panel.post("content_theme_version", main_theme_with_lost_file.pk, version.pk)
    assert (compared.status_code, restored.status_code) == (200, 302)
    assert panel.get("content_theme_code", main_theme_with_lost_file.pk, key=KEY).context["text"] == "b { color: blue }"


def test_an_upload_that_was_lost_is_tried_again_and_fails_the_theme_in_the_end(shop: Shop) -> None:
    with shop_scope(shop):
        upload = blob_store.store_blob(create_zip(SMALL_THEME))
        theme = themes.create_theme(name="Lost", upload=upload, actor="staff:1", at=timezone.now())
        get_content_storage().delete(upload.name)
        job = Job.objects.get()
        with pytest.raises(StorageFailed):
            theme_extraction.extract_theme(job, theme_id=theme.pk)
        theme.refresh_from_db()
    assert theme.processing


def test_a_lost_copy_of_a_script_is_fetched_again(api: ApiClient, shop: Shop, secure_file_server: FileServer) -> None:
    src = secure_file_server.offer("/script.js", b"hello()")
    with shop_scope(shop):
        tag = make_tag(api, shop, src, cache=True)
        now = timezone.now()
        assert script_loader.get_cached_script(tag, at=now) == b"hello()"
        assert tag.copy.content is not None
        get_content_storage().delete(tag.copy.content.name)
        with pytest.raises(script_loader.ScriptUnavailable):
            script_loader.get_cached_script(tag, at=now + timedelta(minutes=1))
        assert script_loader.get_cached_script(tag, at=now + timedelta(minutes=1)) == b"hello()"


def test_the_check_lists_what_is_lost_or_damaged_and_who_uses_it(shop: Shop, main_theme_with_lost_file: Theme) -> None:
    with shop_scope(shop):
        layout = Asset.objects.select_related("content").get(theme=main_theme_with_lost_file, key=LAYOUT)
    Path(get_content_storage().path(layout.content.name)).write_bytes(b"<html>other</html>")
    errors = StringIO()

    with pytest.raises(CommandError, match=r"^2 files are missing or damaged\.$"):
        call_command("check_blobs", stderr=errors)
    with shop_scope(shop):
        blob_store.store_blobs([STYLE, (theme_extraction.STARTER / LAYOUT).read_bytes()])
    output = StringIO()
    call_command("check_blobs", stdout=output)

    assert f"({KEY})" in errors.getvalue()
    assert f"({LAYOUT})" in errors.getvalue()
    assert shop.domain in errors.getvalue()
    assert output.getvalue() == "All files are present and undamaged.\n"


def test_a_bucket_that_lost_a_file_is_no_other_than_a_folder(shop: Shop, bucket: None) -> None:
    with shop_scope(shop):
        content = blob_store.store_blob(STYLE)
        get_content_storage().delete(content.name)

        with pytest.raises(StorageFailed):
            blob_store.read_blob(content)
        assert not blob_store.is_blob_intact(content)
        assert blob_store.read_blob(blob_store.store_blob(STYLE)) == STYLE
