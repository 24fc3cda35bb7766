"""Tests for the command that removes the metadata of stored images."""

from io import StringIO

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.utils import timezone

from apps.catalog.domain.image_files import get_image_path
from apps.catalog.models import Collection, ProductImage
from apps.content.domain import article_images, articles, blob_store
from apps.content.models import Article
from apps.events.models import Event
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from tests.catalog.factories import make_custom, make_product
from tests.content.factories import make_blog
from tests.media.test_metadata import SECRET, make_jpeg_with_metadata, make_png_with_metadata

pytestmark = pytest.mark.django_db
KEY, OTHER = "a" * 32, "b" * 32


def run_command() -> str:
    out = StringIO()
    call_command("strip_image_metadata", stdout=out)
    return out.getvalue()


def read_stored(shop: Shop, key: str, name: str) -> bytes:
    with default_storage.open(get_image_path(shop.pk, key, name)) as file:
        data: bytes = file.read()
    return data


def test_pictures_of_products_collections_and_articles_are_cleaned_once(shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product()
        default_storage.save(get_image_path(shop.pk, KEY, "a.jpg"), ContentFile(make_jpeg_with_metadata(6)))
        row = {"product": product, "position": 1, "key": KEY, "name": "a.jpg", "width": 1, "height": 1}
        image = ProductImage.objects.create(shop=shop, created_at=timezone.now(), **row)
        custom = make_custom()
        default_storage.save(get_image_path(shop.pk, OTHER, "b.png"), ContentFile(make_png_with_metadata()))
        Collection.objects.filter(pk=custom.pk).update(image_key=OTHER, image_name="b.png")
        old = article_images.ArticleImage(blob_store.store_blob(make_jpeg_with_metadata()), "c.jpg", 64, 32)
        article = articles.create_article(make_blog().pk, {"title": "x"}, image=old, actor="a", at=timezone.now())
        events = Event.objects.count()

    assert "1 product images, 1 collection images, 1 article images" in run_command()
    assert "0 product images, 0 collection images, 0 article images" in run_command()

    with shop_scope(shop):
        image.refresh_from_db()
        custom = Collection.objects.get(pk=custom.pk)
        content = Article.objects.select_related("image").get(pk=article.pk).image
        assert content is not None
        now = [
            read_stored(shop, image.key, "a.jpg"),
            read_stored(shop, custom.image_key, "b.png"),
            blob_store.read_blob(content),
        ]
        assert not any(SECRET in data for data in now)
        assert (image.width, image.height) == (32, 64)
        assert Event.objects.count() == events + 3
    assert not default_storage.exists(get_image_path(shop.pk, KEY, "a.jpg"))
    assert not default_storage.exists(get_image_path(shop.pk, OTHER, "b.png"))
