"""Tests with the real client: blogs with their articles."""

import base64
from urllib.request import urlopen

import pytest
import shopify
from pyactiveresource.connection import ResourceNotFound

from tests.client.conftest import Connect
from tests.media.images import make_plain_image

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

PNG = make_plain_image("PNG", (40, 20))
SNOW = {
    "title": "First snow",
    "author": "Kim",
    "tags": "winter, walks",
    "body_html": "<p>It snowed.</p>",
    "summary_html": "Snow",
    "published_at": "2026-03-01T10:00:00Z",
}


def test_blogs_are_made_found_changed_counted_and_deleted(api_client_factory: Connect) -> None:
    api_client_factory()

    blog = shopify.Blog.create({"title": "Field notes"})
    matching_blog = shopify.Blog.find(blog.id)
    matching_blog.commentable = "moderate"
    saved = matching_blog.save()
    second_blog = shopify.Blog.find(blog.id)

    assert saved, matching_blog.errors.full_messages()
    assert (second_blog.title, second_blog.handle, second_blog.commentable) == (
        "Field notes",
        "field-notes",
        "moderate",
    )
    assert shopify.Blog.count() == len(shopify.Blog.find())

    second_blog.destroy()

    with pytest.raises(ResourceNotFound):
        shopify.Blog.find(blog.id)


def test_articles_are_made_found_saved_whole_and_deleted(api_client_factory: Connect) -> None:
    api_client_factory()
    blog = shopify.Blog.create({"title": "Field notes"})

    new_article = shopify.Article.create({**SNOW, "blog_id": blog.id})
    matching_article = shopify.Article.find(new_article.id, blog_id=blog.id)
    matching_article.title = "Second snow"
    matching_article.published = False
    saved = matching_article.save()
    (rows,) = blog.articles()

    assert new_article.errors.full_messages() == []
    assert new_article.published_at == "2026-03-01T11:00:00+01:00"
    assert saved, matching_article.errors.full_messages()
    assert (rows.title, rows.attributes["tags"], rows.author, rows.published_at) == (
        "Second snow",
        "walks, winter",
        "Kim",
        None,
    )
    assert shopify.Article.count(blog_id=blog.id) == 1
    assert [article.id for article in shopify.Article.find(blog_id=blog.id, tag="walks")] == [new_article.id]
    assert shopify.Article.find(blog_id=blog.id, tag="summer") == []

    matching_article.destroy()

    assert blog.articles() == []


def test_an_article_keeps_its_picture_when_it_is_saved_whole(api_client_factory: Connect) -> None:
    api_client_factory()
    blog = shopify.Blog.create({"title": "Field notes"})
    picture = {"attachment": base64.b64encode(PNG).decode(), "alt": "Snow"}

    article = shopify.Article.create({**SNOW, "blog_id": blog.id, "image": picture})
    matching_article = shopify.Article.find(article.id, blog_id=blog.id)
    matching_article.title = "Second snow"
    saved = matching_article.save()
    second_article = shopify.Article.find(article.id, blog_id=blog.id)
    with urlopen(second_article.image.src) as response:
        served = response.read()

    assert saved, matching_article.errors.full_messages()
    assert (second_article.title, second_article.image.alt, second_article.image.width) == ("Second snow", "Snow", 40)
    assert served == PNG


def test_articles_without_a_title_are_refused(api_client_factory: Connect) -> None:
    api_client_factory()
    blog = shopify.Blog.create({"title": "Field notes"})

    article = shopify.Article.create({"blog_id": blog.id, "title": "", "body_html": "Snow"})

    assert not article.id
    assert article.errors.on("title") == "can't be blank"


def test_authors_and_tags_are_those_of_the_articles(api_client_factory: Connect) -> None:
    api_client_factory()
    notes, news = shopify.Blog.create({"title": "Field notes"}), shopify.Blog.create({"title": "Other"})
    shopify.Article.create({**SNOW, "blog_id": notes.id})
    shopify.Article.create({"title": "Thaw", "author": "Lee", "tags": "spring, walks", "blog_id": news.id})

    assert sorted(shopify.Article.authors()) == ["Kim", "Lee"]
    assert sorted(shopify.Article.tags()) == ["spring", "walks", "winter"]
    assert shopify.Article.tags(popular=1, limit=1) == ["walks"]
    assert sorted(shopify.Article.tags(blog_id=news.id)) == ["spring", "walks"]


def test_blogs_and_articles_have_metafields(api_client_factory: Connect) -> None:
    api_client_factory()
    blog = shopify.Blog.create({"title": "Field notes"})
    row = {"namespace": "seo", "key": "robots", "type": "single_line_text_field", "value": "all"}

    new_article = shopify.Article.create({**SNOW, "blog_id": blog.id, "metafields": [row]})
    article = shopify.Article.find(new_article.id, blog_id=blog.id)
    blog.add_metafield(shopify.Metafield(row))
    article.add_metafield(shopify.Metafield({**row, "key": "priority"}))

    assert [field.key for field in blog.metafields()] == ["robots"]
    assert sorted(field.key for field in article.metafields()) == ["priority", "robots"]
    assert (blog.metafields_count(), article.metafields_count()) == (1, 2)
