"""Tests that the public client can change blogs, articles, themes and assets."""

import base64
import time
from collections.abc import Iterator
from urllib.request import urlopen

import pytest
import shopify
from pyactiveresource.connection import ResourceInvalid, ResourceNotFound

from tests.support.factories.content import SMALL_THEME, create_zip
from tests.support.files.images import make_plain_image
from tests.support.servers.files import FileServer
from tests.support.servers.live import Connect

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


BYTES = bytes(range(256)) * 300
WAIT_SECONDS = 120


@pytest.fixture
def origin() -> Iterator[FileServer]:
    """Yield a file server that acts as a third-party web server."""
    new_origin = FileServer()
    yield new_origin
    new_origin.close()


def get_main_theme() -> shopify.Theme:
    (theme,) = shopify.Theme.find(role="main")
    return theme


def wait_until_processed(theme: shopify.Theme) -> shopify.Theme:
    """Wait until a worker has processed the theme, and return the theme."""
    until = time.monotonic() + WAIT_SECONDS
    while (matching_theme := shopify.Theme.find(theme.id)).processing:
        assert time.monotonic() < until, "no worker took the theme"
        time.sleep(0.2)
    return matching_theme


def build_asset(theme: shopify.Theme, key: str, **values: str) -> shopify.Asset:
    return shopify.Asset({"theme_id": theme.id, "key": key, **values})


def get_content(theme: shopify.Theme, key: str) -> bytes:
    return base64.b64decode(shopify.Asset.find(key, theme_id=theme.id).attachment)


def test_a_theme_comes_from_an_archive_elsewhere(api_client_factory: Connect, worker: None, origin: FileServer) -> None:
    api_client_factory()
    before = get_main_theme()

    theme = shopify.Theme.create(
        {"name": "Dawn", "role": "main", "src": origin.offer("/dawn.zip", create_zip(SMALL_THEME))}
    )
    finished_theme = wait_until_processed(theme)

    assert theme.errors.full_messages() == []
    assert (finished_theme.previewable, finished_theme.role) == (True, "main")
    assert shopify.Theme.find(before.id).role == "unpublished"
    assert sorted(asset.key for asset in shopify.Asset.find(theme_id=theme.id)) == sorted(SMALL_THEME)
    assert get_content(finished_theme, "assets/logo.png") == SMALL_THEME["assets/logo.png"]
    assert shopify.Asset.find("templates/index.liquid", theme_id=theme.id).value == "<h1>Hello</h1>"


def test_an_invalid_archive_changes_no_theme(api_client_factory: Connect, worker: None, origin: FileServer) -> None:
    api_client_factory()
    before = get_main_theme()

    theme = shopify.Theme.create({"name": "Dusk", "role": "main", "src": origin.offer("/dusk.zip", b"<html></html>")})
    finished_theme = wait_until_processed(theme)

    assert (finished_theme.previewable, finished_theme.role) == (False, "unpublished")
    assert get_main_theme().id == before.id


def test_themes_are_renamed_published_and_deleted(api_client_factory: Connect, worker: None) -> None:
    api_client_factory()
    before = get_main_theme()

    new_theme = wait_until_processed(shopify.Theme.create({"name": "Dawn"}))
    new_theme.name = "Noon"
    new_theme.role = "main"
    published = new_theme.save()
    roles = {theme.name: theme.role for theme in shopify.Theme.find()}
    shopify.Theme.find(before.id).destroy()

    assert published, new_theme.errors.full_messages()
    assert roles == {"Noon": "main", before.name: "unpublished"}
    assert [theme.name for theme in shopify.Theme.find()] == ["Noon"]
    with pytest.raises(ResourceInvalid):
        new_theme.destroy()


def test_text_assets_are_put_found_changed_and_deleted(api_client_factory: Connect) -> None:
    api_client_factory()
    theme = get_main_theme()

    asset = build_asset(theme, "assets/extra.css", value="a { color: red }\r\n/* é */")
    saved = asset.save()
    matching_asset = shopify.Asset.find("assets/extra.css", theme_id=theme.id)
    before = matching_asset.value
    matching_asset.value = "a { color: blue }"
    saved_again = matching_asset.save()
    after = shopify.Asset.find("assets/extra.css", theme_id=theme.id)

    assert saved, asset.errors.full_messages()
    assert saved_again, matching_asset.errors.full_messages()
    assert (before, after.value) == ("a { color: red }\r\n/* é */", "a { color: blue }")
    assert (after.content_type, after.size) == ("text/css", 17)
    with urlopen(after.public_url) as response:
        assert response.read() == b"a { color: blue }"

    after.destroy()

    with pytest.raises(ResourceNotFound):
        shopify.Asset.find("assets/extra.css", theme_id=theme.id)


@pytest.mark.parametrize("data", [BYTES, PNG, b"\x00", "plain text é".encode()], ids=["all", "png", "nul", "text"])
def test_binary_assets_come_back_byte_for_byte(api_client_factory: Connect, data: bytes) -> None:
    api_client_factory()
    theme = get_main_theme()

    asset = build_asset(theme, "assets/thing.bin")
    asset.attach(data)
    saved = asset.save()
    matching_asset = shopify.Asset.find("assets/thing.bin", theme_id=theme.id)
    with urlopen(matching_asset.public_url) as response:
        served = response.read()

    assert saved, asset.errors.full_messages()
    assert get_content(theme, "assets/thing.bin") == data
    assert matching_asset.size == len(data)
    assert served == data


def test_a_binary_asset_saved_whole_stays_what_it_is(api_client_factory: Connect) -> None:
    api_client_factory()
    theme = get_main_theme()
    asset = build_asset(theme, "assets/logo.png")
    asset.attach(PNG)
    asset.save()

    matching_asset = shopify.Asset.find("assets/logo.png", theme_id=theme.id)
    saved = matching_asset.save()

    assert saved, matching_asset.errors.full_messages()
    assert get_content(theme, "assets/logo.png") == PNG


def test_assets_are_copied_from_a_key_and_from_elsewhere(api_client_factory: Connect, origin: FileServer) -> None:
    api_client_factory()
    theme = get_main_theme()
    build_asset(theme, "assets/one.css", value="a { color: red }").save()

    copied = build_asset(theme, "assets/two.css", source_key="assets/one.css").save()
    fetched = build_asset(theme, "assets/three.png", src=origin.offer("/logo.png", PNG)).save()

    assert copied
    assert shopify.Asset.find("assets/two.css", theme_id=theme.id).value == "a { color: red }"
    assert fetched
    assert get_content(theme, "assets/three.png") == PNG
