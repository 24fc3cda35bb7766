"""Import pages and redirects of the online store, through the imports of their files."""

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from django.db.models import Model

from apps.content.api.pages import PageSerializer
from apps.content.api.redirects import RedirectSerializer
from apps.content.domain.online_store.pages import delete_page
from apps.content.domain.online_store.redirects import clean_redirect, delete_redirect, is_loop
from apps.content.models import Page, Redirect
from apps.core.i18n.messages import Message, define_message
from apps.imports_exports.domain.resources import get_importers
from apps.imports_exports.domain.rows import ImportRow, RowResult
from apps.store_imports.domain.comparison import KEEPS_HANDLE, KEEPS_TIME, Comparison
from apps.store_imports.domain.source_client import SourceObject, refuse_malformed
from apps.store_imports.domain.streams import ACTOR, IdList, ObjectResult, Outcome, Source, Stream
from apps.store_imports.resources.file_rows import OUTCOMES, import_file_rows
from apps.store_imports.resources.handles import find_taken_handles
from apps.store_imports.resources.rest_objects import create_reader

PAGE_SIZE = 100
_LOOP = define_message(
    "store_imports.redirect_loop",
    "The redirect from {path} to {target} is not needed, because {target} leads to {path} in this shop.",
)
_PAGE_FIELDS = ("title", "handle", "body_html", "author", "template_suffix", "published_at")


class _FileRowStream(Stream):
    """Objects with one row in the file of the resource ``name``."""

    def count_objects(self, source: Source) -> int | None:
        return source.client.count(f"{self.name}/count.json", **source.change_filter)

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        return source.client.get_page(
            f"{self.name}.json", self.name, since_id=position, limit=PAGE_SIZE, **source.change_filter
        )

    @abstractmethod
    def build_body(self, row: SourceObject, handle: str | None) -> SourceObject:
        """Return an object with the members that the import of the file reads.

        ``handle`` is the handle of an object that was imported before.
        """

    def get_handles(self, known: Collection[int]) -> Mapping[int, str]:
        """Return the handles of the given objects of this shop, if they have handles."""
        return {}

    def find_refused(self, source: Source, objects: Sequence[SourceObject]) -> Mapping[int, Message]:
        """Return the reasons to refuse objects, by source id."""
        return {}

    def find_skipped(self, objects: Sequence[SourceObject]) -> Mapping[int, Message]:
        """Return the reasons to leave out objects that the shop does not need, by source id."""
        return {}

    def write_objects(self, source: Source, objects: Sequence[SourceObject], files: Any) -> Sequence[ObjectResult]:
        known = source.ids.get_target_ids(self.resource, [row["id"] for row in objects])
        handles = self.get_handles(known.values())
        refused, skipped = self.find_refused(source, objects), self.find_skipped(objects)
        rows = []
        for line, row in enumerate(objects, 1):
            if row["id"] not in refused and row["id"] not in skipped:
                with refuse_malformed(self.name, row):
                    body = self.build_body(row, handles.get(known.get(row["id"], 0)))
                rows.append(ImportRow(line, self.name, body))
        outcomes = import_file_rows(self.name, rows)
        labels = [outcome.label for outcome in outcomes.values() if outcome.result != RowResult.FAILED]
        targets = get_importers()[self.name].find(labels)
        results = []
        for line, row in enumerate(objects, 1):
            if row["id"] in skipped:
                results.append(ObjectResult(Outcome.UNCHANGED, problem=skipped[row["id"]]))
            elif (outcome := outcomes.get(line)) is None:
                results.append(ObjectResult(Outcome.FAILED, problem=refused[row["id"]]))
            elif outcome.result == RowResult.FAILED:
                results.append(ObjectResult(Outcome.FAILED, problem=outcome.reason))
            else:
                results.append(ObjectResult(OUTCOMES[outcome.result], targets[outcome.label].pk))
        return results


class PageStream(_FileRowStream):
    name = "pages"
    resource = "page"
    path_prefix = "/pages/"
    model: ClassVar[type[Model]] = Page
    sets_creation_time = True
    id_list = IdList("pages.json", "pages")
    comparison = Comparison(
        read=create_reader(PageSerializer),
        not_compared={"shop_id": "each shop has its own ID"},
        limits={"handle": KEEPS_HANDLE, "created_at": KEEPS_TIME},
    )

    def build_body(self, row: SourceObject, handle: str | None) -> SourceObject:
        """Return a page. A page that was imported before keeps its handle."""
        return {
            **{name: row[name] for name in _PAGE_FIELDS if name in row},
            "published": row.get("published_at") is not None,
            "handle": handle or row["handle"],
        }

    def delete_target(self, target: Model, *, at: datetime) -> None:
        assert isinstance(target, Page)
        delete_page(target, actor=ACTOR, at=at)

    def get_handles(self, known: Collection[int]) -> Mapping[int, str]:
        return dict(Page.objects.filter(pk__in=known).values_list("pk", "handle"))

    def find_refused(self, source: Source, objects: Sequence[SourceObject]) -> Mapping[int, Message]:
        return find_taken_handles(source, self.name, self.resource, Page, objects)


class RedirectStream(_FileRowStream):
    name = "redirects"
    resource = "redirect"
    model: ClassVar[type[Model]] = Redirect
    id_list = IdList("redirects.json", "redirects")
    comparison = Comparison(read=create_reader(RedirectSerializer))

    def delete_target(self, target: Model, *, at: datetime) -> None:
        assert isinstance(target, Redirect)
        delete_redirect(target, actor=ACTOR, at=at)

    def build_body(self, row: SourceObject, handle: str | None) -> SourceObject:
        return {"path": row["path"], "target": row["target"]}

    def find_skipped(self, objects: Sequence[SourceObject]) -> Mapping[int, Message]:
        """Skip redirects to the new path of an object that has kept its old path in this shop."""
        skipped = {}
        for row in objects:
            attrs = {name: str(row.get(name) or "") for name in ("path", "target")}
            if not clean_redirect(attrs) and is_loop(path=attrs["path"], target=attrs["target"]):
                skipped[row["id"]] = _LOOP(path=attrs["path"], target=attrs["target"])
        return skipped
