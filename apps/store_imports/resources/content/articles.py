"""Import the articles of blogs with their images."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from operator import itemgetter
from typing import Any, ClassVar

from django.db.models import Model, QuerySet

from apps.content.api.articles import MAX_ALT, ArticleSerializer
from apps.content.domain.article_images import ArticleImage, store_article_image_from_body
from apps.content.domain.articles import create_article, delete_article, update_article
from apps.content.domain.themes import NotDeletable
from apps.content.models import Article, Blog
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import Message, define_text
from apps.core.rest.resources.serializers import validate_body
from apps.core.rest.versions import get_latest_version
from apps.imports_exports.resources.cells import convert_api_errors
from apps.store_imports.domain.comparison import CREATED_NOW, KEEPS_HANDLE, KEEPS_TIME, OWN_ADDRESS, Comparison
from apps.store_imports.domain.id_map import NewId
from apps.store_imports.domain.source_client import ObjectGone, SourceObject, read_creation_time, refuse_malformed
from apps.store_imports.domain.streams import (
    ACTOR,
    IdList,
    ObjectResult,
    Outcome,
    Source,
    Stream,
    get_digest,
    write_in_savepoint,
)
from apps.store_imports.resources.collections import NO_IMAGE
from apps.store_imports.resources.handles import HANDLE_TAKEN
from apps.store_imports.resources.rest_objects import create_reader

# An article can be half a megabyte.
PAGE_SIZE = 25
_FIELDS = ("title", "body_html", "summary_html", "author", "tags", "template_suffix", "published_at")
_HAS_COMMENTS = define_text("store_imports.has_comments", "The article has comments in this shop.")
_NO_BLOG = define_text("store_imports.no_blog", "The blog of the article was not imported.")
# The name of an article's image in the map of IDs. Its digest is that of the image's URL.
_IMAGE = "article_image"
_ImageOrError = ArticleImage | DomainError | None


class ArticleStream(Stream):
    """Articles of all blogs, each with the blog's ID and handle as ``blog_id`` and ``blog_handle``."""

    name = "articles"
    resource = "article"
    model: ClassVar[type[Model]] = Article
    path_prefix = "/blogs/"
    comparison = Comparison(
        read=create_reader(ArticleSerializer),
        ids={"blog_id": "blog"},
        not_compared={
            "user_id": "is the user who wrote the article. The author's name is compared",
            "image.src": OWN_ADDRESS,
            "image.created_at": CREATED_NOW,
        },
        limits={
            "handle": KEEPS_HANDLE,
            "blog_id": "an article that was imported keeps its blog when the store moves it",
            "created_at": KEEPS_TIME,
        },
    )

    def normalize_pair(self, source: Source, theirs: SourceObject, ours: SourceObject) -> None:
        """Add a missing image, because articles without an image do not have the member."""
        for row in (theirs, ours):
            row.setdefault("image", None)

    def get_source_path(self, row: SourceObject) -> str:
        return f"/blogs/{row['blog_handle']}/{row['handle']}"

    def get_paths(self, rows: "QuerySet[Any]") -> Mapping[int, str]:
        columns = rows.values_list("pk", "blog__handle", "handle")
        return {pk: f"/blogs/{blog_handle}/{handle}" for pk, blog_handle, handle in columns}

    def list_ids(self, source: Source, only: Sequence[int] = ()) -> Iterator[int]:
        for blog in _read_blogs(source):
            with suppress(ObjectGone):
                yield from IdList(_get_path(blog), self.name).read(source, only)

    def delete_target(self, target: Model, *, at: datetime) -> None:
        assert isinstance(target, Article)
        if target.comments.exists():
            raise NotDeletable(_HAS_COMMENTS)
        delete_article(target, actor=ACTOR, at=at)

    def get_part_ids(self, target: Model) -> Mapping[str, Collection[int]]:
        return {_IMAGE: [target.pk]}

    def count_objects(self, source: Source) -> int | None:
        counts = [source.client.count(f"blogs/{blog['id']}/articles/count.json") for blog in _read_blogs(source)]
        return None if None in counts else sum(filter(None, counts))

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        """Return the next articles of all blogs. Each blog costs a request, because articles are listed by blog."""
        page: list[SourceObject] = []
        for blog in _read_blogs(source):
            try:
                rows = source.client.get_page(
                    _get_path(blog), self.name, since_id=position, limit=PAGE_SIZE, **source.change_filter
                )
            except ObjectGone:
                continue
            for row in rows:
                with refuse_malformed(self.name, row):
                    row |= {"handle": str(row["handle"]), "blog_id": blog["id"], "blog_handle": blog["handle"]}
            page = sorted([*page, *rows], key=itemgetter("id"))[:PAGE_SIZE]
        return page

    @contextmanager
    def fetch_files(self, source: Source, objects: Sequence[SourceObject]) -> Iterator[Mapping[int, _ImageOrError]]:
        """Download new and changed images, and yield them by article ID. The cleanup deletes unused images."""
        entries = source.ids.get_entries(_IMAGE, [row["id"] for row in objects])
        targets = [entry.target_id for entry in entries.values()]
        with_image = set(Article.objects.filter(pk__in=targets).exclude(image=None).values_list("pk", flat=True))
        images: dict[int, _ImageOrError] = {}
        for row in objects:
            src = _get_image(row).get("src")
            entry = entries.get(row["id"])
            is_same = entry is not None and entry.digest == _get_image_digest(row) and entry.target_id in with_image
            if src and not is_same:
                source.keep_alive()
                try:
                    images[row["id"]] = store_article_image_from_body({"src": src})
                except DomainError as error:
                    images[row["id"]] = error
        yield images

    def write_objects(
        self, source: Source, objects: Sequence[SourceObject], files: Mapping[int, _ImageOrError]
    ) -> Sequence[ObjectResult]:
        blogs = source.ids.get_target_ids("blog", {row["blog_id"] for row in objects})
        existing_blogs = set(Blog.objects.filter(pk__in=blogs.values()).values_list("pk", flat=True))
        targets, refused = _find_targets(source, objects, blogs)
        results = []
        for row in objects:
            blog_id = blogs.get(row["blog_id"], 0)
            if problem := refused.get(row["id"]) or (None if blog_id in existing_blogs else _NO_BLOG):
                results.append(ObjectResult(Outcome.FAILED, problem=problem))
            else:
                target, image = targets.get(row["id"]), files.get(row["id"])
                results.append(write_in_savepoint(partial(_write_article, source, row, blog_id, target, image)))
        return results


