"""Factories for content rows in the current shop."""

from django.utils import timezone

from apps.content.domain import articles, assets, blob_store, blogs, store_files, themes
from apps.content.models import Article, AssetVersion, Blog, StoreFile, Theme
from tests.media.images import make_plain_image


def make_blog() -> Blog:
    """Create a blog without articles."""
    return blogs.create_blog({"title": "News"}, actor="system", at=timezone.now())


def make_article() -> Article:
    """Create an article in a new blog."""
    return articles.create_article(make_blog().pk, {"title": "Hello"}, actor="system", at=timezone.now())


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


def make_store_file(name: str = "hat.png", color: str = "red") -> StoreFile:
    """Create an image for use in rich text, in the current shop."""
    return store_files.save_store_file(
        make_plain_image("PNG", (4, 3), color=color), name, actor="system", at=timezone.now()
    )
