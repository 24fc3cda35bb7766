"""Import and export redirects. Imports identify a redirect by its path."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from django.utils.translation import gettext_lazy

from apps.content.api.redirects import RedirectSerializer
from apps.content.domain.online_store import redirects
from apps.content.domain.online_store.redirect_paths import InvalidRedirectPath, build_path_key, normalize_path
from apps.content.models import Redirect
from apps.core.exceptions import DomainError
from apps.core.rest.resources.serializers import validate_body
from apps.core.rest.versions import get_latest_version
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
from apps.imports_exports.resources.cells import convert_api_errors, get_member_names

FROM, TO = "Redirect from", "Redirect to"


def _read_redirects(ids: Sequence[int]) -> list[ObjectData]:
    rows = Redirect.objects.in_bulk(ids)
    return [{"id": pk, "path": rows[pk].path, "target": rows[pk].target} for pk in ids if pk in rows]


def _get_cells(redirect: ObjectData) -> Iterable[ObjectData]:
    return [{FROM: redirect["path"], TO: redirect["target"]}]


def _parse_row(rows: Sequence[Cells]) -> Body:
    return {"path": rows[0].get(FROM, ""), "target": rows[0].get(TO, "")}


def _get_keys(row: ImportRow, body: Body) -> Sequence[str]:
    try:
        return [build_path_key(normalize_path(str(body.get("path") or "")))]
    except InvalidRedirectPath:
        return [row.digest]


def _import_redirects(
    rows: Sequence[tuple[ImportRow, Body]], *, actor: str, at: datetime, dry: bool
) -> list[RowOutcome]:
    """Create redirects, or update the targets of existing redirects. A dry run also saves, to detect loops."""
    existing = redirects.find_redirects([key for row, body in rows for key in _get_keys(row, body)])
    return [_import_redirect(row, body, existing, actor=actor, at=at) for row, body in rows]


def _import_redirect(
    row: ImportRow, body: Body, existing: Mapping[str, Redirect], *, actor: str, at: datetime
) -> RowOutcome:
    try:
        with convert_api_errors():
            attrs = validate_body(RedirectSerializer, get_latest_version(), {"path": None, "target": None, **body})
        redirect = existing.get(_get_keys(row, body)[0])
        if redirect is None:
            redirects.create_redirect(**attrs, actor=actor, at=at)
            changes = {"path": (None, attrs["path"]), "target": (None, attrs["target"])}
            return RowOutcome(RowResult.NEW, attrs["path"], changes=changes)
        if redirect.target == attrs["target"]:
            return RowOutcome(RowResult.SKIPPED, redirect.path, UNCHANGED)
        old_target = redirect.target
        redirects.update_redirect(redirect, {"target": attrs["target"]}, actor=actor, at=at)
    except DomainError as error:
        return create_failed_outcome(error)
    return RowOutcome(RowResult.CHANGED, redirect.path, changes={"target": (old_target, attrs["target"])})


def _find_redirects(labels: Collection[str]) -> Mapping[str, Redirect]:
    return {row.path: row for row in redirects.find_redirects([build_path_key(label) for label in labels]).values()}


REDIRECTS = Resource(
    name="redirects",
    label=gettext_lazy("URL redirects"),
    singular="redirect",
    exporter=Exporter(
        model=Redirect,
        permission="content.export_redirect",
        granted_by="links",
        topic="redirects/export",
        columns=(FROM, TO),
        read_objects=_read_redirects,
        get_cells=_get_cells,
    ),
    importer=Importer(
        permission="content.add_redirect",
        granted_by="links",
        models=(Redirect,),
        columns=(FROM, TO),
        field_columns={"path": FROM, "target": TO},
        aliases={
            FROM: ("Path", "Old path", "Old URL", "Source URL"),
            TO: ("Target", "New path", "New URL", "Target URL"),
        },
        members=get_member_names(RedirectSerializer),
        group_by=FROM,
        identifying_columns=(TO,),
        body=_parse_row,
        keys=_get_keys,
        duplicate_result=RowResult.CHANGED,
        import_rows=_import_redirects,
        find=_find_redirects,
    ),
)