def _read_blogs(source: Source) -> Iterator[SourceObject]:
    for blog in source.client.iterate_pages("blogs.json", "blogs"):
        with refuse_malformed("blogs", blog):
            yield {"id": int(blog["id"]), "handle": str(blog["handle"])}


def _get_path(blog: SourceObject) -> str:
    return f"blogs/{blog['id']}/articles.json"


def _get_image(row: SourceObject) -> SourceObject:
    with refuse_malformed("articles", row):
        return dict(row.get("image") or {})


def _get_image_digest(row: SourceObject) -> str:
    return get_digest({"src": _get_image(row).get("src")})


def _find_targets(
    source: Source, objects: Sequence[SourceObject], blogs: Mapping[int, int]
) -> tuple[dict[int, Article], dict[int, Message]]:
    """Return the existing articles, and the reasons to refuse articles with the handle of another one."""
    known = source.ids.get_target_ids("article", [row["id"] for row in objects])
    by_id = Article.objects.in_bulk(list(known.values()))
    targets = {source_id: by_id[pk] for source_id, pk in known.items() if pk in by_id}
    new = {(blogs.get(row["blog_id"], 0), row["handle"]): row for row in objects if row["id"] not in targets}
    rows = Article.objects.filter(blog_id__in={pk for pk, _ in new}, handle__in={handle for _, handle in new})
    matches = {(row.blog_id, row.handle): row for row in rows}
    owners = source.ids.get_source_ids("article", [row.pk for row in matches.values()])
    refused = {}
    for key, row in new.items():
        if (match := matches.get(key)) is None:
            continue
        if (owner := owners.get(match.pk, row["id"])) == row["id"]:
            targets[row["id"]] = match
        else:
            refused[row["id"]] = HANDLE_TAKEN(handle=match.handle, number=str(owner))
    return targets, refused


def _write_article(
    source: Source, row: SourceObject, blog_id: int, target: Article | None, image: _ImageOrError
) -> ObjectResult:
    """Write an article. An article that was imported before keeps its blog and its handle."""
    body = {name: row[name] for name in _FIELDS if name in row}
    body["published"] = row.get("published_at") is not None
    if target is None:
        body["handle"] = row["handle"]
    with convert_api_errors(body):
        attrs = validate_body(ArticleSerializer, get_latest_version(), body, instance=target)
    source_image = _get_image(row)
    if src := source_image.get("src"):
        attrs["image_alt"] = str(source_image.get("alt") or "")[:MAX_ALT] or None
    stored = image if isinstance(image, ArticleImage) else None
    if target is None:
        attrs |= read_creation_time(row, source.at)
        article = create_article(blog_id, attrs, image=stored, actor=ACTOR, at=source.at)
        outcome = Outcome.NEW
    else:
        article, before = target, target.version
        is_removed = not src and article.image_id is not None
        update_article(article, attrs, image=stored, remove_image=is_removed, actor=ACTOR, at=source.at)
        outcome = Outcome.UNCHANGED if article.version == before else Outcome.CHANGED
    if isinstance(image, DomainError):
        problem = NO_IMAGE(src=str(src), reason=image.sentence)
        return ObjectResult(outcome, article.pk, problem, is_complete=False)
    parts = [NewId(_IMAGE, row["id"], article.pk, _get_image_digest(row))] if src else []
    return ObjectResult(outcome, article.pk, parts=parts)
