"""Create, update and moderate the comments on articles. Only this module sets the status of a comment."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction

from apps.content.models import Article, Blog, Comment
from apps.core.db.case_folding import build_email_key
from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import apply_changes, compute_changes, record_event
from apps.core.events.redaction import clear_copies
from apps.core.exceptions import TransitionRefused
from apps.core.i18n.error_messages import MUST_EXIST
from apps.core.i18n.messages import define_text
from apps.core.tenancy.read_only import writable_shops
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs

Status = Comment.Status
HIDDEN = frozenset({Status.SPAM, Status.REMOVED})
# Spam and removed comments are deleted after this time, because they contain personal data.
KEEP_HIDDEN = timedelta(days=30)
_BATCH = 500
# Columns that follow from others, so the audit log does not show their changes.
_BOOKKEEPING = frozenset({"email_key", "former_status", "hidden_at"})
_REMOVED = define_text("comments.removed", "The comment is removed. Restore it first.")
_HIDDEN = define_text("comments.hidden", "can't be set while the comment is spam or removed")


class CommentRefused(TransitionRefused):
    """Raised when a comment's status does not allow the change."""


class UnknownArticle(TransitionRefused):
    """Raised when a comment is created for an article that does not exist."""


@transaction.atomic
def create_comment(attrs: Attrs, *, status: Comment.Status | None = None, actor: str, at: datetime) -> Comment:
    """Create a comment on an article.

    Without a ``status``, the comment is published immediately if the blog is configured so, and otherwise waits for
    approval. Apps can also create comments if the blog does not accept comments from readers.
    """
    article = Article.objects.select_related("blog").filter(pk=attrs.pop("article_id")).first()
    blog_id = attrs.pop("blog_id", None)
    if article is None or blog_id not in {None, article.blog_id}:
        raise UnknownArticle(MUST_EXIST, field="article_id")
    values = {"created_at": at, **attrs}
    comment = Comment(shop=get_current_shop(), article=article, blog=article.blog, **values)
    comment.email_key = build_email_key(comment.email)
    if status is None:
        is_published = comment.published_at is not None or article.blog.commentable == Blog.Commentable.YES
        status = Status.PUBLISHED if is_published else Status.UNAPPROVED
    if status in HIDDEN:
        for name, value in _hide(comment, status, at).items():
            setattr(comment, name, value)
    else:
        comment.status = status
        comment.published_at = (comment.published_at or at) if status == Status.PUBLISHED else None
    comment.save()
    record_event("comments/create", comment, actor=actor, at=at)
    return comment


@transaction.atomic
def update_comment(comment: Comment, attrs: Attrs, *, actor: str, at: datetime) -> None:
    """Update a comment in place. A publication date publishes the comment, and without a date it waits for approval."""
    refresh_for_update(comment, no_key=True)
    if "email" in attrs:
        attrs["email_key"] = build_email_key(attrs["email"])
    if "published_at" in compute_changes(comment, {"published_at": attrs.get("published_at", comment.published_at)}):
        if comment.status in HIDDEN:
            raise CommentRefused(_HIDDEN, field="published_at")
        attrs["status"] = Status.UNAPPROVED if attrs["published_at"] is None else Status.PUBLISHED
    else:
        attrs.pop("published_at", None)
    _save(comment, attrs, "update", actor=actor, at=at)


@transaction.atomic
def approve_comment(comment: Comment, *, actor: str, at: datetime) -> None:
    """Publish a comment. Raises ``CommentRefused`` if the comment is removed."""
    _refresh(comment)
    if comment.status != Status.PUBLISHED:
        _save(comment, _publish(at), "approve", actor=actor, at=at)


@transaction.atomic
def mark_as_spam(comment: Comment, *, actor: str, at: datetime) -> None:
    """Mark a comment as spam. Raises ``CommentRefused`` if the comment is removed."""
    _refresh(comment)
    if comment.status != Status.SPAM:
        _save(comment, _hide(comment, Status.SPAM, at), "spam", actor=actor, at=at)


@transaction.atomic
def mark_as_not_spam(comment: Comment, *, actor: str, at: datetime) -> None:
    """Return spam to the readers or to the moderators. Raises ``CommentRefused`` if the comment is removed."""
    _refresh(comment)
    if comment.status == Status.SPAM:
        _save(comment, _return(comment, at), "not_spam", actor=actor, at=at)


@transaction.atomic
def remove_comment(comment: Comment, *, actor: str, at: datetime) -> None:
    """Remove a comment. It can be restored until it is deleted (``KEEP_HIDDEN``)."""
    refresh_for_update(comment, no_key=True)
    if comment.status != Status.REMOVED:
        _save(comment, _hide(comment, Status.REMOVED, at), "remove", actor=actor, at=at)


@transaction.atomic
def restore_comment(comment: Comment, *, actor: str, at: datetime) -> None:
    """Return a removed comment to the readers or to the moderators."""
    refresh_for_update(comment, no_key=True)
    if comment.status == Status.REMOVED:
        _save(comment, _return(comment, at), "restore", actor=actor, at=at)


def delete_hidden_comments(at: datetime) -> int:
    """Delete comments that were marked as spam or removed some time ago, and return their number."""
    deleted = 0
    old = Comment.objects.filter(writable_shops(), hidden_at__lt=at - KEEP_HIDDEN).order_by("pk")
    while ids := list(old.values_list("pk", flat=True)[:_BATCH]):
        deleted += delete_comments(ids)
    return deleted


@transaction.atomic
def delete_comment(comment: Comment, *, actor: str, at: datetime) -> None:
    refresh_for_update(comment)
    record_event("comments/delete", comment, actor=actor, at=at)
    delete_comments([comment.pk])


@transaction.atomic
def delete_comments(ids: Iterable[int]) -> int:
    """Delete comments, and clear the copies of their personal data in webhook deliveries and stored responses."""
    row_ids = list(ids)
    clear_copies(Comment, row_ids)
    return Comment.objects.filter(pk__in=row_ids).delete()[1].get(Comment._meta.label, 0)


def _refresh(comment: Comment) -> None:
    refresh_for_update(comment, no_key=True)
    if comment.status == Status.REMOVED:
        raise CommentRefused(_REMOVED)


def _publish(at: datetime) -> Attrs:
    return {"status": Status.PUBLISHED, "published_at": at, "former_status": "", "hidden_at": None}


def _hide(comment: Comment, status: Status, at: datetime) -> Attrs:
    former = comment.former_status if comment.status in HIDDEN else comment.status
    return {"status": status, "published_at": None, "former_status": former, "hidden_at": at}


def _return(comment: Comment, at: datetime) -> Attrs:
    """Return the values of a comment that is no longer hidden. Blogs with moderation do not publish unseen comments."""
    is_moderated = Blog.objects.filter(pk=comment.blog_id, commentable=Blog.Commentable.MODERATE).exists()
    if is_moderated and comment.former_status != Status.PUBLISHED:
        return {**_publish(at), "status": Status.UNAPPROVED, "published_at": None}
    return _publish(at)


def _save(comment: Comment, attrs: Attrs, verb: str, *, actor: str, at: datetime) -> None:
    if changes := apply_changes(comment, attrs, personal=Comment.personal_fields):
        comment.save(update_fields=list(changes))
        shown = {name: change for name, change in changes.items() if name not in _BOOKKEEPING}
        record_event(f"comments/{verb}", comment, actor=actor, at=at, changes=shown)
