import logging
from datetime import timedelta
from io import StringIO
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from apps.content.domain import assets, blob_store, script_tags, theme_extraction, themes
from apps.content.models import Asset, AssetVersion, FileContent, Theme
from apps.core.jobs import queue as jobs
from apps.core.jobs.models import Job
from apps.core.media.storage import ContentFileStorage, StorageFailed, get_content_storage
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from backoffice.configuration.storages import get_storage_settings
from tests.content.test_script_tags import make_tag
from tests.support import factories
from tests.support.api_client import ApiClient, Response
from tests.support.factories.content import LAYOUT, SMALL_THEME, create_zip
from tests.support.panel.client import Panel
from tests.support.servers.files import FileServer

# The S3 client library calls a deprecated function.
pytestmark = [pytest.mark.django_db, pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning")]


def test_themes_live_in_a_bucket_from_upload_to_clearing(bucket: None) -> None:
    shop = factories.make_shop(domain="bucket.example")
    with shop_scope(shop):
        upload = blob_store.store_blob(create_zip(SMALL_THEME))
        theme = themes.create_theme(name="Cloud", upload=upload, actor="staff:1", at=timezone.now())
        job = Job.objects.get(task=themes.EXTRACT_TASK)

    jobs.run_job(job.key)

    with shop_scope(shop):
        theme = Theme.objects.get(pk=theme.pk)
        logo = Asset.objects.select_related("content").get(theme=theme, key="assets/logo.png").content
        assert (theme.previewable, theme.failure) == (True, "")
        assert blob_store.read_blob(logo) == SMALL_THEME["assets/logo.png"]
        with theme_extraction.create_theme_archive(theme) as file:
            assert file.read(2) == b"PK"
    served = Client().get(f"/storefront/bucket.example/themes/{theme.pk}/assets/logo.png")
    assert served.content == SMALL_THEME["assets/logo.png"]

    with shop_scope(shop):
        themes.delete_theme(theme, actor="staff:1", at=timezone.now())
    with all_shops_scope():
        blob_store.delete_unused_blobs(timezone.now() + blob_store.GRACE_PERIOD + timedelta(minutes=1))
    with pytest.raises(FileNotFoundError):
        get_content_storage().open(logo.name)


@pytest.mark.parametrize(
    "url", ["ftp://bucket", "s3://", "s3://key:secret@bucket?unknown=1", "s3:bucket", "https://bucket.example"]
)
def test_a_storage_url_that_is_none_stops_the_start(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="STORAGE_URL"):
        get_storage_settings(url, Path("/nowhere"))


def test_the_machines_own_credentials_serve_where_the_url_has_none() -> None:
    options = get_storage_settings("s3://bucket", Path("/nowhere"))["contents"]["OPTIONS"]

    assert isinstance(options, dict)
    assert options["bucket_name"] == "bucket"
    assert not {"access_key", "secret_key"} & options.keys()


STYLE = b"a { color: red }"
KEY = "assets/colours.css"


@pytest.fixture
def theme(shop: Shop) -> Theme:
    """Return the published theme after deleting one of its files from the storage."""
    with shop_scope(shop):
        main, content = Theme.objects.get(role="main"), blob_store.store_blob(STYLE)
        assets.save_asset(main, KEY, content, actor="system", at=timezone.now())
    get_content_storage().delete(content.name)
    return main


def get_asset(api: ApiClient, theme: Theme) -> Response:
    return api.get(f"themes/{theme.pk}/assets.json", **{"asset[key]": KEY})


def put_asset(api: ApiClient, theme: Theme, **asset: str) -> Response:
    return api.put(f"themes/{theme.pk}/assets.json", {"asset": {"key": KEY, **asset}})


def test_a_lost_file_is_a_clean_refusal_that_the_log_explains(
    api: ApiClient, shop: Shop, theme: Theme, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "apps.core.media.storage"):
        single = get_asset(api, theme)
        copied = put_asset(api, theme, key="assets/copy.css", source_key=KEY)
        public = Client().get(f"/storefront/{shop.domain}/themes/{theme.pk}/{KEY}")
    response = api.get(f"themes/{theme.pk}/assets.json")

    assert single.json() == {"errors": {"base": ["The file could not be read: No such file or directory"]}}
    assert float(single["Retry-After"]) > 0
    assert [answer.status_code for answer in (single, copied, public, response)] == [503, 503, 503, 200]
    notes = [record.getMessage() for record in caplog.records if record.name == "apps.core.media.storage"]
    assert len(notes) == 3
    assert all(f"File shops/{shop.pk}/content/" in note and "could not be read" in note for note in notes)


def test_uploading_the_same_bytes_repairs_every_theme(api: ApiClient, shop: Shop, theme: Theme) -> None:
    with shop_scope(shop):
        copy = themes.duplicate_theme(theme, actor="system", at=timezone.now())
    assert get_asset(api, copy).status_code == 503

    assert put_asset(api, theme, value=STYLE.decode()).status_code == 200
    assert get_asset(api, copy).json()["asset"]["value"] == STYLE.decode()


def test_a_full_disk_refuses_the_upload_and_changes_nothing(
    api: ApiClient, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ContentFileStorage, "_save", Mock(side_effect=OSError(28, "No space left on device")))
    with shop_scope(shop):
        main = Theme.objects.get(role="main")

    refused = put_asset(api, main, value="new")

    errors = {"base": ["The file could not be stored: No space left on device"]}
    assert (refused.status_code, refused.json()) == (503, {"errors": errors})
    with shop_scope(shop):
        assert not Asset.objects.filter(key=KEY).exists()
        assert not FileContent.objects.filter(stored=False).exclude(pk__in=blob_store.get_unreferenced_blobs()).exists()


def test_the_panel_says_that_a_file_is_lost_and_takes_another(shop: Shop, theme: Theme) -> None:
    panel = Panel(factories.make_member(shop, "themes"), shop)
    page = panel.get("content_theme_code", theme.pk, key=KEY)
    searched = panel.get("content_theme_code", theme.pk, q="charset")
    downloaded = panel.get("content_theme_download", theme.pk)
    md5 = page.context["asset"].content.md5

    saved = panel.post("content_theme_code", theme.pk, key=KEY, expected=md5, text="b { color: blue }")

    answers = (page, searched, downloaded, saved)
    assert [response.status_code for response in answers] == [200, 200, 302, 302]
    assert b"The content of this file is missing from storage" in page.content
    assert [hit.key for hit in searched.context["hits"]] == [LAYOUT]
    assert panel.get("content_theme_code", theme.pk, key=KEY).context["text"] == "b { color: blue }"
    with shop_scope(shop):
        version = AssetVersion.objects.get(theme=theme, key=KEY)
    compared = panel.get("content_theme_version", theme.pk, version.pk)
    restored = panel.post("content_theme_version", theme.pk, version.pk)
    assert (compared.status_code, restored.status_code) == (200, 302)
    assert panel.get("content_theme_code", theme.pk, key=KEY).context["text"] == "b { color: blue }"


def test_a_lost_upload_is_retried_and_finally_fails_the_theme(shop: Shop) -> None:
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
        assert script_tags.get_cached_script(tag, at=now) == b"hello()"
        assert tag.copy.content is not None
        get_content_storage().delete(tag.copy.content.name)
        with pytest.raises(script_tags.ScriptUnavailable):
            script_tags.get_cached_script(tag, at=now + timedelta(minutes=1))
        assert script_tags.get_cached_script(tag, at=now + timedelta(minutes=1)) == b"hello()"


def test_the_check_lists_what_is_lost_or_damaged_and_who_uses_it(shop: Shop, theme: Theme) -> None:
    with shop_scope(shop):
        layout = Asset.objects.select_related("content").get(theme=theme, key=LAYOUT)
    Path(get_content_storage().path(layout.content.name)).write_bytes(b"<html>other</html>")
    errors = StringIO()

    with pytest.raises(CommandError, match=r"^2 files are missing or damaged\.$"):
        call_command("check_blobs", stderr=errors)
    with shop_scope(shop):
        blob_store.store_blobs([STYLE, (theme_extraction.STARTER / LAYOUT).read_bytes()])
    output = StringIO()
    call_command("check_blobs", stdout=output)

    assert [text for text in (f"({KEY})", f"({LAYOUT})", shop.domain) if text not in errors.getvalue()] == []
    assert output.getvalue() == "All files are present and undamaged.\n"


def test_a_bucket_that_lost_a_file_is_no_other_than_a_folder(shop: Shop, bucket: None) -> None:
    with shop_scope(shop):
        content = blob_store.store_blob(STYLE)
        get_content_storage().delete(content.name)

        with pytest.raises(StorageFailed):
            blob_store.read_blob(content)
        assert not blob_store.is_blob_intact(content)
        assert blob_store.read_blob(blob_store.store_blob(STYLE)) == STYLE
