"""Making, changing and deleting articles.

Every change takes its blog's lock first, so that handles stay unique and the blog's tags follow its articles.
Rule: decisions, Articles.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Max

from apps.content.domain.pictures import Picture
from apps.content.models import Article, ArticleTag, ArticleVersion, Blog
from apps.events.domain.changes import assign, changes_of
from apps.events.domain.recording import record_event
from apps.ground.attrs import Attrs
from apps.ground.handles import free_handle, handle_of
from apps.ground.locks import locked, reread
from apps.ground.tenancy import current_shop
from apps.metafields.domain import setting as metafields
from apps.metafields.domain.setting import Draft
from apps.staff.domain.memberships import person_named

MAX_VERSIONS = 50
TEXT_FIELDS = ("title", "body_html", "summary_html")
PICTURE_FIELDS = {"image", "image_name", "image_alt", "image_width", "image_height", "image_created_at"}


@transaction.atomic
def create_article(
    blog_id: int,
    attrs: Attrs,
    *,
    picture: Picture | None = None,
    further: Sequence[Draft] = (),
    actor: str,
    at: datetime,
) -> Article:
    """Write an article into a blog.

    Args:
        blog_id: The blog, of the current shop.
        attrs: The article's attributes; without a handle it gets one from its title, without an author the shop's name.
        picture: Its picture, already stored.
        further: Its metafields.
        actor: Who writes.
        at: When.

    Raises:
        Gone: The blog is gone.
        IntegrityError: Another article of the blog has the handle.
    """
    blog = locked(Blog, blog_id, no_key=True)
    article = Article(shop=current_shop(), blog=blog, created_at=at)
    _write_author(article, attrs.pop("author", None))
    handle = handle_of(attrs.pop("handle", None) or "")
    for name, value in attrs.items():
        setattr(article, name, value)
    article.handle = handle or free_handle(Article.objects.filter(blog=blog), article.title, fallback="article")
    _write_picture(article, picture, at)
    article.save()
    if article.tags:
        _write_tags(article, blog)
    record_event("articles/create", article, actor=actor, at=at)
    metafields.set_many(article, list(further), actor=actor, at=at)
    return article


@transaction.atomic
def update_article(
    article: Article,
    attrs: Attrs,
    *,
    picture: Picture | None = None,
    without_picture: bool = False,
    further: Sequence[Draft] = (),
    actor: str,
    at: datetime,
) -> None:
    """Change an article; what ``attrs`` does not name stays, its handle also when the title changes.

    A text that gives way to another is kept as a version.

    Args:
        article: The article; updated in place.
        attrs: The changed attributes.
        picture: A new picture, already stored.
        without_picture: Take the picture away.
        further: Metafields to set.
        actor: Who changes it.
        at: When.

    Raises:
        Gone: Somebody deleted it a moment ago.
        IntegrityError: Another article of the blog has the handle.
    """
    blog = locked(Blog, article.blog_id, no_key=True)
    reread(article, no_key=True)
    if "handle" in attrs:
        attrs["handle"] = handle_of(attrs["handle"] or "") or article.handle
    if "author" in attrs:
        attrs["author"] = attrs["author"] or current_shop().name
    if not changes_of(article, attrs).keys().isdisjoint(TEXT_FIELDS):
        _keep_version(article, actor=actor, at=at)
    changes = assign(article, attrs)
    changed = set(changes)
    if "author" in changes:
        _write_author(article, article.author)
        changed.add("user")
    if without_picture:
        changes["image"] = [article.image_name or None, None]
        _remove_picture(article)
    elif picture is not None:
        changes["image"] = [article.image_name or None, picture.name]
        _write_picture(article, picture, at)
    if changes:
        article.save(update_fields=changed | (PICTURE_FIELDS if "image" in changes else set()))
        if "tags" in changes:
            _write_tags(article, blog)
        record_event("articles/update", article, actor=actor, at=at, changes=changes)
    metafields.set_many(article, list(further), actor=actor, at=at)


@transaction.atomic
def restore_version(version: ArticleVersion, *, actor: str, at: datetime) -> None:
    """Give an article the text that it had; the present one becomes a version."""
    texts = {name: getattr(version, name) for name in TEXT_FIELDS}
    update_article(Article.objects.get(pk=version.article_id), texts, actor=actor, at=at)


@transaction.atomic
def delete_article(article: Article, *, actor: str, at: datetime) -> None:
    """Delete an article.

    Raises:
        Gone: Somebody else deleted it a moment ago.
    """
    blog = locked(Blog, article.blog_id, no_key=True)
    reread(article)
    record_deletion(article, actor=actor, at=at)
    had_tags = bool(article.tags)
    article.delete()
    if had_tags:
        _refresh_tags(blog)


def record_deletion(article: Article, *, actor: str, at: datetime) -> None:
    """Note that an article goes, in the transaction that deletes it."""
    record_event("articles/delete", article, actor=actor, at=at)


def authors() -> list[str]:
    """The names under which the shop's articles are written, sorted."""
    return list(Article.objects.order_by("author").values_list("author", flat=True).distinct())


def tags(*, blog_id: int | None = None, limit: int | None = None, popular: bool = False) -> list[str]:
    """The tags of the shop's articles, once each ignoring case.

    Args:
        blog_id: Only of this blog.
        limit: At most so many.
        popular: The most used first, instead of by name.
    """
    rows = ArticleTag.objects.all() if blog_id is None else ArticleTag.objects.filter(blog_id=blog_id)
    counted = rows.values("key").annotate(used=Count("id"), shown=Max("name"))
    ordered = counted.order_by("-used", "key") if popular else counted.order_by("key")
    return list(ordered.values_list("shown", flat=True)[:limit])


def _keep_version(article: Article, *, actor: str, at: datetime) -> None:
    texts = {name: getattr(article, name) for name in TEXT_FIELDS}
    ArticleVersion.objects.create(shop_id=article.shop_id, article=article, actor=actor, replaced_at=at, **texts)
    kept = ArticleVersion.objects.filter(article=article).order_by("-id")
    oldest = kept.values_list("pk", flat=True)[MAX_VERSIONS - 1 : MAX_VERSIONS].first()
    if oldest is not None:
        kept.filter(pk__lt=oldest).delete()


def _write_author(article: Article, name: str | None) -> None:
    """A member of the shop's staff is linked by name; any other name stands for itself."""
    article.author = name or current_shop().name
    article.user = person_named(name) if name else None


def _write_picture(article: Article, picture: Picture | None, at: datetime) -> None:
    if picture is None:
        return
    article.image = picture.content
    article.image_name = picture.name
    article.image_width = picture.width
    article.image_height = picture.height
    article.image_created_at = at


def _remove_picture(article: Article) -> None:
    article.image = article.image_alt = article.image_created_at = None
    article.image_name = ""
    article.image_width = article.image_height = 0


def _write_tags(article: Article, blog: Blog) -> None:
    """Make the tag rows those of the article's text, then let the blog follow."""
    wanted = {name.casefold(): name for name in article.tags.split(", ") if name}
    ArticleTag.objects.filter(article=article).delete()
    ArticleTag.objects.bulk_create(
        ArticleTag(shop_id=article.shop_id, article=article, blog=blog, name=name, key=key)
        for key, name in wanted.items()
    )
    _refresh_tags(blog)


def _refresh_tags(blog: Blog) -> None:
    text = ", ".join(tags(blog_id=blog.pk))
    if text != blog.tags:
        Blog.objects.filter(pk=blog.pk).update(tags=text)
