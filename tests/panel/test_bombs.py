"""ZIP and image bombs that staff upload in the panel: a clear refusal, and nothing is stored."""

import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.catalog.models import Collection, ProductImage
from apps.content.domain import blob_store
from apps.content.models import Article, Asset, StoreFile, Theme
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from tests.support.api_client import Response
from tests.support.factories.catalog import make_product
from tests.support.factories.content import SMALL_THEME, create_zip, make_blog
from tests.support.files.images import make_blank_png
from tests.support.panel.client import Panel
from tests.support.panel.pages import NO_METAFIELDS

pytestmark = pytest.mark.usefixtures("in_shop", "media_root")

# 144 megapixels in some kilobytes.
BOMB = make_blank_png(12_000, 12_000)
MIB = 1024 * 1024
Upload = Callable[[Panel, SimpleUploadedFile], Response]


def add_article(panel: Panel, picture: SimpleUploadedFile) -> Response:
    blog = make_blog()
    values = {"title": "Hello", "blog": blog.pk, "handle": "", "body_html": "", "tags": "", "visibility": "visible"}
    return panel.forge("content_article_add", picture=picture, **values)


def add_collection(panel: Panel, picture: SimpleUploadedFile) -> Response:
    values = {
        "title": "Kitchen",
        "body_html": "",
        "sort_order": "manual",
        "visibility": "visible",
        "published_scope": "web",
    }
    return panel.forge("catalog_customcollection_add", picture=picture, **values, **NO_METAFIELDS)


UPLOADS: dict[str, Upload] = {
    "store file": lambda panel, file: panel.forge("content_storefile_add", file=file),
    "visual editor": lambda panel, file: panel.post("content_storefile_pick", file=file),
    "new product": lambda panel, file: panel.post("catalog_product_upload", file=file),
    "product": lambda panel, file: panel.post("catalog_product_images", make_product().pk, files=file),
    "article": add_article,
    "collection": add_collection,
}


def get_files() -> set[Path]:
    return {path for path in Path(default_storage.path("")).rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", UPLOADS)
def test_an_image_bomb_is_refused(owner_client: Panel, name: str) -> None:
    assert len(BOMB) < 100_000
    before = get_files()

    response = UPLOADS[name](owner_client, SimpleUploadedFile("a.png", BOMB, "image/png"))
    page = owner_client.open(response["Location"]) if response.status_code == 302 else response

    assert page.status_code in {200, 422}
    assert "25 megapixels" in page.content.decode()
    assert get_files() == before
    assert not StoreFile.objects.exists()
    assert not ProductImage.objects.exists()
    assert not Article.objects.exclude(image=None).exists()
    assert not Collection.objects.exclude(image_key="").exists()


ZIP_BOMBS: dict[str, Callable[[], bytes]] = {
    "large in sum": lambda: create_zip({f"assets/{number}.bin": bytes(20 * MIB - 1) for number in range(13)}),
    "large file": lambda: create_zip({**SMALL_THEME, "assets/a.bin": bytes(40 * MIB)}),
    "many files": lambda: create_zip({f"assets/{number}.txt": b"" for number in range(10_001)}),
    "nested": lambda: create_zip({"assets/inner.zip": create_zip({"layout/theme.liquid": bytes(20 * MIB)})}),
}


@pytest.mark.parametrize("name", ZIP_BOMBS)
def test_a_zip_bomb_becomes_no_theme(owner_client: Panel, name: str) -> None:
    data = ZIP_BOMBS[name]()
    with zipfile.ZipFile(BytesIO(data)) as archive:
        assert name == "nested" or len(archive.infolist()) > 10_000 or len(data) < MIB
    archive_file = SimpleUploadedFile("theme.zip", data, "application/zip")

    response = owner_client.forge("content_theme_add", name="Bomb", role="unpublished", archive=archive_file)
    for job in Job.objects.filter(state="waiting"):
        queue.run_job(job.key)

    assert response.status_code in {200, 302}
    page = owner_client.get("content_theme_changelist")
    assert page.status_code == 200
    theme = Theme.objects.filter(name="Bomb").first()
    if theme is not None:
        theme.refresh_from_db()
        assert not theme.previewable
        assert theme.failure
        assert not Asset.objects.filter(theme=theme).exists()
        assert owner_client.get("content_theme_change", theme.pk).status_code == 200
    assert Theme.objects.filter(role="main").count() == 1
    unreferenced = blob_store.get_unreferenced_blobs()
    assert all(content.size < 2 * MIB for content in unreferenced)
