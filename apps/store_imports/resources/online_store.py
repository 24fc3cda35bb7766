"""Import pages and redirects of the online store, through the imports of their files."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.db.models import Model

from apps.content.models import Page, Redirect
from apps.imports_exports.domain.resources import get_importers
from apps.imports_exports.domain.rows import ImportRow, RowResult
from apps.store_imports.domain.source_client import SourceObject
from apps.store_imports.domain.streams import Fate, ObjectResult, Source, Stream
from apps.store_imports.resources.file_rows import FATES, import_file_rows

PAGE_SIZE = 100
_PAGE_FIELDS = ("title", "handle", "body_html", "author", "template_suffix", "published_at")


class _FileRowStream(Stream):
    """Objects with one row in the file of the resource ``name``."""

    def count_objects(self, source: Source) -> int | None:
        return source.client.count(f"{self.name}/count.json")

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        return source.client.get_page(f"{self.name}.json", self.name, since_id=position, limit=PAGE_SIZE)

    def build_bodies(self, source: Source, objects: Sequence[SourceObject]) -> Sequence[SourceObject]:
        """Return the objects with the members that the import of the file reads."""
        raise NotImplementedError

    def write_objects(self, source: Source, objects: Sequence[SourceObject], files: Any) -> Sequence[ObjectResult]:
        bodies = self.build_bodies(source, objects)
        rows = [ImportRow(line, self.name, body) for line, body in enumerate(bodies, 1)]
        outcomes = import_file_rows(self.name, rows)
        labels = [outcome.label for outcome in outcomes.values() if outcome.result != RowResult.FAILED]
        targets = get_importers()[self.name].find(labels)
        results = []
        for line in range(1, len(rows) + 1):
            outcome = outcomes[line]
            if outcome.result == RowResult.FAILED:
                results.append(ObjectResult(Fate.FAILED, problem=outcome.reason))
            else:
                results.append(ObjectResult(FATES[outcome.result], targets[outcome.label].pk))
        return results


class PageStream(_FileRowStream):
    name = "pages"
    resource = "page"
    model: ClassVar[type[Model]] = Page

    def build_bodies(self, source: Source, objects: Sequence[SourceObject]) -> Sequence[SourceObject]:
        """Return the pages. A page that was imported before keeps its handle."""
        known = source.ids.get_target_ids(self.resource, [row["id"] for row in objects])
        handles = dict(Page.objects.filter(pk__in=known.values()).values_list("pk", "handle"))
        return [
            {
                **{name: row[name] for name in _PAGE_FIELDS if name in row},
                "published": row.get("published_at") is not None,
                "handle": handles.get(known.get(row["id"], 0), row["handle"]),
            }
            for row in objects
        ]


class RedirectStream(_FileRowStream):
    name = "redirects"
    resource = "redirect"
    model: ClassVar[type[Model]] = Redirect

    def build_bodies(self, source: Source, objects: Sequence[SourceObject]) -> Sequence[SourceObject]:
        return [{"path": row["path"], "target": row["target"]} for row in objects]
