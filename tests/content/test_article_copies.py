from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from apps.content.domain import articles, blob_store
from apps.content.domain.article_images import store_article_image
from apps.content.domain.articles import COPIED_FIELDS, IMAGE_FIELDS, ArticleCopy, duplicate_article
from apps.content.models import Article, ArticleTag, Blog
from apps.core.events.models import Event
from apps.core.exceptions import RowDeleted
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.metafields.domain.write import MetafieldInput
from apps.metafields.models import Metafield
from tests.support.factories.content import make_blog, make_comment
from tests.support.files.images import make_plain_image

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
BY: Attrs = {"actor": "staff:17", "at": NOON}
CARE = MetafieldInput("care", "wash", "single_line_text_field", "Cold")
UNIQUE = MetafieldInput("erp", "id", "id", "A-1")

pytestmark = pytest.mark.usefixtures("media_root")


@pytest.fixture
def article(in_shop: Shop) -> Article:
    attrs: Attrs = {
        "title": "Snow",
        "body_html": "<p>Snow</p>",
        "summary_html": "Cold",
        "author": "Desk",
        "tags": "a, B",
    }
    attrs |= {"template_suffix": "wide", "image_alt": "A field", "published_at": NOON}
    image = store_article_image(make_plain_image("PNG", (4, 3)), "snow.png")
    drafts = [CARE, UNIQUE]
    return articles.create_article(make_blog().pk, attrs, image=image, metafield_drafts=drafts, **BY)


def test_every_column_is_copied_or_has_its_own_value() -> None:
    names = {field.name for field in Article._meta.concrete_fields}

    assert names - {"id", "shop", "created_at", "updated_at", "version"} == {*COPIED_FIELDS} | IMAGE_FIELDS | {
        *("blog", "title", "handle", "user", "published_at")
    }


def test_a_copy_is_a_hidden_article_with_the_same_content(article: Article) -> None:
    make_comment(article)
    articles.update_article(article, {"body_html": "<p>More</p>"}, **BY)

    copy = duplicate_article(article, ArticleCopy("Copy of Snow"), **BY)

    copy.refresh_from_db()
    names = {*COPIED_FIELDS, "blog_id", "image_id", "image_name", "image_alt", "image_width", "image_height"}
    assert {name: getattr(copy, name) for name in names} == {name: getattr(article, name) for name in names}
    assert (copy.title, copy.handle, copy.published_at) == ("Copy of Snow", "copy-of-snow", None)
    assert list(ArticleTag.objects.filter(article=copy).order_by("key").values_list("name", flat=True)) == ["a", "B"]
    assert (copy.comments.count(), copy.text_versions.count()) == (0, 0)
    keys = Metafield.objects.filter(owner_resource="article", owner_id=copy.pk).values_list("key", flat=True)
    assert list(keys) == ["wash"]
    event = Event.objects.get(topic="articles/create", subject_id=copy.pk)
    assert (event.actor, str(event.message)) == ("staff:17", "Duplicated from Snow")


def test_a_copy_goes_to_another_blog_without_image_and_metafields(article: Article) -> None:
    other = make_blog(title="Press")

    copy = duplicate_article(article, ArticleCopy("Snow", other.pk, visible=True, image=False, metafields=False), **BY)

    assert (copy.blog_id, copy.handle, copy.published_at) == (other.pk, "snow", NOON)
    assert (copy.image, copy.image_name, copy.image_alt) == (None, "", None)
    assert not Metafield.objects.filter(owner_resource="article", owner_id=copy.pk).exists()
    assert Blog.objects.get(pk=other.pk).tags == "a, B"


def test_the_image_of_a_copy_outlives_the_original(article: Article) -> None:
    copy = duplicate_article(article, ArticleCopy("Copy"), **BY)
    content = copy.image
    assert content is not None

    with transaction.atomic():
        articles.delete_article(article, **BY)
    kept = blob_store.delete_unused_blobs(datetime.now(UTC) + timedelta(days=2))
    intact = blob_store.is_blob_intact(content)
    articles.delete_article(copy, **BY)

    assert (kept, intact) == (0, True)
    assert blob_store.delete_unused_blobs(datetime.now(UTC) + timedelta(days=2)) == 1


def test_a_deleted_article_or_blog_is_refused(article: Article) -> None:
    gone = make_blog(title="Press")
    Blog.objects.filter(pk=gone.pk).delete()

    with pytest.raises(RowDeleted):
        duplicate_article(article, ArticleCopy("Copy", gone.pk), **BY)
    Article.objects.all().delete()
    with pytest.raises(RowDeleted):
        duplicate_article(article, ArticleCopy("Copy"), **BY)
