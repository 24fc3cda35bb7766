"""Import blogs. Their tags follow from the articles."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any, ClassVar

from django.db.models import Model

from apps.content.api.blogs import BlogSerializer
from apps.content.domain.blogs import create_blog, delete_blog, update_blog
from apps.content.domain.themes import NotDeletable
from apps.content.models import Article, Blog
from apps.core.i18n.messages import define_text
from apps.core.rest.resources.serializers import validate_body
from apps.core.rest.versions import get_latest_version
from apps.imports_exports.resources.cells import convert_api_errors
from apps.store_imports.domain.comparison import KEEPS_HANDLE, KEEPS_TIME, Comparison
from apps.store_imports.domain.source_client import SourceObject, read_creation_time
from apps.store_imports.domain.streams import ACTOR, IdList, ObjectResult, Outcome, Source, Stream, write_in_savepoint
from apps.store_imports.resources.handles import find_taken_handles
from apps.store_imports.resources.rest_objects import create_reader

PAGE_SIZE = 100
_FIELDS = ("title", "commentable", "template_suffix")
_HAS_ARTICLES = define_text("store_imports.has_articles", "The blog has articles in this shop.")
# Members that change with the articles.
_IGNORED = ("tags", "updated_at")


class BlogStream(Stream):
    name = "blogs"
    resource = "blog"
    model: ClassVar[type[Model]] = Blog
    path_prefix = "/blogs/"
    id_list = IdList("blogs.json", "blogs")
    comparison = Comparison(
        read=create_reader(BlogSerializer),
        not_compared={
            "tags": "are the tags of the articles, which are compared",
            **dict.fromkeys(("feedburner", "feedburner_location"), "this installation has no FeedBurner feeds"),
        },
        limits={"handle": KEEPS_HANDLE, "created_at": KEEPS_TIME},
    )

    def delete_target(self, target: Model, *, at: datetime) -> None:
        assert isinstance(target, Blog)
        if Article.objects.filter(blog=target).exists():
            raise NotDeletable(_HAS_ARTICLES)
        delete_blog(target, actor=ACTOR, at=at)

    def count_objects(self, source: Source) -> int | None:
        return source.client.count("blogs/count.json")

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        rows = source.client.get_page(
            "blogs.json", self.name, since_id=position, limit=PAGE_SIZE, **source.change_filter
        )
        return [{name: value for name, value in row.items() if name not in _IGNORED} for row in rows]

    def write_objects(self, source: Source, objects: Sequence[SourceObject], files: Any) -> Sequence[ObjectResult]:
        known = source.ids.get_target_ids(self.resource, [row["id"] for row in objects])
        existing = Blog.objects.in_bulk(list(known.values()))
        taken = find_taken_handles(source, self.name, self.resource, Blog, objects)
        with_handle = Blog.objects.filter(handle__in=[str(row.get("handle")) for row in objects])
        by_handle = {blog.handle: blog for blog in with_handle}
        return [
            ObjectResult(Outcome.FAILED, problem=taken[row["id"]])
            if row["id"] in taken
            else write_in_savepoint(
                partial(
                    _write_blog,
                    source,
                    row,
                    existing.get(known.get(row["id"], 0)) or by_handle.get(str(row.get("handle"))),
                )
            )
            for row in objects
        ]


def _write_blog(source: Source, row: SourceObject, target: Blog | None) -> ObjectResult:
    """Write a blog. A blog that was imported before keeps its handle."""
    body = {name: row[name] for name in _FIELDS if name in row}
    if target is None:
        body["handle"] = row["handle"]
    with convert_api_errors(body):
        attrs = validate_body(BlogSerializer, get_latest_version(), body, instance=target)
    if target is None:
        blog = create_blog(attrs | read_creation_time(row, source.at), actor=ACTOR, at=source.at)
        return ObjectResult(Outcome.NEW, blog.pk)
    before = target.version
    update_blog(target, attrs, actor=ACTOR, at=source.at)
    return ObjectResult(Outcome.UNCHANGED if target.version == before else Outcome.CHANGED, target.pk)
