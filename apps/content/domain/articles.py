"""Create, update and delete articles.

Every change locks the blog first, so that handles stay unique and the blog's tags match its articles.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Max

from apps.content.domain.article_images import ArticleImage
from apps.content.models import Article, ArticleTag, ArticleVersion, Blog
from apps.core.db.row_locks import get_for_update, refresh_for_update
from apps.core.events.messages import DUPLICATED
from apps.core.events.recording import (
    EventInput,
    apply_changes,
    compute_changes,
    record_event,
    record_secondary_events,
)
from apps.core.events.redaction import clear_copies
from apps.core.handles import build_handle, find_free_handle
from apps.core.i18n.messages import Message
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs
from apps.metafields.domain import write as metafields
from apps.metafields.domain.copying import read_metafields_to_copy
from apps.metafields.domain.write import MetafieldInput
from apps.staff.domain.memberships import find_user_by_name

MAX_VERSIONS = 50
TEXT_FIELDS = ("title", "body_html", "summary_html")
COPIED_FIELDS = ("body_html", "summary_html", "author", "tags", "template_suffix")
IMAGE_FIELDS = {"image", "image_name", "image_alt", "image_width", "image_height", "image_created_at"}


@transaction.atomic
def create_article(
    blog_id: int,
    attrs: Attrs,
    *,
    image: ArticleImage | None = None,
    metafield_drafts: Sequence[MetafieldInput] = (),
    actor: str,
    at: datetime,
    message: Message | None = None,
) -> Article:
    """Create an article. By default, the handle is derived from the title, and the author is the shop's name.

    The audit log shows the message, if there is one.
    """
    blog = get_for_update(Blog, blog_id, no_key=True)
    article = Article(shop=get_current_shop(), blog=blog, created_at=at)
    _set_author(article, attrs.pop("author", None))
    handle = build_handle(attrs.pop("handle", None) or "")
    for name, value in attrs.items():
        setattr(article, name, value)
    article.handle = handle or find_free_handle(Article.objects.filter(blog=blog), article.title, fallback="article")
    if image is not None:
        _set_image(article, image, at)
    article.save()
    if article.tags:
        _save_tags(article, blog, actor=actor, at=at)
    record_event("articles/create", article, actor=actor, at=at, message=message)
    metafields.set_metafields(article, list(metafield_drafts), actor=actor, at=at)
    return article


@dataclass(frozen=True, slots=True)
class ArticleCopy:
    """A requested copy of an article.

    Attributes:
        title: The title of the copy. The handle is derived from the title.
        blog_id: The blog of the copy, or None for the blog of the article.
        visible: True to publish the copy.
        image: True to copy the image with its alternative text.
        metafields: True to copy the metafields, except those of type ``id``.
    """

    title: str
    blog_id: int | None = None
    visible: bool = False
    image: bool = True
    metafields: bool = True


@transaction.atomic
def duplicate_article(article: Article, requested: ArticleCopy, *, actor: str, at: datetime) -> Article:
    """Create a copy of an article, without its comments and earlier versions.

    The article is locked, so that its image is not deleted before the copy refers to the same file.

    Raises:
        RowDeleted: The article or the blog has been deleted.
    """
    blog_id = requested.blog_id or article.blog_id
    for pk in sorted({article.blog_id, blog_id}):
        get_for_update(Blog, pk, no_key=True)
    refresh_for_update(article, no_key=True)
    attrs: Attrs = {name: getattr(article, name) for name in COPIED_FIELDS}
    attrs |= {"title": requested.title, "published_at": at if requested.visible else None}
    image = None
    if requested.image and article.image is not None:
        attrs["image_alt"] = article.image_alt
        image = ArticleImage(article.image, article.image_name, article.image_width, article.image_height)
    return create_article(
        blog_id,
        attrs,
        image=image,
        metafield_drafts=read_metafields_to_copy([article]).get(article.pk, []) if requested.metafields else [],
        actor=actor,
        at=at,
        message=DUPLICATED(name=article.title),
    )


@transaction.atomic
def update_article(
    article: Article,
    attrs: Attrs,
    *,
    image: ArticleImage | None = None,
    remove_image: bool = False,
    metafield_drafts: Sequence[MetafieldInput] = (),
    actor: str,
    at: datetime,
) -> None:
    """Update an article in place. A new title does not change the handle. If the text changes, a version is saved."""
    blog = get_for_update(Blog, article.blog_id, no_key=True)
    refresh_for_update(article, no_key=True)
    if "handle" in attrs:
        attrs["handle"] = build_handle(attrs["handle"] or "") or article.handle
    if "author" in attrs:
        attrs["author"] = attrs["author"] or get_current_shop().name
    if not compute_changes(article, attrs).keys().isdisjoint(TEXT_FIELDS):
        _save_version(article, actor=actor, at=at)
    changes = apply_changes(article, attrs)
    changed = set(changes)
    if "author" in changes:
        _set_author(article, article.author)
        changed.add("user")
    if remove_image:
        changes["image"] = [article.image_name or None, None]
        _clear_image(article)
    elif image is not None:
        changes["image"] = [article.image_name or None, image.name]
        _set_image(article, image, at)
    if changes:
        article.save(update_fields=changed | (IMAGE_FIELDS if "image" in changes else set()))
        if "tags" in changes:
            _save_tags(article, blog, actor=actor, at=at)
        record_event("articles/update", article, actor=actor, at=at, changes=changes)
    metafields.set_metafields(article, list(metafield_drafts), actor=actor, at=at)


@transaction.atomic
def restore_article_version(version: ArticleVersion, *, actor: str, at: datetime) -> None:
    """Restore an earlier version of an article. The current text is saved as a new version."""
    texts = {name: getattr(version, name) for name in TEXT_FIELDS}
    update_article(Article.objects.get(pk=version.article_id), texts, actor=actor, at=at)


@transaction.atomic
def delete_article(article: Article, *, actor: str, at: datetime) -> None:
    blog = get_for_update(Blog, article.blog_id, no_key=True)
    refresh_for_update(article)
    record_event("articles/delete", article, actor=actor, at=at)
    had_tags = bool(article.tags)
    clear_copies(Article, [article.pk])
    article.delete()
    if had_tags:
        _refresh_tags(blog, actor=actor, at=at)


def list_authors() -> list[str]:
    return list(Article.objects.order_by("author").values_list("author", flat=True).distinct())


def list_tags(*, blog_id: int | None = None, limit: int | None = None, popular: bool = False) -> list[str]:
    """Return the distinct tags of the shop or a blog, ignoring case, by name or, if ``popular``, by frequency."""
    rows = ArticleTag.objects.all() if blog_id is None else ArticleTag.objects.filter(blog_id=blog_id)
    counted = rows.values("key").annotate(used=Count("id"), shown=Max("name"))
    ordered = counted.order_by("-used", "key") if popular else counted.order_by("key")
    return list(ordered.values_list("shown", flat=True)[:limit])


def _save_version(article: Article, *, actor: str, at: datetime) -> None:
    texts = {name: getattr(article, name) for name in TEXT_FIELDS}
    ArticleVersion.objects.create(shop_id=article.shop_id, article=article, actor=actor, replaced_at=at, **texts)
    versions = ArticleVersion.objects.filter(article=article).order_by("-id")
    oldest = versions.values_list("pk", flat=True)[MAX_VERSIONS - 1 : MAX_VERSIONS].first()
    if oldest is not None:
        versions.filter(pk__lt=oldest).delete()


def _set_author(article: Article, name: str | None) -> None:
    """Set the author, and link the staff member with the same name if there is one."""
    article.author = name or get_current_shop().name
    article.user = find_user_by_name(name) if name else None


def _set_image(article: Article, image: ArticleImage, at: datetime) -> None:
    article.image = image.content
    article.image_name = image.name
    article.image_width = image.width
    article.image_height = image.height
    article.image_created_at = at


def _clear_image(article: Article) -> None:
    article.image = article.image_alt = article.image_created_at = None
    article.image_name = ""
    article.image_width = article.image_height = 0


def _save_tags(article: Article, blog: Blog, *, actor: str, at: datetime) -> None:
    names = {name.casefold(): name for name in article.tags.split(", ") if name}
    ArticleTag.objects.filter(article=article).delete()
    ArticleTag.objects.bulk_create(
        ArticleTag(shop_id=article.shop_id, article=article, blog=blog, name=name, key=key)
        for key, name in names.items()
    )
    _refresh_tags(blog, actor=actor, at=at)


def _refresh_tags(blog: Blog, *, actor: str, at: datetime) -> None:
    text = ", ".join(list_tags(blog_id=blog.pk))
    if text != blog.tags:
        Blog.objects.filter(pk=blog.pk).update(tags=text)
        record_secondary_events([EventInput("blogs/update", blog)], actor=actor, at=at)
