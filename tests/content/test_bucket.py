"""Tests for file contents in an S3-compatible bucket."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.utils import timezone

from apps.content.domain import blob_store, theme_extraction, themes
from apps.content.models import Asset, Theme
from apps.ground.tenancy import all_shops_scope, shop_scope
from apps.jobs.domain import queue as jobs
from apps.jobs.models import Job
from apps.media.storage import get_content_storage
from backoffice.storages import get_storage_settings
from tests import factories
from tests.content.conftest import SMALL_THEME, create_zip

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
