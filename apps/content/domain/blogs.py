"""Making, changing and deleting blogs."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from apps.content.domain import articles
from apps.content.models import Article, ArticleTag, ArticleVersion, Blog
from apps.events.domain.changes import assign
from apps.events.domain.recording import record_event
from apps.ground.attrs import Attrs
from apps.ground.handles import free_handle, handle_of
from apps.ground.locks import locked, reread
from apps.ground.tenancy import current_shop
from apps.metafields.domain import setting as metafields
from apps.metafields.domain.setting import Draft
from apps.shops.domain.locks import lock_shop

# Their texts are up to half a megabyte each.
ARTICLES_AT_ONCE = 50


@transaction.atomic
def create_blog(attrs: Attrs, *, further: Sequence[Draft] = (), actor: str, at: datetime) -> Blog:
    """Open a blog, with metafields if it is to have some; without a handle it gets one from its title.

    Raises:
        IntegrityError: Another blog has the handle.
    """
    shop = current_shop()
    handle = handle_of(attrs.pop("handle", None) or "")
    if not handle:
        # One at a time per shop, so that no other takes the free handle meanwhile.
        lock_shop()
        handle = free_handle(Blog.objects.all(), attrs["title"], fallback="blog")
    blog: Blog = Blog.objects.create(shop=shop, handle=handle, **attrs)
    record_event("blogs/create", blog, actor=actor, at=at)
    metafields.set_many(blog, list(further), actor=actor, at=at)
    return blog


@transaction.atomic
def update_blog(blog: Blog, attrs: Attrs, *, further: Sequence[Draft] = (), actor: str, at: datetime) -> None:
    """Change a blog, and set metafields; its handle stays when the title changes.

    Raises:
        Gone: Somebody deleted it a moment ago.
        IntegrityError: Another blog has the handle.
    """
    reread(blog, no_key=True)
    if "handle" in attrs:
        attrs["handle"] = handle_of(attrs["handle"] or "") or blog.handle
    if changes := assign(blog, attrs):
        blog.save(update_fields=list(changes))
        record_event("blogs/update", blog, actor=actor, at=at, changes=changes)
    metafields.set_many(blog, list(further), actor=actor, at=at)


@transaction.atomic
def delete_blog(blog: Blog, *, actor: str, at: datetime) -> None:
    """Delete a blog with its articles.

    Raises:
        Gone: Somebody else deleted it a moment ago.
    """
    # Nobody writes into it from here on.
    locked(Blog, blog.pk)
    for article in Article.objects.filter(blog=blog).order_by("id").iterator(ARTICLES_AT_ONCE):
        articles.record_deletion(article, actor=actor, at=at)
    record_event("blogs/delete", blog, actor=actor, at=at)
    ArticleTag.objects.filter(blog=blog).delete()
    ArticleVersion.objects.filter(article__blog=blog).only("pk").delete()
    Article.objects.filter(blog=blog).only("pk").delete()
    blog.delete()
