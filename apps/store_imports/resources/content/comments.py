"""Import the comments on articles with their status."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any, ClassVar

from django.db.models import Model

from apps.content.api.comments import CommentSerializer
from apps.content.domain import comments
from apps.content.models import Article, Comment
from apps.core.i18n.messages import define_text
from apps.core.rest.resources.serializers import validate_body
from apps.core.rest.versions import get_latest_version
from apps.core.types import Attrs
from apps.imports_exports.resources.cells import convert_api_errors
from apps.store_imports.domain.comparison import Comparison
from apps.store_imports.domain.source_client import (
    SourceObject,
    parse_source_moment,
    read_creation_time,
    refuse_malformed,
)
from apps.store_imports.domain.streams import ACTOR, IdList, ObjectResult, Outcome, Source, Stream, write_in_savepoint
from apps.store_imports.resources.rest_objects import create_reader

PAGE_SIZE = 100
Status = Comment.Status
_FIELDS = ("author", "email", "body", "ip", "user_agent", "published_at")
_NO_ARTICLE = define_text("store_imports.no_article", "The article of the comment was not imported.")


class CommentStream(Stream):
    """Comments. A comment that was deleted in this shop, such as old spam, is not imported again."""

    name = "comments"
    resource = "comment"
    model: ClassVar[type[Model]] = Comment
    id_list = IdList("comments.json", "comments")
    comparison = Comparison(read=create_reader(CommentSerializer), ids={"article_id": "article", "blog_id": "blog"})
    restores_deleted = False

    def delete_target(self, target: Model, *, at: datetime) -> None:
        assert isinstance(target, Comment)
        comments.delete_comment(target, actor=ACTOR, at=at)

    def count_objects(self, source: Source) -> int | None:
        return source.client.count("comments/count.json")

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        return source.client.get_page(
            "comments.json", self.name, since_id=position, limit=PAGE_SIZE, **source.change_filter
        )

    def write_objects(self, source: Source, objects: Sequence[SourceObject], files: Any) -> Sequence[ObjectResult]:
        known = source.ids.get_target_ids(self.resource, [row["id"] for row in objects])
        existing = Comment.objects.in_bulk(list(known.values()))
        with_article = [row["article_id"] for row in objects if row.get("article_id")]
        articles = source.ids.get_target_ids("article", with_article)
        existing_articles = set(Article.objects.filter(pk__in=articles.values()).values_list("pk", flat=True))
        results = []
        for row in objects:
            target = existing.get(known.get(row["id"], 0))
            article_id = articles.get(row.get("article_id") or 0, 0)
            if row["id"] in known and target is None:
                results.append(ObjectResult(Outcome.UNCHANGED, known[row["id"]]))
            elif target is None and article_id not in existing_articles:
                results.append(ObjectResult(Outcome.FAILED, problem=_NO_ARTICLE))
            else:
                results.append(write_in_savepoint(partial(_write_comment, source, row, target, article_id)))
        return results


def _write_comment(source: Source, row: SourceObject, target: Comment | None, article_id: int) -> ObjectResult:
    with refuse_malformed("comments", row):
        status = Status(row["status"])
    body = {name: row[name] for name in _FIELDS if name in row} | {"article_id": article_id}
    with convert_api_errors():
        attrs = validate_body(CommentSerializer, get_latest_version(), body, instance=target)
    if target is None:
        attrs |= read_creation_time(row, source.at)
        comment = comments.create_comment(attrs, status=status, actor=ACTOR, at=source.at)
        return ObjectResult(Outcome.NEW, comment.pk)
    before = target.version
    _update_comment(source, row, target, status, attrs)
    return ObjectResult(Outcome.UNCHANGED if target.version == before else Outcome.CHANGED, target.pk)


def _update_comment(source: Source, row: SourceObject, comment: Comment, status: Comment.Status, attrs: Attrs) -> None:
    """Update a comment, and change its status with the services that moderators use."""
    attrs.pop("published_at", None)
    if comment.status == Status.REMOVED and status != Status.REMOVED:
        comments.restore_comment(comment, actor=ACTOR, at=source.at)
    if comment.status == Status.SPAM and status not in comments.HIDDEN:
        comments.mark_as_not_spam(comment, actor=ACTOR, at=source.at)
    if status == Status.SPAM:
        comments.mark_as_spam(comment, actor=ACTOR, at=source.at)
    elif status == Status.REMOVED:
        comments.remove_comment(comment, actor=ACTOR, at=source.at)
    else:
        published_at = parse_source_moment(row.get("published_at")) or comment.published_at or source.at
        attrs["published_at"] = published_at if status == Status.PUBLISHED else None
    comments.update_comment(comment, attrs, actor=ACTOR, at=source.at)
