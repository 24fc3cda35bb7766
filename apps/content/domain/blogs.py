from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from apps.content.domain.comments import delete_comments
from apps.content.models import Article, ArticleTag, ArticleVersion, Blog, Comment
from apps.core.db.row_locks import get_for_update, refresh_for_update
from apps.core.events.recording import apply_changes, record_event
from apps.core.events.redaction import clear_copies
from apps.core.handles import build_handle, find_free_handle
from apps.core.tenancy.scope import get_current_shop
from apps.core.tenancy.shops import lock_shop
from apps.core.types import Attrs
from apps.metafields.domain import write as metafields
from apps.metafields.domain.write import MetafieldInput

# The number of articles to load at once. A low number limits the memory use, because an article can be half a megabyte.
ARTICLES_AT_ONCE, COMMENTS_AT_ONCE = 50, 500


@transaction.atomic
def create_blog(attrs: Attrs, *, metafield_drafts: Sequence[MetafieldInput] = (), actor: str, at: datetime) -> Blog:
    """Create a blog. Without a handle, a unique handle is derived from the title."""
    shop = get_current_shop()
    handle = build_handle(attrs.pop("handle", None) or "")
    if not handle:
        # Lock the shop, so that no concurrent request can use the same handle.
        lock_shop()
        handle = find_free_handle(Blog.objects.all(), attrs["title"], fallback="blog")
    blog: Blog = Blog.objects.create(shop=shop, handle=handle, **attrs)
    record_event("blogs/create", blog, actor=actor, at=at)
    metafields.set_metafields(blog, list(metafield_drafts), actor=actor, at=at)
    return blog


@transaction.atomic
def update_blog(
    blog: Blog, attrs: Attrs, *, metafield_drafts: Sequence[MetafieldInput] = (), actor: str, at: datetime
) -> None:
    """Update a blog. A new title does not change the handle."""
    refresh_for_update(blog, no_key=True)
    if "handle" in attrs:
        attrs["handle"] = build_handle(attrs["handle"] or "") or blog.handle
    if changes := apply_changes(blog, attrs):
        blog.save(update_fields=list(changes))
        record_event("blogs/update", blog, actor=actor, at=at, changes=changes)
    metafields.set_metafields(blog, list(metafield_drafts), actor=actor, at=at)


@transaction.atomic
def delete_blog(blog: Blog, *, actor: str, at: datetime) -> None:
    # The full lock prevents other transactions from adding articles.
    get_for_update(Blog, blog.pk)
    for article in Article.objects.filter(blog=blog).order_by("id").iterator(ARTICLES_AT_ONCE):
        record_event("articles/delete", article, actor=actor, at=at)
    record_event("blogs/delete", blog, actor=actor, at=at)
    while comment_ids := list(Comment.objects.filter(blog=blog).values_list("pk", flat=True)[:COMMENTS_AT_ONCE]):
        delete_comments(comment_ids)
    clear_copies(Blog, [blog.pk])
    ArticleTag.objects.filter(blog=blog).delete()
    ArticleVersion.objects.filter(article__blog=blog).only("pk").delete()
    Article.objects.filter(blog=blog).only("pk").delete()
    blog.delete()
