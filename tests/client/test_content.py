import base64
from collections.abc import Iterator
from urllib.request import urlopen

import pytest
import shopify
from pyactiveresource.connection import ResourceInvalid, ResourceNotFound

from tests.client.resources import change, create, save
from tests.support.factories.content import SMALL_THEME, create_zip
from tests.support.files.images import make_plain_image
from tests.support.servers.files import FileServer
from tests.support.timing import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client"), pytest.mark.usefixtures("all_scopes")]

PNG = make_plain_image("PNG", (40, 20))
SNOW = {
    "title": "First snow",
    "author": "Kim",
    "tags": "winter, walks",
    "body_html": "<p>It snowed.</p>",
    "summary_html": "Snow",
    "published_at": "2026-03-01T10:00:00Z",
    "image": {"attachment": base64.b64encode(PNG).decode(), "alt": "Snow"},
}


def download(url: str) -> bytes:
    with urlopen(url) as response:
        return response.read()


def test_blogs_are_made_found_changed_counted_and_deleted() -> None:
    blog = change(create(shopify.Blog, title="Field notes"), commentable="moderate")

    assert (blog.title, blog.handle, blog.commentable) == ("Field notes", "field-notes", "moderate")
    assert shopify.Blog.count() == len(shopify.Blog.find())

    blog.destroy()

    with pytest.raises(ResourceNotFound):
        shopify.Blog.find(blog.id)


def test_articles_are_made_found_saved_whole_with_their_picture_and_deleted() -> None:
    blog = create(shopify.Blog, title="Field notes")

    article = create(shopify.Article, **SNOW, blog_id=blog.id)
    changed = change(article, title="Second snow", published=False)
    (listed,) = blog.articles()

    assert article.published_at == "2026-03-01T11:00:00+01:00"
    assert (listed.title, listed.attributes["tags"], listed.author, listed.published_at) == (
        "Second snow",
        "walks, winter",
        "Kim",
        None,
    )
    assert (changed.image.alt, changed.image.width, download(changed.image.src)) == ("Snow", 40, PNG)
    assert shopify.Article.count(blog_id=blog.id) == 1
    assert [row.id for row in shopify.Article.find(blog_id=blog.id, tag="walks")] == [article.id]
    assert shopify.Article.find(blog_id=blog.id, tag="summer") == []

    changed.destroy()

    assert blog.articles() == []


def test_authors_and_tags_are_those_of_the_articles() -> None:
    notes, news = create(shopify.Blog, title="Field notes"), create(shopify.Blog, title="Other")
    create(shopify.Article, **SNOW, blog_id=notes.id)
    create(shopify.Article, title="Thaw", author="Lee", tags="spring, walks", blog_id=news.id)

    assert sorted(shopify.Article.authors()) == ["Kim", "Lee"]
    assert sorted(shopify.Article.tags()) == ["spring", "walks", "winter"]
    assert shopify.Article.tags(popular=1, limit=1) == ["walks"]
    assert sorted(shopify.Article.tags(blog_id=news.id)) == ["spring", "walks"]


BYTES = bytes(range(256)) * 300


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
    return wait_until(lambda: shopify.Theme.find(theme.id), lambda row: not row.processing, seconds=120)


def put_asset(theme: shopify.Theme, key: str, data: bytes | None = None, **values: str) -> None:
    asset = shopify.Asset({"theme_id": theme.id, "key": key, **values})
    if data is not None:
        asset.attach(data)
    save(asset)


def get_content(theme: shopify.Theme, key: str) -> bytes:
    return base64.b64decode(shopify.Asset.find(key, theme_id=theme.id).attachment)


def test_a_theme_comes_from_an_archive_elsewhere(worker: None, origin: FileServer) -> None:
    before = get_main_theme()

    theme = create(shopify.Theme, name="Dawn", role="main", src=origin.offer("/dawn.zip", create_zip(SMALL_THEME)))
    finished_theme = wait_until_processed(theme)

    assert (finished_theme.previewable, finished_theme.role) == (True, "main")
    assert shopify.Theme.find(before.id).role == "unpublished"
    assert sorted(asset.key for asset in shopify.Asset.find(theme_id=theme.id)) == sorted(SMALL_THEME)
    assert get_content(finished_theme, "assets/logo.png") == SMALL_THEME["assets/logo.png"]
    assert shopify.Asset.find("templates/index.liquid", theme_id=theme.id).value == "<h1>Hello</h1>"


def test_an_invalid_archive_changes_no_theme(worker: None, origin: FileServer) -> None:
    before = get_main_theme()

    theme = create(shopify.Theme, name="Dusk", role="main", src=origin.offer("/dusk.zip", b"<html></html>"))
    finished_theme = wait_until_processed(theme)

    assert (finished_theme.previewable, finished_theme.role) == (False, "unpublished")
    assert get_main_theme().id == before.id


def test_themes_are_renamed_published_and_deleted(worker: None) -> None:
    before = get_main_theme()

    theme = wait_until_processed(create(shopify.Theme, name="Dawn"))
    theme = change(theme, name="Noon", role="main")
    roles = {row.name: row.role for row in shopify.Theme.find()}
    shopify.Theme.find(before.id).destroy()

    assert roles == {"Noon": "main", before.name: "unpublished"}
    assert [row.name for row in shopify.Theme.find()] == ["Noon"]
    with pytest.raises(ResourceInvalid):
        theme.destroy()


def test_text_assets_are_put_found_changed_and_deleted() -> None:
    theme = get_main_theme()
    text = "a { color: red }\r\n/* é */"

    put_asset(theme, "assets/extra.css", value=text)
    asset = shopify.Asset.find("assets/extra.css", theme_id=theme.id)
    assert asset.value == text
    asset.value = "a { color: blue }"
    save(asset)
    after = shopify.Asset.find("assets/extra.css", theme_id=theme.id)

    assert (after.value, after.content_type, after.size) == ("a { color: blue }", "text/css", 17)
    assert download(after.public_url) == b"a { color: blue }"

    after.destroy()

    with pytest.raises(ResourceNotFound):
        shopify.Asset.find("assets/extra.css", theme_id=theme.id)


@pytest.mark.parametrize("data", [BYTES, PNG, b"\x00", "plain text é".encode()], ids=["all", "png", "nul", "text"])
def test_binary_assets_come_back_byte_for_byte_and_saved_whole(data: bytes) -> None:
    theme = get_main_theme()

    put_asset(theme, "assets/thing.bin", data)
    asset = shopify.Asset.find("assets/thing.bin", theme_id=theme.id)
    save(asset)

    assert get_content(theme, "assets/thing.bin") == download(asset.public_url) == data
    assert asset.size == len(data)


def test_assets_are_copied_from_a_key_and_from_elsewhere(origin: FileServer) -> None:
    theme = get_main_theme()

    put_asset(theme, "assets/one.css", value="a { color: red }")
    put_asset(theme, "assets/two.css", source_key="assets/one.css")
    put_asset(theme, "assets/three.png", src=origin.offer("/logo.png", PNG))

    assert shopify.Asset.find("assets/two.css", theme_id=theme.id).value == "a { color: red }"
    assert get_content(theme, "assets/three.png") == PNG
