"""Set the metafields of a batch of rows, with one lookup and one write for each owner type."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_message
from apps.imports_exports.domain.rows import (
    UNCHANGED,
    Body,
    ImportRow,
    RowOutcome,
    RowRefused,
    RowResult,
    create_failed_outcome,
    get_text,
    refuse_cell,
)
from apps.imports_exports.domain.runner import select_allowed
from apps.imports_exports.resources.cells import name_values
from apps.imports_exports.resources.metafields.owners import OWNER_KEYS, find_owner_ids
from apps.metafields.domain import references
from apps.metafields.domain.owners import find_owner_type, owner_types
from apps.metafields.domain.write import MetafieldInput, set_metafields_of_owners, validate_metafield
from apps.metafields.models import Metafield

_NO_TYPE = define_message("metafield_imports.unknown_type", "{name} is not one of {names}")
_FORBIDDEN = define_message("metafield_imports.forbidden", "You don't have permission to change metafields of {name}")
_NO_OWNER = define_message("metafield_imports.unknown_owner", "there is no {type} {name}")
_SEVERAL_OWNERS = define_message(
    "metafield_imports.several_owners", "{count} owners of the type {type} are named {name}"
)
_MAX_QUOTED = 100


def _get_resource(body: Body) -> str:
    """Return the owner type of a row, which may be written ``Product`` or ``products``, or an empty string."""
    owner_type = find_owner_type(get_text(body, "owner_resource").lower().replace(" ", "_"))
    return owner_type.resource if owner_type is not None and owner_type.resource in OWNER_KEYS else ""


def _get_owner_name(resource: str, body: Body) -> str:
    return OWNER_KEYS[resource].normalize(get_text(body, "owner"))


def get_keys(row: ImportRow, body: Body) -> Sequence[str]:
    """Return a key for the metafield of a row."""
    resource = _get_resource(body)
    owner = _get_owner_name(resource, body) if resource else ""
    return [f"{resource}|{owner}|{get_text(body, 'namespace')}.{get_text(body, 'key')}"]


@dataclass(frozen=True, slots=True)
class _Request:
    resource: str
    owner_id: int
    draft: MetafieldInput
    existing: Metafield | None

    def get_outcome(self) -> RowOutcome:
        draft, existing = self.draft, self.existing
        label = f"{draft.namespace}.{draft.key}"
        values = {"type": draft.type, "value": draft.value}
        if draft.description is not None:
            values["description"] = draft.description
        old = {name: getattr(existing, name) if existing else None for name in values}
        changes = {name: (old[name], value) for name, value in values.items() if (old[name] or "") != value}
        if existing is not None and not changes:
            return RowOutcome(RowResult.SKIPPED, label, UNCHANGED)
        return RowOutcome(RowResult.CHANGED if existing else RowResult.NEW, label, changes=changes)


def import_rows(rows: Sequence[tuple[ImportRow, Body]], *, actor: str, at: datetime, dry: bool) -> list[RowOutcome]:
    """Create or update the metafields. A dry run also writes, and the caller rolls the changes back."""
    allowed = select_allowed(actor, {name: key.importable_with for name, key in OWNER_KEYS.items()})
    names: defaultdict[str, set[str]] = defaultdict(set)
    for _, body in rows:
        if resource := _get_resource(body):
            names[resource].add(_get_owner_name(resource, body))
    owners = {resource: find_owner_ids(resource, found) for resource, found in names.items()}
    existing = {
        (resource, row.owner_id, row.namespace, row.key): row
        for resource, ids_by_name in owners.items()
        for row in Metafield.objects.filter(
            owner_resource=resource, owner_id__in=[pk for ids in ids_by_name.values() for pk in ids]
        )
    }
    outcomes: list[RowOutcome] = []
    drafts: defaultdict[str, defaultdict[int, list[MetafieldInput]]] = defaultdict(lambda: defaultdict(list))
    with references.batch_references([dict(body) for _, body in rows]):
        for _, body in rows:
            try:
                request = _build_request(body, owners, existing, allowed)
            except DomainError as error:
                outcomes.append(create_failed_outcome(error))
                continue
            outcomes.append(request.get_outcome())
            drafts[request.resource][request.owner_id].append(request.draft)
    for resource in sorted(drafts):
        model = owner_types[resource].model
        rows_by_id = model._default_manager.in_bulk(drafts[resource])
        inputs = [(rows_by_id[pk], drafts[resource][pk]) for pk in sorted(drafts[resource]) if pk in rows_by_id]
        set_metafields_of_owners(inputs, actor=actor, at=at)
    return outcomes


def _build_request(
    body: Body,
    owners: Mapping[str, Mapping[str, Sequence[int]]],
    existing: Mapping[tuple[str, int, str, str], Metafield],
    allowed: frozenset[str],
) -> _Request:
    resource = _get_resource(body)
    if not resource:
        name = repr(get_text(body, "owner_resource")[:_MAX_QUOTED])
        raise refuse_cell("Owner Type", _NO_TYPE(name=name, names=", ".join(OWNER_KEYS)))
    if resource not in allowed:
        raise refuse_cell("Owner Type", _FORBIDDEN(name=resource))
    shown = repr(get_text(body, "owner")[:_MAX_QUOTED])
    ids = owners[resource].get(_get_owner_name(resource, body), ())
    if not ids or not _get_owner_name(resource, body):
        raise refuse_cell("Owner", _NO_OWNER(type=resource, name=shown))
    if len(ids) > 1:
        raise refuse_cell("Owner", _SEVERAL_OWNERS(count=len(ids), type=resource, name=shown))
    data = {name: value for name, value in body.items() if name not in {"owner", "owner_resource"}}
    key = (resource, ids[0], get_text(body, "namespace"), get_text(body, "key"))
    row = existing.get(key)
    data |= {"namespace": key[2], "key": key[3]}
    if not data.get("type"):
        # Without a type, an existing metafield keeps its type, and a new one has text.
        data["type"] = row.type if row is not None else "single_line_text_field"
    if not data.get("description"):
        data.pop("description", None)
    values, errors = validate_metafield(data)
    if errors:
        raise RowRefused(name_values(errors, {}))
    return _Request(resource, ids[0], MetafieldInput(**values), row)
