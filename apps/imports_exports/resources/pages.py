"""Import and export pages of the online store. Imports identify a page by its handle."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from django.utils.translation import gettext_lazy

from apps.content.api.pages import PageSerializer
from apps.content.domain.online_store import pages
from apps.content.models import Page
from apps.core.events.recording import compute_changes
from apps.core.exceptions import DomainError
from apps.core.handles import build_handle
from apps.core.rest.reading.query_plans import get_read_plan
from apps.core.rest.resources.serializers import validate_body
from apps.core.rest.versions import get_latest_version
from apps.imports_exports.domain.csv_reader import format_bool
from apps.imports_exports.domain.flags import parse_flags
from apps.imports_exports.domain.resources import Exporter, Importer, ObjectData, Resource
from apps.imports_exports.domain.rows import (
    UNCHANGED,
    Body,
    Cells,
    ImportRow,
    RowOutcome,
    RowResult,
    create_failed_outcome,
)
from apps.imports_exports.resources.cells import convert_api_errors, file_context, get_member_names

HANDLE = "page_handle"
_FIELDS = ("title", "body_html", "author", "template_suffix", "published_at")
_COLUMNS = (HANDLE, "title", "body_html", "author", "published", "published_at", "template_suffix")


def _read_pages(ids: Sequence[int]) -> list[ObjectData]:
    context = file_context()
    objects_by_id = get_read_plan(PageSerializer, context.version).read_ids(ids, context)
    return [objects_by_id[pk] for pk in ids if pk in objects_by_id]


def _get_cells(page: ObjectData) -> Iterable[ObjectData]:
    values = {name: page[name] for name in _FIELDS}
    return [{HANDLE: page["handle"], "published": format_bool(page["published"]), **values}]


def _parse_row(rows: Sequence[Cells]) -> Body:
    row = rows[0]
    body: dict[str, object] = {"handle": row.get(HANDLE, "")}
    body |= {name: row[name] for name in _FIELDS if row.get(name)}
    return body | parse_flags(row, {"published": "published"})


def _get_keys(row: ImportRow, body: Body) -> Sequence[str]:
    handle = build_handle(str(body.get("handle") or ""))
    return [handle] if handle else [row.digest]


def _import_pages(rows: Sequence[tuple[ImportRow, Body]], *, actor: str, at: datetime, dry: bool) -> list[RowOutcome]:
    """Create pages, or update the pages with the same handles. The caller rolls a dry run back."""
    handles = [key for row, body in rows for key in _get_keys(row, body)]
    existing = {page.handle: page for page in Page.objects.filter(handle__in=handles)}
    return [_import_page(row, body, existing, actor=actor, at=at) for row, body in rows]


def _import_page(row: ImportRow, body: Body, existing: Mapping[str, Page], *, actor: str, at: datetime) -> RowOutcome:
    page = existing.get(_get_keys(row, body)[0])
    values = {name: body[name] for name in ("handle", "published", *_FIELDS) if name in body}
    try:
        with convert_api_errors(values):
            attrs = validate_body(PageSerializer, get_latest_version(), values, instance=page)
        if page is None:
            changes = {name: (None, value) for name, value in attrs.items() if value}
            return RowOutcome(RowResult.NEW, pages.create_page(attrs, actor=actor, at=at).handle, changes=changes)
        attrs.pop("handle", None)
        before = {name: getattr(page, name) for name in attrs}
        changed = compute_changes(page, attrs)
        if not changed:
            return RowOutcome(RowResult.SKIPPED, page.handle, UNCHANGED)
        pages.update_page(page, attrs, actor=actor, at=at)
    except DomainError as error:
        return create_failed_outcome(error)
    return RowOutcome(RowResult.CHANGED, page.handle, changes={name: (before[name], attrs[name]) for name in changed})


def _find_pages(labels: Collection[str]) -> Mapping[str, Page]:
    return {page.handle: page for page in Page.objects.filter(handle__in=labels)}


PAGES = Resource(
    name="pages",
    label=gettext_lazy("Pages"),
    singular="page",
    exporter=Exporter(
        model=Page,
        permission="content.export_page",
        granted_by="pages",
        topic="pages/export",
        columns=_COLUMNS,
        read_objects=_read_pages,
        get_cells=_get_cells,
    ),
    importer=Importer(
        permission="content.add_page",
        granted_by="pages",
        models=(Page,),
        columns=_COLUMNS,
        field_columns={"handle": HANDLE},
        aliases={
            HANDLE: ("Page: Handle",),
            "title": ("Page title",),
            "body_html": ("Content", "Body", "Body HTML", "HTML"),
            "published_at": ("Publication date", "Published on"),
            "template_suffix": ("Template",),
        },
        members=get_member_names(PageSerializer),
        group_by=HANDLE,
        body=_parse_row,
        keys=_get_keys,
        duplicate_result=RowResult.CHANGED,
        import_rows=_import_pages,
        find=_find_pages,
    ),
)
