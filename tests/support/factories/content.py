"""Factories for content rows in the current shop."""

import io
import zipfile
from collections.abc import Mapping

from django.utils import timezone

from apps.content.domain import (
    articles,
    assets,
    blob_store,
    blogs,
    comments,
    store_files,
    themes,
)
from apps.content.domain.online_store import pages, policies, redirects
from apps.content.models import Article, AssetVersion, Blog, Comment, Page, Policy, Redirect, StoreFile, Theme
from tests.support.api_client import ApiClient
from tests.support.files.images import make_plain_image
from tests.support.types import JsonObject

LAYOUT = "layout/theme.liquid"
SMALL_THEME: dict[str, bytes | str] = {
    LAYOUT: "<html>{{ content_for_layout }}</html>",
    "templates/index.liquid": "<h1>Hello</h1>",
    "assets/logo.png": bytes(range(256)),
    "config/settings_data.json": "{}",
}


def make_blog(**attrs: object) -> Blog:
    return blogs.create_blog({"title": "News", **attrs}, actor="system", at=timezone.now())


def make_article(**blog_attrs: object) -> Article:
    blog = make_blog(**blog_attrs)
    return articles.create_article(blog.pk, {"title": "Hello"}, actor="system", at=timezone.now())


def make_comment(article: Article | None = None, **attrs: object) -> Comment:
    article = article or make_article()
    values = {"author": "Ada Lovelace", "email": "ada@example.com", "body": "Lovely.", "ip": "203.0.113.7"}
    return comments.create_comment({"article_id": article.pk, **values, **attrs}, actor="system", at=timezone.now())


def make_page(**attrs: object) -> Page:
    return pages.create_page({"title": "About", **attrs}, actor="system", at=timezone.now())


def make_redirect(path: str = "", target: str = "/new") -> Redirect:
    path = path or f"/old-{Redirect.objects.count()}"
    return redirects.create_redirect(path=path, target=target, actor="system", at=timezone.now())


def make_policy(handle: str = "refund-policy") -> Policy:
    return policies.create_policy(handle=handle, body="<p>Within 30 days.</p>", actor="system", at=timezone.now())


def make_rewritten() -> tuple[int, int]:
    """Create an article, change its text, and return the ids of the article and of the earlier text version."""
    article = make_article()
    articles.update_article(article, {"body_html": "<p>Again</p>"}, actor="system", at=timezone.now())
    return article.pk, article.text_versions.get().pk


def make_draft() -> tuple[Theme, AssetVersion]:
    """Create an unpublished theme with one changed file, and return the theme and the file's earlier version."""
    draft = themes.duplicate_theme(Theme.objects.get(role=Theme.Role.MAIN), actor="system", at=timezone.now())
    for value in (b"a { color: red }", b"a { color: blue }"):
        assets.save_asset(draft, "assets/colours.css", blob_store.store_blob(value), actor="system", at=timezone.now())
    return draft, AssetVersion.objects.get(theme=draft)


def make_store_file(name: str = "hat.png") -> StoreFile:
    image = make_plain_image("PNG", (4, 3), color="red")
    return store_files.save_store_file(image, name, actor="system", at=timezone.now())


def create_zip(files: Mapping[str, bytes | str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def get_main_theme(api: ApiClient) -> JsonObject:
    return api.get("themes.json", role="main").json()["themes"][0]


def post_theme(api: ApiClient, **fields: object) -> JsonObject:
    response = api.post("themes.json", {"theme": {"name": "Dawn", **fields}})
    assert response.status_code == 201, response.content
    return response.json()["theme"]


def get_theme(api: ApiClient, theme: JsonObject) -> JsonObject:
    return api.get(f"themes/{theme['id']}.json").json()["theme"]
