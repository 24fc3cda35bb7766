import base64
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage, storages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from PIL import Image

from apps.catalog.models import Collection, Product, ProductImage
from apps.content.models import Article, FileContent
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.factories.catalog import make_custom, make_product
from tests.support.factories.content import make_article
from tests.support.files.images import encode_image
from tests.support.panel.client import Panel
from tests.support.subtests import Subtests

# A picture of random pixels, which can hardly be compressed.
LARGE = encode_image(Image.frombytes("RGB", (200, 200), Random(1).randbytes(120_000)), "PNG")
REFUSAL = {"errors": {"base": ["The file could not be stored: No space left on device"]}}


@contextmanager
def simulate_full_disk() -> Iterator[None]:
    """Raise "No space left on device" after half of each file is written."""
    original_chunks = ContentFile.chunks

    def half(self: ContentFile[bytes], chunk_size: int | None = None) -> Iterator[bytes]:
        data = b"".join(original_chunks(self, chunk_size))
        yield data[: len(data) // 2]
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ContentFile, "chunks", half)
        yield


def get_files() -> set[Path]:
    return {path for path in Path(default_storage.path("")).rglob("*") if path.is_file()}


def test_a_picture_that_does_not_fit_is_refused_and_leaves_nothing(api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        product, custom, article = make_product(), make_custom(), make_article()
        events = Event.objects.count()
    image = {"attachment": base64.b64encode(LARGE).decode(), "filename": "a.png"}
    before = get_files()
    requests = {
        f"products/{product.pk}/images.json": ("post", {"image": image}),
        "products.json": ("post", {"product": {"title": "x", "images": [image]}}),
        f"products/{product.pk}.json": ("put", {"product": {"images": [image]}}),
        "custom_collections.json": ("post", {"custom_collection": {"title": "x", "image": image}}),
        f"custom_collections/{custom.pk}.json": ("put", {"custom_collection": {"image": image}}),
        f"blogs/{article.blog_id}/articles.json": ("post", {"article": {"title": "x", "image": image}}),
        f"blogs/{article.blog_id}/articles/{article.pk}.json": ("put", {"article": {"image": image}}),
    }
    with Subtests() as subtest:
        for path, (method, body) in requests.items():
            with subtest(method, path):
                with simulate_full_disk():
                    response = getattr(api, method)(path, body)
                assert (response.status_code, response.json()) == (503, REFUSAL)
                assert float(response["Retry-After"]) > 0
                assert get_files() == before

    with shop_scope(shop):
        assert (Product.objects.count(), ProductImage.objects.count()) == (1, 0)
        assert not Collection.objects.exclude(image_key="").exists()
        assert not Article.objects.exclude(image=None).exists()
        assert Event.objects.count() == events
        assert not FileContent.objects.filter(size=len(LARGE), stored=True).exists()
    assert api.post(f"products/{product.pk}/images.json", {"image": image}).status_code == 201


def test_the_panel_says_that_a_picture_does_not_fit(shop: Shop) -> None:
    panel = Panel(factories.make_member(shop, "products", "pages"), shop)
    with shop_scope(shop):
        product = make_product()
    upload = SimpleUploadedFile("a.png", LARGE, "image/png")
    before = get_files()

    with simulate_full_disk():
        refused = panel.post("catalog_product_images", product.pk, files=upload)
    page = panel.get("catalog_product_images", product.pk)

    assert refused.status_code == 302
    assert "could not be stored" in page.content.decode()
    assert get_files() == before
    with shop_scope(shop):
        assert not ProductImage.objects.exists()


@pytest.mark.parametrize("storage", ["default", "contents"])
def test_a_write_that_ends_half_way_leaves_no_part_of_the_file(storage: str) -> None:
    before = get_files()

    with simulate_full_disk(), pytest.raises(OSError, match="No space left on device"):
        storages[storage].save("shops/0/whole/file", ContentFile(LARGE))

    assert get_files() == before


def test_an_upload_without_temporary_space_gets_an_error(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail in the upload handler, which writes large uploads to a temporary file before a form validates them."""

    def fail(handler: TemporaryFileUploadHandler, *_: object) -> None:
        handler.file.close()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    panel = Panel(factories.make_member(shop, "products"), shop)
    panel.http.raise_request_exception = False
    with shop_scope(shop):
        product = make_product()
    upload = SimpleUploadedFile("a.png", LARGE * 30, "image/png")
    monkeypatch.setattr(TemporaryFileUploadHandler, "receive_data_chunk", fail)

    refused = panel.post("catalog_product_images", product.pk, files=upload)

    assert refused.status_code == 503
    assert "There is not enough storage space for the file." in refused.content.decode()
    with shop_scope(shop):
        assert not ProductImage.objects.exists()
